"""Patches: JSON patches, strategic merges with anchors, and reading a patched object back."""
