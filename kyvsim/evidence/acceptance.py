"""Whether an API server would hand an object to policies as it is."""

from collections.abc import Iterator
from functools import cache

from kyvsim.evidence.known_fields import problems
from kyvsim.evidence.types import type_at, type_of
from kyvsim.kube.discovery import is_namespaced
from kyvsim.kube.gvk import split_api_version
from kyvsim.kube.objects import Json, ObjectKey, metadata, object_key
from kyvsim.kube.quantity import parse_quantity
from kyvsim.patch.merge_types import FindType, Type, find_type, resolve
from kyvsim.patch.typed_values import misfits
from kyvsim.sim.server.typed import as_typed
from kyvsim.sim.server.validation import problems_of

_AMOUNTS = frozenset({"limits", "requests"})


def is_accepted(obj: Json, find: FindType) -> bool:
    """Return whether an API server would take an object, and would leave nothing of it out.

    Of kinds whose types nobody knows all that is certain is that null is no value, and what
    metadata look like.
    """
    kind = type_of(obj, find)
    if kind is not None and (misfits(kind, obj) or not _is_named(kind, obj)):
        return False
    key = object_key(obj)
    if misfits(_metadata(), metadata(obj)) or not _lies_well(key):
        return False
    if not key.name or as_typed(obj) != obj or _has_null(obj):
        return False
    return (
        not any(problems(obj))
        and not any(problems_of(obj))
        and all(map(_is_quantity, _amounts(obj)))
    )


@cache
def _metadata() -> Type:
    """Return the type of metadata, which objects of all kinds share."""
    pod = find_type("v1", "Pod")
    found = type_at(pod, ("metadata",)) if pod else None
    if found is None:
        raise LookupError("the types of Kubernetes have no metadata")
    return found


def _lies_well(key: ObjectKey) -> bool:
    """Return whether an object is in no namespace where its kind is for the whole cluster."""
    return not key.namespace or is_namespaced(split_api_version(key.api_version)[0], key.kind)


def _is_named(kind: Type, value: Json) -> bool:
    """Return whether elements have what names them in their list, at any depth."""
    if value.__class__ is dict and kind.mapping is not None:
        fields = (
            (kind.mapping.fields.get(name, kind.mapping.others), one) for name, one in value.items()
        )
        return all(ref is None or _is_named(resolve(ref), one) for ref, one in fields)
    if value.__class__ is list and kind.sequence is not None:
        needed = [key for key in kind.sequence.keys or () if not kind.sequence.defaults.get(key)]
        inner = resolve(kind.sequence.element)
        return all(all(one.get(key) for key in needed) and _is_named(inner, one) for one in value)
    return True


def _has_null(value: Json) -> bool:
    if value.__class__ is dict:
        return any(map(_has_null, value.values()))
    if value.__class__ is list:
        return any(map(_has_null, value))
    return value is None


def _amounts(value: Json) -> Iterator[Json]:
    """Yield what is asked for of resources."""
    if value.__class__ is dict:
        for name, inner in value.items():
            if name in _AMOUNTS and inner.__class__ is dict:
                yield from inner.values()
            else:
                yield from _amounts(inner)
    elif value.__class__ is list:
        for one in value:
            yield from _amounts(one)


def _is_quantity(value: Json) -> bool:
    """Return whether it is an amount in the form in which an API server hands it on: a text."""
    return value.__class__ is str and parse_quantity(value) is not None
