"""Patches: JSON patches, strategic merges with anchors, and reading a patched object back."""

from kyvsim.patch.json_patch import apply_json_patch, compile_json_patch, parse_json_patch
from kyvsim.patch.results import PatchError, UnreadableObjectError, read_back
from kyvsim.patch.strategic_merge import (
    ElementMerges,
    apply_strategic_merge,
    compile_strategic_merge,
)

__all__ = [
    "ElementMerges",
    "PatchError",
    "UnreadableObjectError",
    "apply_json_patch",
    "apply_strategic_merge",
    "compile_json_patch",
    "compile_strategic_merge",
    "parse_json_patch",
    "read_back",
]
