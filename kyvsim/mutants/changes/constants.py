"""A value is another one: a number one more, a truth the other one, a text a longer one."""

import json
from collections.abc import Iterator

from kyvsim.kube.objects import Json
from kyvsim.kube.trees import replaced
from kyvsim.mutants.change import Change, Kind
from kyvsim.mutants.other_values import other_value
from kyvsim.mutants.site import Part, Site


def changes(site: Site, data: Json) -> Iterator[Change]:
    """Yield the document with another value, unless the value is made when the rule runs."""
    other = other_value(site.value)
    if other is not None:
        changed = replaced(data, site.path, other)
        yield Change(site.path, json.dumps(site.value), json.dumps(other), changed)


KIND = Kind("value", frozenset({Part.CONSTANT}), changes)
