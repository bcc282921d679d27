"""Whether an API server would hand an object to policies as it is."""

import re
from functools import cache

from kyvsim.equivalence.known_fields import is_moment, is_possible, is_quantity, problems
from kyvsim.equivalence.types import type_at, type_of
from kyvsim.kubernetes.discovery import is_builtin, is_namespaced, split_api_version
from kyvsim.kubernetes.labels import is_label
from kyvsim.kubernetes.objects import Json, ObjectKey, metadata, object_key
from kyvsim.kubernetes.validation import problems_of
from kyvsim.model.policy import Hole, Way
from kyvsim.patch.merge_types import NUMERIC, UNTYPED, FindType, Type, find_type, resolve
from kyvsim.patch.structured_merge import misfits
from kyvsim.simulator.api_server.defaults import as_typed

_KIND = re.compile(r"[A-Z][A-Za-z0-9]*")
_API_VERSION = re.compile(r"([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?v[0-9][a-z0-9]*")


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
    group = split_api_version(key.api_version)[0]
    if kind is not None and is_builtin(group, key.kind) and not _has_values(kind, obj, ()):
        return False
    return (
        _KIND.fullmatch(key.kind) is not None
        and _API_VERSION.fullmatch(key.api_version) is not None
        and not any(problems(obj))
        and not any(problems_of(obj))
    )


def _has_values(kind: Type, value: Json, way: Way) -> bool:
    """Return whether numbers, quantities and times have values that an API server reads.

    The types say of a quantity or a time only that it is a scalar, of an IntOrString that it may be
    anything, and of a number nothing but that.
    """
    if value.__class__ is dict and kind.mapping is not None:
        fields = kind.mapping.fields
        return all(
            ref is None or _has_values(resolve(ref), one, (*way, name))
            for name, one in value.items()
            for ref in (fields.get(name, kind.mapping.others),)
        )
    if value.__class__ is list and kind.sequence is not None:
        inner = resolve(kind.sequence.element)
        return all(_has_values(inner, one, (*way, Hole.ELEMENT)) for one in value)
    if kind.scalar == NUMERIC:
        return value.__class__ is int and is_possible(way, value)
    if kind.scalar != UNTYPED or way[:1] == ("metadata",):
        return True
    if kind.mapping is not None:
        return value.__class__ in {str, int} and is_possible(way, value)
    return value.__class__ is str and (is_moment(way) or is_quantity(value))


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
    if not key.namespace:
        return True
    group = split_api_version(key.api_version)[0]
    return is_namespaced(group, key.kind) and is_label(key.namespace)


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
