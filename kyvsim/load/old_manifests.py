"""Test manifests as they were written before they had a kind, and the same as they are now.

upstream: cmd/cli/kubectl-kyverno/fix/test.go, and the fields of rows until 1.11
"""

import json
from collections.abc import Iterator

from kyvsim.kubernetes.objects import Json, text_field
from kyvsim.load.recognise import OLD_TEST_GROUP
from kyvsim.model.diagnostic import Change, Diagnostic, Fix, Severity, Way, change
from kyvsim.model.source import Document, Path

API_VERSION = "cli.kyverno.io/v1alpha1"
_ROW = (("status", "result"), ("resource", "resources"), ("patchedResource", "patchedResources"))
"""Fields of a row, and those that have replaced them."""


def old_fields(document: Document) -> tuple[Diagnostic, ...]:
    """KV040: a deprecated shape, field by field; the fix of each puts the whole manifest right."""
    data = document.data
    found: list[tuple[Path, str]] = []
    if text_field(data, "name"):
        found.append((("name",), "metadata.name"))
    for index, row in _rows(data):
        found += [(("results", index, old), new) for old, new in _ROW if old in row]
    fix = todays_form(document) if found else None
    return tuple(
        Diagnostic(
            "KV040",
            Severity.ERROR,
            f"`{path[-1]}` is deprecated: use `{new}`",
            document.locate(path),
            fix=fix,
        )
        for path, new in found
    )


def in_todays_names(document: Document) -> Document:
    """Return a manifest whose rows have today's fields, so that the rest of it can be checked."""
    data = document.data
    renamed = {index: _renamed(row) for index, row in _rows(data)}
    if all(row is data["results"][index] for index, row in renamed.items()):
        return document
    rows = [renamed.get(index, row) for index, row in enumerate(data["results"])]
    return document._replace(data={**data, "results": rows})


def _renamed(row: Json) -> Json:
    names = {old: new for old, new in _ROW if old in row and new not in row}
    if not names:
        return row
    return {
        names.get(key, key): [value] if names.get(key) == "resources" else value
        for key, value in row.items()
    }


def todays_form(document: Document) -> Fix | None:
    """Return what gives a manifest today's form; None where it has that, or nothing surely does."""
    changes = (*_head(document), *_todays_rows(document))
    return Fix("write it as tests are written today", changes) if changes else None


def _rows(data: Json) -> Iterator[tuple[int, Json]]:
    rows = data.get("results") if data.__class__ is dict else None
    for index, row in enumerate(rows if rows.__class__ is list else ()):
        if row.__class__ is dict:
            yield index, row


def _head(document: Document) -> Iterator[Change]:
    """Yield what gives it type and metadata."""
    data = document.data
    kind = "" if text_field(data, "kind") else "kind: Test"
    version = "" if text_field(data, "apiVersion") else f"apiVersion: {API_VERSION}"
    if text_field(data, "apiVersion").partition("/")[0] == OLD_TEST_GROUP:
        yield change(document, Way.VALUE, ("apiVersion",), API_VERSION)
    name = text_field(data, "name")
    named = "metadata" in data
    head = [one for one in (version, kind) if one]
    if name and not named:
        head.append(f"metadata:\n  name: {json.dumps(name) if _is_odd(name) else name}")
        yield change(document, Way.ENTRY, ("name",), "\n".join(head))
    else:
        if head:
            yield change(document, Way.ADD, (), "\n".join(head))
        if name and text_field(data["metadata"], "name") == name:
            yield change(document, Way.REMOVE, ("name",))


def _is_odd(text: str) -> bool:
    """Return whether a text may need quotes."""
    return not (text[0].isalpha() and text.replace("-", "").replace("_", "").isalnum())


def _todays_rows(document: Document) -> Iterator[Change]:
    for index, row in _rows(document.data):
        path: Path = ("results", index)
        for old, new in _ROW:
            if old in row and new not in row:
                yield _todays_field(document, (*path, old), row[old], new)


def _todays_field(document: Document, path: Path, value: Json, name: str) -> Change:
    if name != "resources":
        return change(document, Way.KEY, path, name)
    plain = value.__class__ is str and not _is_odd(value)
    text = f"{name}:\n- {value if plain else json.dumps(value)}"
    return change(document, Way.ENTRY, path, text)
