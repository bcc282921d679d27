"""References `$(./../x)`: texts that repeat another leaf of their own document.

upstream: `substituteReferencesIfAny` and `resolveReference` in pkg/engine/variables/vars.go. They
depend on the document alone, so they are resolved when it is compiled.
"""

import re
from collections.abc import Iterator
from typing import Final

from kyvsim.expr.errors import SubstitutionError
from kyvsim.expr.fill import checked_key, join
from kyvsim.expr.variables import remains_of
from kyvsim.kube.go_text import clean_path, sprint
from kyvsim.kube.objects import Json

_REFERENCE: Final = re.compile(r"^\$\(.[^ ]*\)|[^\\]\$\(.[^ ]*\)")
_ESCAPED: Final = re.compile(r"\\\$\(.[^ )]*\)")
_ANCHOR: Final = re.compile(r"[+<=X^]?\((.+)\)")
_OPERATORS: Final = (">=", "<=", ">", "<", "!")


def resolve_references(document: Json) -> Json:
    """Return the document with references resolved; itself where it has none.

    Raises `SubstitutionError` with upstream's text.
    """
    return _resolved(document, "", document)


def _resolved(value: Json, path: str, document: Json) -> Json:
    if not _has_reference(value):
        return value
    if value.__class__ is str:
        return _resolved_text(value, path, document)
    if value.__class__ is list:
        return [_resolved(item, f"{path}/{n}", document) for n, item in enumerate(value)]
    return {
        checked_key(key, _resolved(key, path, document)): _resolved(item, join(path, key), document)
        for key, item in value.items()
    }


def _has_reference(value: Json) -> bool:
    kind = value.__class__
    if kind is str:
        return "$(" in value
    if kind is dict:
        return any("$(" in key for key in value) or any(map(_has_reference, value.values()))
    return kind is list and any(map(_has_reference, value))


def _resolved_text(text: str, path: str, document: Json) -> str:
    for found in _REFERENCE.findall(text):
        before = "" if found.startswith("$(") else found[0]
        reference = remains_of(before) + found[len(before) :]
        try:
            value = _referred(reference, path, document)
        except SubstitutionError as error:
            raise SubstitutionError(
                f"failed to resolve {reference} at path {path}: {error.message}"
            ) from None
        if value is None:
            raise SubstitutionError(f"got nil resolved variable {reference} at path {path}: <nil>")
        if value.__class__ is not str:
            raise SubstitutionError(
                f"NotResolvedReferenceErr,reference {reference} not resolved at path {path}"
            )
        # What is left of a character beyond ASCII is its first byte, which Go reads as a character.
        kept = before if before.isascii() else chr(before.encode("utf-8", "surrogatepass")[0])
        text = text.replace(found, kept + value, 1)
    for found in _ESCAPED.findall(text):
        text = text.replace(found, found[1:])
    return text


def _referred(reference: str, path: str, document: Json) -> Json:
    """Return the value of the leaf referred to, as text behind an operator if there is one."""
    target = reference.strip("$()")
    operator = ""
    if len(target) > 1:
        operator = next((sign for sign in _OPERATORS if target.startswith(sign)), "")
        target = target[len(operator) :]
    if not target:
        raise SubstitutionError("expected path, found empty reference")
    if not target.startswith("/"):
        target = clean_path(f"{path}/{target}")
    value = None
    for place, leaf in _leaves(document, ""):
        if _without_anchors(place) == target:
            value = leaf
    return operator + _as_text(value, operator) if operator else value


def _as_text(value: Json, operator: str) -> str:
    if value.__class__ is str:
        return str(value)
    if value.__class__ is int:
        return str(value)
    if value.__class__ is float:
        return f"{value:f}"
    raise SubstitutionError(
        f"incorrect expression: operator {operator} does not match with value {sprint(value)}"
    )


def _leaves(value: Json, path: str) -> Iterator[tuple[str, Json]]:
    """Yield every leaf with its path, and every key with the path of its map."""
    if value.__class__ is dict:
        for key, item in value.items():
            yield path, key
            yield from _leaves(item, join(path, key))
    elif value.__class__ is list:
        for place, item in enumerate(value):
            yield from _leaves(item, f"{path}/{place}")
    else:
        yield path, value


def _without_anchors(path: str) -> str:
    parts = [
        anchor[1] if (anchor := _ANCHOR.fullmatch(part)) else part
        for part in path.removeprefix("/").split("/")
    ]
    cleaned = clean_path("/".join(part for part in parts if part))
    return f"/{cleaned}" if path.startswith("/") else cleaned
