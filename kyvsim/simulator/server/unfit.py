"""Where an object of a custom kind does not fit its schema, in the words of an API server.

Source of the texts: k8s.io/kube-openapi pkg/validation/errors, and
k8s.io/apiextensions-apiserver pkg/apiserver/validation, pkg/apiserver/schema/listtype.
"""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from kyvsim.kubernetes.go_text import quote, sprint, to_json
from kyvsim.kubernetes.objects import Json
from kyvsim.model.source import Path
from kyvsim.schema.findings import Finding, duplicates, findings
from kyvsim.schema.node import TYPE_NAMES, Node
from kyvsim.schema.rules import broken_rules


def unfit(obj: Json, old: Json, schema: Node) -> list[str]:
    """Return what is wrong with an object, each as `field: what: why`.

    Rules in CEL are asked where nothing else is wrong; `old` is None for a new object.
    """
    root = {name: value for name, value in obj.items() if name != "metadata"}
    return misfits(root, schema) or [
        f'{_shown_path(one.path) or "<nil>"}: Invalid value: "{one.type_name}": {one.message}'
        for one in broken_rules(obj, old, schema)
    ]


def misfits(data: Json, schema: Node) -> list[str]:
    """Return where data does not fit a schema, each as `field: what: why`."""
    found = (*findings(data, schema), *duplicates(data, schema))
    return list(dict.fromkeys(text for one in found for text in _worded(one)))


def _worded(finding: Finding) -> Iterator[str]:
    place = _shown_path(finding.path)
    combined = _COMBINATIONS.get(finding.word)
    if combined is None:
        yield _WORDS[finding.word](finding, place)
        return
    # What the parts of `allOf` object to comes before the whole of it, of the others after it.
    parts = [text for one in finding.inner for text in _worded(one)]
    whole = f'<nil>: Invalid value: "": "{place}" {combined(finding)}'
    yield from (*parts, whole) if finding.word == "allOf" else (whole, *parts)


def _one_of(finding: Finding) -> str:
    fitting = finding.fitting
    why = f"Found {fitting} valid alternatives" if fitting else "Found none valid"
    return f"must validate one and only one schema (oneOf). {why}"


def _all_of(finding: Finding) -> str:
    none = "" if finding.fitting else ". None validated"
    return f"must validate all the schemas (allOf){none}"


_COMBINATIONS: Mapping[str, Callable[[Finding], str]] = MappingProxyType(
    {
        "anyOf": lambda _: "must validate at least one schema (anyOf)",
        "oneOf": _one_of,
        "allOf": _all_of,
        "not": lambda _: "must not validate the schema (not)",
    }
)
"""What is said of a whole, for which the API server names no field."""


def _type(finding: Finding, place: str) -> str:
    found = TYPE_NAMES[finding.value.__class__]
    wanted = ",".join(finding.limit)
    why = f'must be of type {wanted}: "{found}"'
    return f'{place}: Invalid value: "{found}": {place} in body {why}'


def _choice(finding: Finding, place: str) -> str:
    allowed = ", ".join(quote(_text(one)) for one in finding.limit)
    return f"{place}: Unsupported value: {_shown(finding.value)}: supported values: {allowed}"


def _too_many(finding: Finding, place: str) -> str:
    size, limit = len(finding.value), finding.limit
    items = "item" if limit == 1 else "items"
    return f"{place}: Too many: {size}: must have at most {limit} {items}"


def _format(finding: Finding, place: str) -> str:
    return _invalid(
        place, finding.value, f"must be of type {finding.limit}: {quote(finding.value)}"
    )


def _bound(words: str) -> Callable[[Finding, str], str]:
    """Return what is said of a number beyond a bound."""
    return lambda one, place: _invalid(place, one.value, f"should be {words} {sprint(one.limit)}")


_WORDS: Mapping[str, Callable[[Finding, str], str]] = MappingProxyType(
    {
        "type": _type,
        "enum": _choice,
        "maxLength": lambda one, place: (
            f"{place}: Too long: may not be more than {one.limit} bytes"
        ),
        "minLength": lambda one, place: _invalid(
            place, one.value, f"should be at least {one.limit} chars long"
        ),
        "pattern": lambda one, place: _invalid(place, one.value, f"should match '{one.limit}'"),
        "format": _format,
        "exclusiveMinimum": _bound("greater than"),
        "minimum": _bound("greater than or equal to"),
        "exclusiveMaximum": _bound("less than"),
        "maximum": _bound("less than or equal to"),
        "minItems": lambda one, place: _invalid(
            place, len(one.value), f"should have at least {one.limit} items"
        ),
        "maxItems": _too_many,
        "minProperties": lambda one, place: _invalid(
            place, len(one.value), f"should have at least {one.limit} properties"
        ),
        "required": lambda one, _: f"{_shown_path((*one.path, one.limit))}: Required value",
        "duplicate": lambda one, place: f"{place}: Duplicate value: {_shown(one.value)}",
    }
)


def _shown_path(path: Path) -> str:
    text = ""
    for step in path:
        text += f"[{step}]" if step.__class__ is int else f".{step}"
    return text.removeprefix(".")


def _invalid(place: str, value: Json, why: str) -> str:
    return f"{place}: Invalid value: {_shown(value)}: {place} in body {why}"


def _shown(value: Json) -> str:
    if value.__class__ is str:
        return quote(value)
    return to_json(value) if value.__class__ in {dict, list} else sprint(value)


def _text(value: Json) -> str:
    return value if isinstance(value, str) else to_json(value)
