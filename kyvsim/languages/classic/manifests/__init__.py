"""Signed manifests: an object carries the YAML it was made from, and signatures over it."""
