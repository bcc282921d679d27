"""Changes of conditions and blocks: operators, `any` and `all`, parts that are left out."""

import json
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from kyvsim.kubernetes.objects import Json, renamed, replaced, without
from kyvsim.mutation.change import Change, Kind, Part, Site

# `any` becomes `all`, and the other way round, around several filters or conditions.


def any_or_all_changes(site: Site, data: Json) -> Iterator[Change]:
    """Yield the document with the other word."""
    other = "all" if site.name == "any" else "any"
    yield Change(site.path, site.name, other, renamed(data, site.path, other))


ANY_OR_ALL = Kind("any or all", frozenset({Part.CHOICE}), any_or_all_changes)

# The operator of a condition becomes its opposite, or the one beside it.

_ORDERED: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "GreaterThan": ("GreaterThanOrEquals", "LessThanOrEquals"),
        "GreaterThanOrEquals": ("GreaterThan", "LessThan"),
        "LessThan": ("LessThanOrEquals", "GreaterThanOrEquals"),
        "LessThanOrEquals": ("LessThan", "GreaterThan"),
    }
)
_OTHERS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "Equal": ("NotEqual",),
        "Equals": ("NotEquals",),
        "NotEqual": ("Equal",),
        "NotEquals": ("Equals",),
        "In": ("NotIn",),
        "NotIn": ("In",),
        "AnyIn": ("AllIn", "AllNotIn"),
        "AllIn": ("AnyIn", "AnyNotIn"),
        "AnyNotIn": ("AllNotIn", "AllIn"),
        "AllNotIn": ("AnyNotIn", "AnyIn"),
        **_ORDERED,
        **{
            f"Duration{name}": tuple(f"Duration{one}" for one in others)
            for name, others in _ORDERED.items()
        },
    }
)
"""What each operator becomes: first the one that differs least, last its opposite."""


def condition_operators_changes(site: Site, data: Json) -> Iterator[Change]:
    """Yield the document with each other operator."""
    was = site.value.get("operator")
    path = (*site.path, "operator")
    for other in _OTHERS.get(was, ()):
        yield Change(path, was, other, replaced(data, path, other))


CONDITION_OPERATORS = Kind(
    "operator of a condition", frozenset({Part.CONDITION}), condition_operators_changes
)

# A part is left out: a filter, a condition, the exclude block, a field of a pattern.


def left_out_changes(site: Site, data: Json) -> Iterator[Change]:
    """Yield the document without the part."""
    yield Change(site.path, _named(site), "", without(data, site.path))


def _named(site: Site) -> str:
    """Return what a part is called: by its field, by what people call it, or by its value."""
    last = site.path[-1]
    return last if last.__class__ is str else site.name or json.dumps(site.value)


LEFT_OUT = Kind("left out", frozenset({Part.REMOVABLE}), left_out_changes)
