"""From the patch fields of a mutate block to a function on objects."""

from collections.abc import Callable
from functools import lru_cache
from typing import TypeAlias

from kyvsim.kube.objects import Json
from kyvsim.patch import (
    PatchError,
    compile_json_patch,
    compile_strategic_merge,
    read_back,
)
from kyvsim.pattern import PatternFailure, compile_pattern

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
        return obj if changed is obj else read_back(changed)

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
    check = _compiled_text(pattern) if pattern.__class__ is str else compile_pattern(pattern)
    return check(value) is None


@lru_cache(maxsize=1024)
def _compiled_text(pattern: str) -> Callable[[Json], PatternFailure | None]:
    return compile_pattern(pattern)
