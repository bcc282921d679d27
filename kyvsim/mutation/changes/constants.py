"""Changes of single values, and of the level of the Pod Security Standards."""

import json
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from kyvsim.kubernetes.objects import Json, replaced
from kyvsim.mutation.change import Change, Kind, Part, Site
from kyvsim.mutation.other_values import other_value

# A value is another one: a number one more, a truth the other one, a text a longer one.


def constants_changes(site: Site, data: Json) -> Iterator[Change]:
    """Yield the document with another value, unless the value is made when the rule runs."""
    other = other_value(site.value)
    if other is not None:
        changed = replaced(data, site.path, other)
        yield Change(site.path, json.dumps(site.value), json.dumps(other), changed)


CONSTANTS = Kind("value", frozenset({Part.CONSTANT}), constants_changes)

# A level of the Pod Security Standards becomes the other one.

_OTHERS: Mapping[str, str] = MappingProxyType({"restricted": "baseline", "baseline": "restricted"})


def pod_security_levels_changes(site: Site, data: Json) -> Iterator[Change]:
    """Yield the document with the other level."""
    other = _OTHERS.get(str(site.value))
    if other:
        yield Change(site.path, str(site.value), other, replaced(data, site.path, other))


POD_SECURITY_LEVELS = Kind("level", frozenset({Part.LEVEL}), pod_security_levels_changes)
