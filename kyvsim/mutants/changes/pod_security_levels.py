"""A level of the Pod Security Standards becomes the other one."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from kyvsim.kube.objects import Json
from kyvsim.kube.trees import replaced
from kyvsim.mutants.change import Change, Kind
from kyvsim.mutants.site import Part, Site

_OTHERS: Mapping[str, str] = MappingProxyType({"restricted": "baseline", "baseline": "restricted"})


def changes(site: Site, data: Json) -> Iterator[Change]:
    """Yield the document with the other level."""
    other = _OTHERS.get(str(site.value))
    if other:
        yield Change(site.path, str(site.value), other, replaced(data, site.path, other))


KIND = Kind("level", frozenset({Part.LEVEL}), changes)
