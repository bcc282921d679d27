"""A part is left out: a filter, a condition, the exclude block, a field of a pattern."""

import json
from collections.abc import Iterator

from kyvsim.kube.objects import Json
from kyvsim.kube.trees import without
from kyvsim.mutants.change import Change, Kind
from kyvsim.mutants.site import Part, Site


def changes(site: Site, data: Json) -> Iterator[Change]:
    """Yield the document without the part."""
    yield Change(site.path, _named(site), "", without(data, site.path))


def _named(site: Site) -> str:
    """Return what a part is called: by its field, by what people call it, or by its value."""
    last = site.path[-1]
    return last if last.__class__ is str else site.name or json.dumps(site.value)


KIND = Kind("left out", frozenset({Part.REMOVABLE}), changes)
