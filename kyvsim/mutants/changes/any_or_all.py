"""`any` becomes `all`, and the other way round, around several filters or conditions."""

from collections.abc import Iterator

from kyvsim.kube.objects import Json
from kyvsim.kube.trees import renamed
from kyvsim.mutants.change import Change, Kind
from kyvsim.mutants.site import Part, Site


def changes(site: Site, data: Json) -> Iterator[Change]:
    """Yield the document with the other word."""
    other = "all" if site.name == "any" else "any"
    yield Change(site.path, site.name, other, renamed(data, site.path, other))


KIND = Kind("any or all", frozenset({Part.CHOICE}), changes)
