"""Patches of mutate rules → what a MutatingPolicy applies."""
