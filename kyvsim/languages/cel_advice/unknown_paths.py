"""JSON patches that write to fields that no schema has: a cluster drops what they write.

Only slips are told: what newer versions of Kubernetes may have is left alone.
"""

from collections.abc import Iterator, Sequence

from kyvsim.engine.compile.compiled import warn
from kyvsim.languages.cel_advice.matched_kinds import (
    changed_types,
    element_of,
    field_names,
    field_of,
)
from kyvsim.languages.cel_advice.patch_paths import UNKNOWN, PatchStep, steps_of
from kyvsim.languages.cel_advice.written import Written
from kyvsim.model.diagnostic import Diagnostic, nearest
from kyvsim.patch.merge_types import Type

_NEAR = 0.8
_TEMPLATES = (("spec", "template"), ("spec", "jobTemplate", "spec", "template"))


def unknown_paths(written: Written) -> Iterator[Diagnostic]:
    """KV260: a path of a JSON patch that none of the policy's kinds has."""
    types = () if written.is_moved else changed_types(written)
    if not types:
        return
    for one in written.expressions:
        for step in steps_of(one):
            meant = _meant(step, types)
            if meant:
                text = (
                    f"none of the kinds that the policy names has a field at `{_shown(step)}`: "
                    f"did you mean `{meant}`?"
                )
                yield warn(written.policy.document, "KV260", text, one.path)


def _meant(step: PatchStep, types: Sequence[Type]) -> str:
    """Return the path that was meant by one that leads nowhere, "" for all others."""
    ends = [_walk(one, step.keys) for one in types]
    if any(end is None for end in ends):
        return ""
    for root in types:
        for way in _TEMPLATES:
            if _walk(root, way) is None and _walk(root, (*way, *step.keys)) is None:
                return "/".join(("", *way, _shown(step)[1:]))
    for end in ends:
        if end is None:
            continue
        at, key, known = end
        if near := nearest(key, known, _NEAR):
            return _joined((*step.keys[:at], near, *step.keys[at + 1 :]))
    return ""


def _walk(root: Type, keys: Sequence[str]) -> tuple[int, str, tuple[str, ...]] | None:
    """Return where a way ends too early: the place, the key, and what there is; None if nowhere."""
    here: Type | None = root
    for index, key in enumerate(keys):
        if here is None:
            return None
        known = tuple(field_names(here))
        if here.mapping is not None and here.mapping.others is None:
            if UNKNOWN in key:
                return None
            if key not in known:
                return index, key, known
        here = field_of(here, key) if here.mapping is not None else element_of(here)
    return None


def _joined(keys: Sequence[str]) -> str:
    texts = (one.replace("~", "~0").replace("/", "~1").replace(UNKNOWN, "…") for one in keys)
    return "".join(f"/{one}" for one in texts)


def _shown(step: PatchStep) -> str:
    return step.path.replace(UNKNOWN, "…")
