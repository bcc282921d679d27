"""Patches: JSON patches, strategic merges with anchors, and reading a patched object back."""

from kyvsim.patch.element_merges import ElementMerges
from kyvsim.patch.errors import PatchError, UnreadableObjectError
from kyvsim.patch.json_operations import parse_json_patch
from kyvsim.patch.json_patch import apply_json_patch, compile_json_patch
from kyvsim.patch.read_back import read_back
from kyvsim.patch.strategic_merge import apply_strategic_merge, compile_strategic_merge

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
