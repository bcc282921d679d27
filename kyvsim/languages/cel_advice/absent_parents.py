"""JSON patches that write below what many objects do not have, in policies that never ask for it.

upstream: github.com/evanphx/json-patch patch.go; an object without the parent ends in an error
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from kyvsim.engine.compile.compiled import warn
from kyvsim.languages.cel_advice.matched_kinds import matched_kinds
from kyvsim.languages.cel_advice.patch_paths import UNKNOWN, PatchStep, steps_of
from kyvsim.languages.cel_advice.written import MUTATING, Expression, Written
from kyvsim.model.diagnostic import Diagnostic

_PARENTS: Mapping[str, str] = MappingProxyType(
    {
        "/metadata/labels": "labels",
        "/metadata/annotations": "annotations",
        "/metadata/finalizers": "finalizers",
        "/spec/nodeSelector": "nodeSelector",
    }
)
"""What no defaults of an API server put into objects, by path, with the name of the field."""
_LABELLED = frozenset({"Namespace", "Node"})
"""Kinds whose objects have labels in every cluster."""


def absent_parents(written: Written) -> Iterator[Diagnostic]:
    """KV261: a JSON patch below a field that an object may lack."""
    for one, step in steps_without_parent(written):
        parent = step.path.rpartition("/")[0]
        text = (
            f"the patch ends in an error on objects without `{parent}`: `{_PARENTS[parent]}` is "
            f"never asked for (add `{parent}` where it is missing)"
        )
        yield warn(written.policy.document, "KV261", text, one.path)


def steps_without_parent(written: Written) -> Iterator[tuple[Expression, PatchStep]]:
    """Yield what patches write below a field that objects may lack, with its expression."""
    if written.kind not in MUTATING:
        return
    steps = [(one, step) for one in written.expressions for step in steps_of(one)]
    made = {step.path for _, step in steps}
    for one, step in steps:
        parent, _, key = step.path.rpartition("/")
        field = _PARENTS.get(parent)
        if field is None or parent in made or (key in {"", UNKNOWN} and field != "labels"):
            continue
        if not _knows(written, field):
            yield one, step


def _knows(written: Written, field: str) -> bool:
    """Return whether the policy may know that objects have a field."""
    constraints = written.spec.get("matchConstraints") or {}
    if field == "labels":
        kinds = matched_kinds(written.spec)
        if not kinds or any(one.kind in _LABELLED for one in kinds):
            return True
        if any((constraints.get("objectSelector") or {}).values()):
            return True
    if written.spec.get("targetMatchConstraints"):
        return True
    return written.mentions(field)
