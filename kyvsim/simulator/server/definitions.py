"""The schemas of custom kinds: of Kyverno's own, and of those that a definition in store adds."""

from kyvsim.kubernetes.discovery import is_builtin, split_api_version
from kyvsim.kubernetes.objects import Json, ObjectKey, object_key
from kyvsim.schema.kinds import given_schema, kyverno_schema
from kyvsim.schema.node import Node, stored
from kyvsim.simulator.server import errors
from kyvsim.simulator.server.request import ApiError, Review
from kyvsim.simulator.server.store import Store
from kyvsim.simulator.server.unfit import unfit

_WHOLE = frozenset({"", "status"})
"""Subresources whose requests carry the whole object."""


def as_defined(obj: Json, store: Store) -> Json:
    """Return an object of a custom kind as its schema has it stored, any other as it is."""
    schema = schema_of(object_key(obj), store) if obj is not None else None
    return stored(obj, schema) if schema else obj


def refuse_unfit(review: Review, store: Store) -> ApiError | None:
    """Return why an object does not fit its schema, or None."""
    request, obj = review.request, review.object
    schema = schema_of(object_key(obj), store) if obj is not None else None
    if schema is None or request.subresource not in _WHOLE:
        return None
    found = unfit(obj, review.old, schema)
    return errors.invalid(object_key(obj), *found) if found else None


def schema_of(key: ObjectKey, store: Store) -> Node | None:
    """Return the schema of a custom kind, None where it has none."""
    if is_builtin(split_api_version(key.api_version)[0], key.kind):
        return None
    own = kyverno_schema(key.api_version, key.kind)
    return own or given_schema(key.api_version, key.kind, store.defined)
