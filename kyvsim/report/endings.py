"""What one end of a scenario has otherwise than another."""

import json
from collections.abc import Iterator
from typing import NamedTuple

from kyvsim.kubernetes.objects import Json, ObjectKey, lasting, metadata, object_key, text_field
from kyvsim.model.simulation import Interleavings, Simulation
from kyvsim.report.style import counted
from kyvsim.report.timeline_rows import title_of

_MOST_FIELDS = 4
_FOLLOWING = frozenset({"ClusterPolicyReport", "PolicyReport"})
"""Kinds that only tell of others."""


class Difference(NamedTuple):
    """One thing that is otherwise, in a word and what it concerns."""

    word: str
    """`missing`, `further`, `differs`, `not met`, `met`, `hazard` or `no hazard`."""
    text: str


def differences(usual: Simulation, other: Simulation) -> Iterator[Difference]:
    """Yield what is otherwise at the end of `other`: objects, expectations, hazards."""
    yield from _of_objects(usual, other)
    for expected, found in zip(usual.expectations, other.expectations, strict=False):
        if expected.text == found.text and expected.met != found.met:
            yield Difference("met" if found.met else "not met", found.text)
    before = dict.fromkeys(one.code for one in usual.hazards)
    after = dict.fromkeys(one.code for one in other.hazards)
    for one in other.hazards:
        if one.code not in before:
            yield Difference("hazard", f"{one.code}: {one.message}")
    for code in before:
        if code not in after:
            yield Difference("no hazard", code)


def _of_objects(usual: Simulation, other: Simulation) -> Iterator[Difference]:
    before, after = _by_key(usual), _by_key(other)
    for key in before:
        if key not in after:
            yield Difference("missing", title_of(key))
    for key in after:
        if key not in before:
            yield Difference("further", title_of(key))
    for key, old in before.items():
        fields = [*_fields(old, after[key], "")] if key in after else []
        if fields:
            more = f" and {len(fields) - _MOST_FIELDS} more" if len(fields) > _MOST_FIELDS else ""
            yield Difference(
                "differs", f"{title_of(key)}: {'; '.join(fields[:_MOST_FIELDS])}{more}"
            )


def _by_key(simulation: Simulation) -> dict[ObjectKey, Json]:
    """Return the objects without what passes, by a key that leaves chance out of names."""
    told = (one for one in simulation.objects if object_key(one).kind not in _FOLLOWING)
    return {object_key(obj): lasting(obj) for obj in map(_without_chance, told)}


def _without_chance(obj: Json) -> Json:
    meta = metadata(obj)
    base = text_field(meta, "generateName")
    return {**obj, "metadata": {**meta, "name": f"{base}*"}} if base else obj


def _fields(before: Json, after: Json, path: str) -> Iterator[str]:
    """Yield what was and is at each place that differs."""
    if before == after:
        return
    if before.__class__ is dict and after.__class__ is dict:
        for name in dict.fromkeys((*before, *after)):
            below = f"{path}.{name}" if path else name
            yield from _fields(before.get(name), after.get(name), below)
        return
    if before.__class__ is list and after.__class__ is list and len(before) == len(after):
        for index, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from _fields(old, new, f"{path}[{index}]")
        return
    yield f"{path} {_short(after)}, not {_short(before)}"


def _short(value: Json) -> str:
    if value is None:
        return "absent"
    if value.__class__ in {dict, list}:
        return "1 entry" if len(value) == 1 else f"{len(value)} entries"
    # As YAML writes it: `true`, and a text without quotes.
    return f"`{value if isinstance(value, str) else json.dumps(value)}`"


def orders_text(found: Interleavings) -> str:
    """Return how many orders were tried, and in how many ways they end."""
    extent = (
        f"all with up to {found.most_changes} changes of order"
        if found.complete
        else "there are more"
    )
    ways = counted(len(found.endings), "ending")
    return f"{counted(found.runs, 'order')} of steps tried ({extent}): {ways}"
