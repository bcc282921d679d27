"""What of an object does not depend on when it was written, or by how many writes."""

import re

from kyvsim.kubernetes.objects import Json

_PASSING = frozenset(
    {"creationTimestamp", "deletionTimestamp", "generation", "managedFields", "resourceVersion"}
    | {"selfLink", "uid"}
)
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")


def lasting(obj: Json) -> Json:
    """Return an object without what a server writes anew each time, at any depth.

    Times that are left are all alike.
    """
    if obj.__class__ is dict:
        return {name: lasting(value) for name, value in obj.items() if name not in _PASSING}
    if obj.__class__ is list:
        return [lasting(value) for value in obj]
    return "TIME" if obj.__class__ is str and _TIME.fullmatch(obj) else obj
