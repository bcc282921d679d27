"""From the patch fields of a mutate block to a function on objects."""

from collections.abc import Callable
from typing import TypeAlias

from kyvsim.kube.objects import Json
from kyvsim.patch import (
    PatchError,
    compile_json_patch,
    compile_strategic_merge,
    with_whole_numbers,
)
from kyvsim.pattern import compile_pattern

Patcher: TypeAlias = Callable[[Json], Json]
"""Returns the patched object, or the very object it was given where nothing changes.

Raises `PatchError`.
"""


def compile_patcher(block: Json) -> Patcher:
    """Return the patcher of a mutate block, or of one of its loops, whose variables are filled."""
    try:
        patch = _compile(block)
    except PatchError as error:
        return _raising(error)

    def patched(obj: Json) -> Json:
        changed = patch(obj)
        # The patched text is read anew, and whole numbers become integers on the way.
        return obj if changed is obj else with_whole_numbers(changed)

    return patched


def _compile(block: Json) -> Patcher:
    merge = block.get("patchStrategicMerge")
    if merge is None:
        return compile_json_patch(block["patchesJson6902"])
    return compile_strategic_merge(merge, _matches)


def _raising(error: PatchError) -> Patcher:
    def unreadable(_obj: Json) -> Json:
        raise error

    return unreadable


def _matches(pattern: Json, value: Json) -> bool:
    return compile_pattern(pattern)(value) is None
