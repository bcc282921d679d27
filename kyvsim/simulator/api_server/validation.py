"""Validation in the API server before an object is stored: schemas, types, names."""

from collections.abc import Callable, Iterator, Mapping

from kyvsim.kubernetes.discovery import is_builtin, split_api_version
from kyvsim.kubernetes.go_text import quote, sprint, to_json
from kyvsim.kubernetes.objects import (
    Json,
    KubernetesObject,
    ObjectKey,
    object_key,
    path_text,
    text_field,
)
from kyvsim.kubernetes.validation import problems_of
from kyvsim.languages.classic.pod_security.go_structs import MisfitError, has_type, read_object
from kyvsim.model.request import Operation
from kyvsim.schema.kinds import given_schema, kyverno_schema
from kyvsim.schema.node import TYPE_NAMES, SchemaFinding, SchemaNode, duplicates, findings, stored
from kyvsim.schema.rules import broken_rules
from kyvsim.simulator.api_server import errors
from kyvsim.simulator.api_server.request import ApiError, Review
from kyvsim.simulator.api_server.store import ObjectStore

# Schema errors of custom objects, with the messages of an API server.
# Source of the texts: k8s.io/kube-openapi pkg/validation/errors, and
# k8s.io/apiextensions-apiserver pkg/apiserver/validation, pkg/apiserver/schema/listtype.


def schema_errors(
    obj: KubernetesObject, old: KubernetesObject | None, schema: SchemaNode
) -> list[str]:
    """Return the schema errors of an object, each as `field: what: why`.

    CEL rules are evaluated if there are no other errors; `old` is None for a new object.
    """
    root = {name: value for name, value in obj.items() if name != "metadata"}
    return schema_findings(root, schema) or [
        f'{path_text(one.path) or "<nil>"}: Invalid value: "{one.type_name}": {one.message}'
        for one in broken_rules(obj, old, schema)
    ]


def schema_findings(data: Json, schema: SchemaNode) -> list[str]:
    """Return the errors of data in a schema, each as `field: what: why`."""
    problems = (*findings(data, schema), *duplicates(data, schema))
    return list(dict.fromkeys(text for one in problems for text in _worded(one)))


def _worded(finding: SchemaFinding) -> Iterator[str]:
    place = path_text(finding.path)
    combined = _COMBINATIONS.get(finding.word)
    if combined is None:
        yield _WORDS[finding.word](finding, place)
        return
    # For `allOf` the messages of the parts precede that of the whole, for others they follow it.
    parts = [text for one in finding.inner for text in _worded(one)]
    whole = f'<nil>: Invalid value: "": "{place}" {combined(finding)}'
    yield from (*parts, whole) if finding.word == "allOf" else (whole, *parts)


_COMBINATIONS: Mapping[str, Callable[[SchemaFinding], str]] = {
    "anyOf": lambda _: "must validate at least one schema (anyOf)",
    "oneOf": lambda one: (
        "must validate one and only one schema (oneOf). "
        + (f"Found {one.fitting} valid alternatives" if one.fitting else "Found none valid")
    ),
    "allOf": lambda one: (
        f"must validate all the schemas (allOf){'' if one.fitting else '. None validated'}"
    ),
    "not": lambda _: "must not validate the schema (not)",
}
"""Messages about a whole object, without a field name."""


def _type(finding: SchemaFinding, place: str) -> str:
    actual = TYPE_NAMES[finding.value.__class__]
    expected = ",".join(finding.limit)
    why = f'must be of type {expected}: "{actual}"'
    return f'{place}: Invalid value: "{actual}": {place} in body {why}'


def _choice(finding: SchemaFinding, place: str) -> str:
    allowed = ", ".join(
        quote(one if isinstance(one, str) else to_json(one)) for one in finding.limit
    )
    return f"{place}: Unsupported value: {_shown(finding.value)}: supported values: {allowed}"


def _bound(words: str) -> Callable[[SchemaFinding, str], str]:
    """Return the message for a number that exceeds a limit."""
    return lambda one, place: _invalid(place, one.value, f"should be {words} {sprint(one.limit)}")


_WORDS: Mapping[str, Callable[[SchemaFinding, str], str]] = {
    "type": _type,
    "enum": _choice,
    "maxLength": lambda one, place: f"{place}: Too long: may not be more than {one.limit} bytes",
    "minLength": lambda one, place: _invalid(
        place, one.value, f"should be at least {one.limit} chars long"
    ),
    "pattern": lambda one, place: _invalid(place, one.value, f"should match '{one.limit}'"),
    "format": lambda one, place: _invalid(
        place, one.value, f"must be of type {one.limit}: {quote(one.value)}"
    ),
    "exclusiveMinimum": _bound("greater than"),
    "minimum": _bound("greater than or equal to"),
    "exclusiveMaximum": _bound("less than"),
    "maximum": _bound("less than or equal to"),
    "minItems": lambda one, place: _invalid(
        place, len(one.value), f"should have at least {one.limit} items"
    ),
    "maxItems": lambda one, place: (
        f"{place}: Too many: {len(one.value)}: must have at most {one.limit} "
        f"{'item' if one.limit == 1 else 'items'}"
    ),
    "minProperties": lambda one, place: _invalid(
        place, len(one.value), f"should have at least {one.limit} properties"
    ),
    "required": lambda one, _: f"{path_text((*one.path, one.limit))}: Required value",
    "duplicate": lambda one, place: f"{place}: Duplicate value: {_shown(one.value)}",
}


def _invalid(place: str, value: Json, why: str) -> str:
    return f"{place}: Invalid value: {_shown(value)}: {place} in body {why}"


def _shown(value: Json) -> str:
    if value.__class__ is str:
        return quote(value)
    return to_json(value) if value.__class__ in {dict, list} else sprint(value)


def as_defined(obj: KubernetesObject, store: ObjectStore) -> KubernetesObject:
    """Return an object of a custom kind as stored with its schema; other objects are unchanged."""
    schema = schema_of(object_key(obj), store) if obj is not None else None
    return stored(obj, schema) if schema else obj


def refuse_schema_errors(review: Review, store: ObjectStore) -> ApiError | None:
    """Return why an object does not match its schema, or None."""
    request, obj = review.request, review.object
    # Only these requests have the whole object.
    if obj is None or request.subresource not in {"", "status"}:
        return None
    schema = schema_of(object_key(obj), store)
    problems = schema_errors(obj, review.old, schema) if schema else []
    return errors.invalid(object_key(obj), *problems) if problems else None


def schema_of(key: ObjectKey, store: ObjectStore) -> SchemaNode | None:
    """Return the schema of a custom kind, None if it has none."""
    if is_builtin(key.group, key.kind):
        return None
    own = kyverno_schema(key.api_version, key.kind)
    return own or given_schema(key.api_version, key.kind, store.defined)


# Objects of built-in kinds that cannot be decoded: a field has a wrong type.
#
# They are rejected before anything else. Source of the texts: k8s.io/apiserver
# pkg/endpoints/handlers (create.go, transformDecodeError), and encoding/json.


def refuse_unreadable(obj: KubernetesObject) -> ApiError | None:
    """Return why an object of a built-in kind cannot be decoded, or None."""
    problem = unreadable(obj)
    if not problem:
        return None
    key = object_key(obj)
    named = f'{key.kind} in version "{split_api_version(key.api_version)[1]}"'
    return ApiError(400, "BadRequest", f"{named} cannot be handled as a {key.kind}: {problem}")


def refuse_change(obj: KubernetesObject) -> ApiError | None:
    """Return why an object that a webhook changed cannot be decoded, or None."""
    problem = unreadable(obj)
    return errors.internal(problem) if problem else None


def unreadable(obj: KubernetesObject) -> str:
    """Return the first type error of an object, with Go's message, "" if there is none."""
    kind = text_field(obj, "kind")
    group, version = split_api_version(text_field(obj, "apiVersion"))
    # In the table of types, the package of CustomResourceDefinition has a special name.
    definitions = "apiextensions"
    package = definitions if kind == "CustomResourceDefinition" else version
    if group == "admissionregistration.k8s.io":
        package = "v1"  # earlier versions have the same fields
    if is_builtin(group, kind) and has_type(f"{package}.{kind}"):
        try:
            read_object(obj, f"{package}.{kind}")
        except MisfitError as error:
            return str(error).replace(f"{definitions}.", f"{version}.")
    return ""


# Validation of objects that are otherwise accepted.
#
# It runs after mutating webhooks and before validating ones.


def refuse_invalid(review: Review) -> ApiError | None:
    """Return why an object is invalid, or None."""
    request, obj = review.request, review.object
    if obj is None or request.subresource or request.operation is Operation.CONNECT:
        return None
    problems = list(dict.fromkeys(problems_of(obj, review.old)))
    return errors.invalid(object_key(obj), *problems) if problems else None
