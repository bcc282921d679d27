"""Test manifests (`kyverno-test.yaml`): found, loaded strictly, also in their old form."""

import json
import os
from collections.abc import Iterator, Mapping

from kyvsim.kubernetes.objects import Json, Path, text_field
from kyvsim.load.documents import STRICT_FLOATS, parse_documents, read_documents
from kyvsim.load.files import Source, read_sources
from kyvsim.load.folders import USUAL, Walking, walk
from kyvsim.load.recognise import (
    OLD_TEST_GROUP,
    is_test_manifest,
    looks_like_object,
    looks_like_policy,
)
from kyvsim.load.values import check_cli_document, cli_schemas
from kyvsim.model.diagnostic import ChangeKind, Diagnostic, Fix, Severity, TextChange, change
from kyvsim.model.request import PayloadMode
from kyvsim.model.source import Document, Location
from kyvsim.model.suite import ExpectedRow, Manifest, ResourceSpec

# Test manifests as they were written before they had a kind, and the same as they are now.
#
# Source of the rules: upstream cmd/cli/kubectl-kyverno/fix/test.go, and the fields of rows until
# 1.11

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
    renamed: dict[int, Json] = {}
    for index, row in _rows(data):
        names = {old: new for old, new in _ROW if old in row and new not in row}
        if names:
            renamed[index] = {
                names.get(key, key): [value] if names.get(key) == "resources" else value
                for key, value in row.items()
            }
    if not renamed:
        return document
    rows = [renamed.get(index, row) for index, row in enumerate(data["results"])]
    return document._replace(data={**data, "results": rows})


def todays_form(document: Document) -> Fix | None:
    """Return what gives a manifest today's form; None where it has that, or nothing surely does."""
    changes = (*_head(document), *_todays_rows(document))
    return Fix("use the current format", changes) if changes else None


def _rows(data: Json) -> Iterator[tuple[int, Json]]:
    rows = data.get("results") if data.__class__ is dict else None
    for index, row in enumerate(rows if rows.__class__ is list else ()):
        if row.__class__ is dict:
            yield index, row


def _head(document: Document) -> Iterator[TextChange]:
    data = document.data
    kind = "" if text_field(data, "kind") else "kind: Test"
    version = "" if text_field(data, "apiVersion") else f"apiVersion: {API_VERSION}"
    if text_field(data, "apiVersion").partition("/")[0] == OLD_TEST_GROUP:
        yield change(document, ChangeKind.VALUE, ("apiVersion",), API_VERSION)
    name = text_field(data, "name")
    named = "metadata" in data
    head = [one for one in (version, kind) if one]
    if name and not named:
        head.append(f"metadata:\n  name: {json.dumps(name) if _is_malformed(name) else name}")
        yield change(document, ChangeKind.ENTRY, ("name",), "\n".join(head))
    else:
        if head:
            yield change(document, ChangeKind.ADD, (), "\n".join(head))
        if name and text_field(data["metadata"], "name") == name:
            yield change(document, ChangeKind.REMOVE, ("name",))


def _is_malformed(text: str) -> bool:
    return not (text[0].isalpha() and text.replace("-", "").replace("_", "").isalnum())


def _todays_rows(document: Document) -> Iterator[TextChange]:
    for index, row in _rows(document.data):
        path: Path = ("results", index)
        for old, new in _ROW:
            if old in row and new not in row:
                if new != "resources":
                    yield change(document, ChangeKind.KEY, (*path, old), new)
                    continue
                value = row[old]
                plain = value.__class__ is str and not _is_malformed(value)
                text = f"{new}:\n- {value if plain else json.dumps(value)}"
                yield change(document, ChangeKind.ENTRY, (*path, old), text)


# Test manifests (`kyverno-test.yaml`): found in folders, loaded strictly.
#
# Codes: KV041 a path that leads to no manifest, KV042 an entry that cannot mean what it says,
# KV048 a policy in place of a manifest, KV049 a folder without manifests. Source of the rules:
# upstream cmd/cli/kubectl-kyverno/test/load.go, apis/v1alpha1/test.go

_PAYLOADS = (
    (PayloadMode.JSON, "jsonPayloads"),
    (PayloadMode.HTTP, "httpPayloads"),
    (PayloadMode.ENVOY, "envoyPayloads"),
)
_FLAG = "is"


def find_manifests(
    path: str, file_name: str, walking: Walking = USUAL
) -> tuple[tuple[str, ...], tuple[Diagnostic, ...]]:
    """Return the manifests in and below a folder, in order, and diagnostics of the path.

    Hidden folders count. A file stands for itself.
    """
    if "://" in path:
        text = "kyvsim works offline: fetch the repository yourself and pass its folder"
        return (), (Diagnostic("KV041", Severity.ERROR, text, Location(path)),)
    if os.path.isfile(path):
        return (path,), ()
    found = tuple(walk(path, walking, file_name))
    files = [os.path.normpath(one) for one in found if isinstance(one, str)]
    files.sort(key=lambda file: file.split(os.sep))
    remarks = (one for one in found if not isinstance(one, str))
    return tuple(files), tuple(
        one._replace(code="KV041") if one.code == "KV003" else one for one in remarks
    )


def what_is_there(folder: str, walking: Walking = USUAL) -> str:
    """Return `, but …` with what a folder without manifests of tests has, "" for nothing known."""
    for source in read_sources((folder,), None, walking):
        for one in parse_documents(source) if isinstance(source, Source) else ():
            if not isinstance(one, Document):
                continue
            if is_test_manifest(one.data):
                name = os.path.basename(one.file)
                return f", but there is `{name}`: select it with --file-name {name}"
            if looks_like_policy(one.data):
                return ", but policies: `kyvsim lint` checks them, `kyvsim apply` runs them"
            if looks_like_object(one.data):
                return ", but resources: `kyvsim apply POLICY --resource PATH` evaluates them"
    return ""


def read_manifests(file: str) -> tuple[tuple[Manifest, ...], tuple[Diagnostic, ...]]:
    """Return the manifests in a file, and what is wrong with the other documents in it."""
    documents, remarks = read_documents((file,), None, STRICT_FLOATS)
    manifests: list[Manifest] = []
    problems = list(remarks)
    for document in documents:
        manifest, found = load_test_manifest(document)
        problems += found
        if manifest:
            manifests.append(manifest)
    return tuple(manifests), tuple(problems)


def load_test_manifest(document: Document) -> tuple[Manifest | None, tuple[Diagnostic, ...]]:
    """Return what a document of kind Test says, or None and what is wrong with it.

    Names of fields count in any spelling of their letters' case, as in Go's reader; it is reported.
    """
    if text_field(document.data, "kind") != "Test" and looks_like_policy(document.data):
        text = (
            "a policy is not a test manifest: `kyvsim lint` checks it, `kyvsim apply` runs it, "
            "`kyvsim test --create` writes a test for it"
        )
        return None, (Diagnostic("KV048", Severity.ERROR, text, document.locate(())),)
    spelled, told = _in_known_spelling(document)
    data, remarks = check_cli_document(in_todays_names(spelled), "Test")
    if remarks and remarks[0].code == "KV031":
        remarks = (remarks[0]._replace(fix=todays_form(document)),)
    else:
        remarks = (*old_fields(document), *remarks)
    if remarks:
        return None, (*told, *remarks)

    def paths(name: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(data.get(name, ())))

    def payloads(name: str) -> tuple[str, ...]:
        alone = data.get("jsonPayload", "") if name == "jsonPayloads" else ""
        return paths(name) or ((alone,) if alone else ())

    manifest = Manifest(
        document=spelled._replace(data=data),
        policies=paths("policies"),
        resources=paths("resources"),
        targets=paths("targetResources"),
        params=paths("paramResources"),
        exceptions=paths("exceptions"),
        cluster_resources=paths("clusterResources"),
        values_file=data.get("variables", ""),
        userinfo=data.get("userinfo", ""),
        context=data.get("context", ""),
        payloads=tuple((mode, path) for mode, name in _PAYLOADS for path in payloads(name)),
        rows=tuple(_row(entry, index) for index, entry in enumerate(data.get("results", ()))),
    )
    problems = list(told)
    if (data["apiVersion"], data["kind"]) != (API_VERSION, "Test"):
        text = f"{data['kind']} ({data['apiVersion']}) is read as Test ({API_VERSION})"
        place, fix = spelled.locate(("apiVersion",)), todays_form(spelled)
        problems.append(Diagnostic("KV042", Severity.WARNING, text, place, fix=fix))
    for index, entry in enumerate(data.get("results", ())):
        if entry.get("operation") and entry.get("isDeletingPolicy"):
            text = "`operation` has no meaning for a deleting policy"
            place = spelled.locate(("results", index, "operation"))
            problems.append(Diagnostic("KV042", Severity.ERROR, text, place))
    return manifest, tuple(problems)


def _row(entry: Mapping[str, Json], index: int) -> ExpectedRow:
    single = entry.get("generatedResource", "")
    resources = entry.get("resources")
    return ExpectedRow(
        policy=entry["policy"],
        rule=entry.get("rule", ""),
        result=entry["result"],
        resources=None if resources is None else tuple(resources),
        specs=tuple(_spec(spec) for spec in entry.get("resourceSpecs", ())),
        kind=entry.get("kind", ""),
        operation=entry.get("operation", ""),
        patched=entry.get("patchedResources", ""),
        generated=tuple(entry.get("generatedResources") or ([single] if single else [])),
        clone_source=entry.get("cloneSourceResource", ""),
        fails_on_missing=entry.get("failOnMissingResources", False),
        path=("results", index),
        flags=tuple(name for name in entry if name.startswith(_FLAG) and entry[name]),
    )


def _spec(spec: Mapping[str, Json]) -> ResourceSpec:
    api_version = "/".join(filter(None, (spec.get("group", ""), spec.get("version", ""))))
    kind, namespace, name = (spec.get(field, "") for field in ("kind", "namespace", "name"))
    return ResourceSpec(api_version, kind, namespace, name)


def _in_known_spelling(document: Document) -> tuple[Document, tuple[Diagnostic, ...]]:
    """Return the document with the fields of it and of its rows spelled as they are known."""
    known = cli_schemas()["Test"]
    data = document.data
    if data.__class__ is not dict:
        return document, ()
    told: list[Diagnostic] = []

    def respelled(fields: Json, names: Mapping[str, Json], path: Path) -> Json:
        if fields.__class__ is not dict or fields.keys() <= names.keys():
            return fields
        by_lower = {name.lower(): name for name in names}
        found = {}
        for key, value in fields.items():
            name = key if key in names else by_lower.get(key.lower(), key)
            if name != key:
                text = f"`{key}` is read as `{name}`"
                place = document.locate((*path, key))
                told.append(Diagnostic("KV042", Severity.WARNING, text, place))
            found[name] = value
        return found

    data = respelled(data, known.properties, ())
    rows = data.get("results")
    if rows.__class__ is list:
        names = known.properties["results"]["items"]["properties"]
        new = [respelled(row, names, ("results", index)) for index, row in enumerate(rows)]
        data = {**data, "results": new}
    return document._replace(data=data), tuple(told)
