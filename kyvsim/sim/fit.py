"""Whether an object is as a scenario wants it.

A mapping fits one that has its fields, a list one with an item for each of its items, text the
same text or what its wildcards stand for; null fits a field that is not there.
"""

from collections.abc import Iterable
from typing import NamedTuple

from kyvsim.kube.objects import Json, ObjectKey, metadata, text_field
from kyvsim.kube.wildcard import matches

_NUMBERS = frozenset({int, float})
_LONGEST = 60


class Misfit(NamedTuple):
    """Where an object is not as wanted, and how."""

    path: str
    reason: str
    depth: int
    """How many fields were as wanted before."""

    def __str__(self) -> str:
        return f"`{self.path}` {self.reason}"


def misfit(wanted: Json, found: Json) -> Misfit | None:
    """Return the first place at which an object does not fit, or None where it fits."""
    fitting = [0]
    return _compare(wanted, found, "", fitting)


def closest_misfit(wanted: Json, objects: Iterable[Json]) -> tuple[Json, Misfit] | None:
    """Return the object that fits best and why it does not; None where there is none at all.

    One of the wanted name is closer than any other.
    """
    name = metadata(wanted).get("name")
    best: tuple[tuple[bool, int], Json, Misfit] | None = None
    for obj in objects:
        failed = misfit(wanted, obj)
        if failed is None:
            continue
        named = name is None or matches(str(name), text_field(metadata(obj), "name"))
        rank = (named, failed.depth)
        if best is None or rank > best[0]:
            best = (rank, obj, failed)
    return (best[1], best[2]) if best and best[0][0] else None


def wanted_key(wanted: Json) -> ObjectKey:
    """Return what a pattern names, its wildcards included."""
    meta = metadata(wanted)
    return ObjectKey(
        text_field(wanted, "apiVersion"),
        text_field(wanted, "kind"),
        text_field(meta, "namespace"),
        text_field(meta, "name"),
    )


def _compare(wanted: Json, found: Json, path: str, fitting: list[int]) -> Misfit | None:
    if wanted is None:
        return None if found is None else _wrong(path, f"is {_shown(found)}", fitting)
    if found is None:
        return _wrong(path, "is not there", fitting)
    if wanted.__class__ is dict:
        return _compare_mappings(wanted, found, path, fitting)
    if wanted.__class__ is list:
        return _compare_lists(wanted, found, path, fitting)
    if not _same(wanted, found):
        return _wrong(path, f"is {_shown(found)}, not {_shown(wanted)}", fitting)
    fitting[0] += 1
    return None


def _compare_mappings(
    wanted: dict[str, Json], found: Json, path: str, fitting: list[int]
) -> Misfit | None:
    if found.__class__ is not dict:
        return _wrong(path, f"is {_shown(found)}, no mapping", fitting)
    for name, value in wanted.items():
        failed = _compare(value, found.get(name), f"{path}.{name}".lstrip("."), fitting)
        if failed is not None:
            return failed
    return None


def _compare_lists(wanted: list[Json], found: Json, path: str, fitting: list[int]) -> Misfit | None:
    if found.__class__ is not list:
        return _wrong(path, f"is {_shown(found)}, no list", fitting)
    if not wanted and found:
        return _wrong(path, "is not empty", fitting)
    for index, value in enumerate(wanted):
        if any(misfit(value, one) is None for one in found):
            fitting[0] += 1
            continue
        place = f"{path}[{index}]"
        if len(found) == 1:
            return _compare(value, found[0], place, fitting)
        return _wrong(place, f"is met by none of {len(found)} items", fitting)
    return None


def _same(wanted: Json, found: Json) -> bool:
    if wanted.__class__ is str:
        return found.__class__ is str and matches(wanted, found)
    both = {wanted.__class__, found.__class__}
    return (len(both) == 1 or both <= _NUMBERS) and bool(wanted == found)


def _wrong(path: str, reason: str, fitting: list[int]) -> Misfit:
    return Misfit(path or "the object", reason, fitting[0])


def _shown(value: Json) -> str:
    if value.__class__ is dict or value.__class__ is list:
        return "a mapping" if value.__class__ is dict else "a list"
    if value.__class__ is bool:
        return "true" if value else "false"
    text = " ".join(str(value).split())
    return f"`{text if len(text) <= _LONGEST else text[: _LONGEST - 1] + '…'}`"
