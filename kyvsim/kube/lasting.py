"""What of an object does not depend on when it was written, or by how many writes."""

from kyvsim.kube.objects import Json

_PASSING = frozenset(
    {"creationTimestamp", "deletionTimestamp", "generation", "managedFields", "resourceVersion"}
    | {"selfLink", "uid"}
)


def lasting(obj: Json) -> Json:
    """Return an object without what a server writes anew each time, at any depth."""
    if obj.__class__ is dict:
        return {name: lasting(value) for name, value in obj.items() if name not in _PASSING}
    if obj.__class__ is list:
        return [lasting(value) for value in obj]
    return obj
