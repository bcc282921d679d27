"""Patches: JSON patches, strategic merges with anchors, and decoding patched objects."""
