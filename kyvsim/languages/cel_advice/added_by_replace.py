"""JSON patches that replace an entry which many objects lack: `replace` adds it there.

upstream: gopkg.in/evanphx/json-patch.v4 patch.go, which sets an entry of a map unseen
"""

from collections.abc import Iterator

from kyvsim.engine.compile.compiled import warn
from kyvsim.kubernetes.objects import Json
from kyvsim.languages.cel_advice.absent_parents import steps_without_parent
from kyvsim.languages.cel_advice.patch_paths import UNKNOWN, steps_of
from kyvsim.languages.cel_advice.written import MUTATING, Written
from kyvsim.model.diagnostic import Diagnostic

_MAPS = frozenset({"labels", "annotations", "nodeSelector", "matchLabels", "data", "stringData"})
"""Fields whose entries are free, so that no default of an API server puts one there."""


def added_by_replace(written: Written) -> Iterator[Diagnostic]:
    """KV267: a JSON patch that replaces what nothing in its policy asks for."""
    if written.kind not in MUTATING or written.spec.get("targetMatchConstraints"):
        return
    steps = [(one, step) for one in written.expressions for step in steps_of(one)]
    apart = {step.path for _, step in steps if step.operations != {"replace"}}
    apart |= {step.path for _, step in steps_without_parent(written)}
    for one, step in steps:
        *way, key = step.keys
        if not way or way[-1] not in _MAPS or UNKNOWN in step.path or step.path in apart:
            continue
        if not _asks_for(written, key):
            text = (
                f"`replace` adds `{key}` to objects that do not have it, and nothing in the policy "
                "asks for it (write `add` where that is meant, else a condition)"
            )
            yield warn(written.policy.document, "KV267", text, one.path)


def _asks_for(written: Written, key: str) -> bool:
    """Return whether the policy may know that objects have an entry."""
    constraints = written.spec.get("matchConstraints") or {}
    return _holds(constraints.get("objectSelector"), key) or written.mentions(key)


def _holds(value: Json, key: str) -> bool:
    """Return whether a key or a text stands in a selector."""
    if isinstance(value, dict):
        return key in value or any(_holds(one, key) for one in value.values())
    if isinstance(value, list):
        return any(_holds(one, key) for one in value)
    return bool(value == key)
