"""From the patch fields of a mutate block to a function on objects."""

import json
from collections.abc import Callable
from functools import lru_cache, partial
from typing import TypeAlias

from kyvsim.engine.pattern import compile_pattern, compile_scalar
from kyvsim.kubernetes.objects import Json
from kyvsim.model.ports import Meter
from kyvsim.patch.json_patch import compile_json_patch
from kyvsim.patch.nodes import PatchError, read_back
from kyvsim.patch.strategic_merge import compile_strategic_merge

Patcher: TypeAlias = Callable[[Json], Json]
"""Returns the patched object, or the very object it was given where nothing changes.

Raises `PatchError`.
"""


def filled_patcher(block: Json, meter: Meter | None = None) -> Patcher:
    """Return the patcher of a block whose variables were just filled.

    A loop fills them alike for one object after another, so the last patchers are kept by the JSON
    of their blocks, which tells all types of values apart.
    """
    try:
        return _compiled_block(json.dumps(block, allow_nan=False), meter)
    except (TypeError, ValueError, RecursionError):  # what no document has, or too deep for it
        return compile_patcher(block, meter)


@lru_cache(maxsize=256)
def _compiled_block(written: str, meter: Meter | None) -> Patcher:
    return compile_patcher(json.loads(written), meter)


def compile_patcher(block: Json, meter: Meter | None = None) -> Patcher:
    """Return the patcher of a mutate block, or of one of its loops, whose variables are filled."""
    try:
        patch = _compile(block, meter)
    except PatchError as error:
        return _raising(error)

    def patched(obj: Json) -> Json:
        changed = patch(obj)
        return obj if changed is obj else read_back(changed)

    return patched


def _compile(block: Json, meter: Meter | None) -> Patcher:
    merge = block.get("patchStrategicMerge")
    if merge is None:
        return compile_json_patch(block.get("patchesJson6902"), meter)
    return compile_strategic_merge(merge, partial(_compile_condition, meter))


def _raising(error: PatchError) -> Patcher:
    def unreadable(_obj: Json) -> Json:
        raise error

    return unreadable


def _compile_condition(meter: Meter | None, pattern: Json) -> Callable[[Json], bool]:
    if pattern.__class__ is str:
        return _compiled_text(pattern)
    check = compile_pattern(pattern, meter=meter)
    return lambda value: check(value) is None


@lru_cache(maxsize=1024)
def _compiled_text(pattern: str) -> Callable[[Json], bool]:
    """Return whether a value fits a text, without the reason why it does not.

    A loop compares each element with each item of a list: most do not fit.
    """
    fits = compile_scalar(pattern)

    def check(value: Json) -> bool:
        return all(map(fits, value)) if value.__class__ is list else bool(fits(value))

    return check
