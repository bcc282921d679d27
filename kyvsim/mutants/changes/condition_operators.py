"""The operator of a condition becomes its opposite, or the one beside it."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from kyvsim.kube.objects import Json
from kyvsim.kube.trees import replaced
from kyvsim.mutants.change import Change, Kind
from kyvsim.mutants.site import Part, Site

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


def changes(site: Site, data: Json) -> Iterator[Change]:
    """Yield the document with each other operator."""
    was = site.value.get("operator")
    path = (*site.path, "operator")
    for other in _OTHERS.get(was, ()):
        yield Change(path, was, other, replaced(data, path, other))


KIND = Kind("operator of a condition", frozenset({Part.CONDITION}), changes)
