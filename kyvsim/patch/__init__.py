"""Patches: JSON patches, strategic merges with anchors, and what a patched object's numbers are."""

from kyvsim.patch.errors import PatchError
from kyvsim.patch.json_patch import apply_json_patch, compile_json_patch, parse_json_patch
from kyvsim.patch.strategic_merge import apply_strategic_merge, compile_strategic_merge
from kyvsim.patch.whole_numbers import with_whole_numbers

__all__ = [
    "PatchError",
    "apply_json_patch",
    "apply_strategic_merge",
    "compile_json_patch",
    "compile_strategic_merge",
    "parse_json_patch",
    "with_whole_numbers",
]
