"""Finds and strictly reads test manifests (`kyverno-test.yaml`), also in their old format."""

import json
import os
from collections.abc import Iterator, Mapping

from kyvsim.kubernetes.objects import Json, JsonMap, Path, text_field
from kyvsim.load.documents import STRICT_FLOATS, parse_documents, read_documents
from kyvsim.load.files import Source, explain_missing, read_sources
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

# Old formats of manifests. upstream: cmd/cli/kubectl-kyverno/fix/test.go, and rows until 1.11

API_VERSION = "cli.kyverno.io/v1alpha1"
_ROW = (("status", "result"), ("resource", "resources"), ("patchedResource", "patchedResources"))
"""Deprecated fields of a row, and their replacements."""


def old_fields(document: Document) -> tuple[Diagnostic, ...]:
    """KV040: deprecated fields; each fix converts the whole manifest."""
    data = document.data
    fields: list[tuple[Path, str]] = []
    if text_field(data, "name"):
        fields.append((("name",), "metadata.name"))
    for index, row in _rows(data):
        fields += [(("results", index, old), new) for old, new in _ROW if old in row]
        if "namespace" in row:
            fields.append((("results", index, "namespace"), "resources: [NAMESPACE/NAME]"))
    fix = current_format(document) if fields else None
    hint = "; `kyvsim test --fix` replaces it" if fix else ""
    texts = ((path, f"`{path[-1]}` is deprecated: use `{new}`{hint}") for path, new in fields)
    return tuple(
        Diagnostic("KV040", Severity.ERROR, text, document.locate(path), fix=fix)
        for path, text in texts
    )


def with_current_names(document: Document) -> Document:
    """Return a manifest with current field names in rows, to validate the rest."""
    data = document.data
    renamed: dict[int, Json] = {}
    for index, row in _rows(data):
        names = {old: new for old, new in _ROW if old in row and new not in row}
        if names or "namespace" in row:
            renamed[index] = {
                names.get(key, key): [value] if names.get(key) == "resources" else value
                for key, value in row.items()
                if key != "namespace"
            }
    if not renamed:
        return document
    rows = [renamed.get(index, row) for index, row in enumerate(data["results"])]
    return document._replace(data={**data, "results": rows})


def current_format(document: Document) -> Fix | None:
    """Return the fix for an old manifest; None if it is current or has no safe fix."""
    changes = (*_current_head(document), *_current_rows(document))
    return Fix("use the current format", changes) if changes else None


def _rows(data: object) -> Iterator[tuple[int, JsonMap]]:
    rows = data.get("results") if data.__class__ is dict else None
    for index, row in enumerate(rows if rows.__class__ is list else ()):
        if row.__class__ is dict:
            yield index, row


def _current_head(document: Document) -> Iterator[TextChange]:
    data = document.data
    kind = "" if text_field(data, "kind") else "kind: Test"
    version = "" if text_field(data, "apiVersion") else f"apiVersion: {API_VERSION}"
    if text_field(data, "apiVersion").partition("/")[0] == OLD_TEST_GROUP:
        yield change(document, ChangeKind.VALUE, ("apiVersion",), API_VERSION)
    name = text_field(data, "name")
    named = "metadata" in data
    head = [text for text in (version, kind) if text]
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


def _current_rows(document: Document) -> Iterator[TextChange]:
    for index, row in _rows(document.data):
        path: Path = ("results", index)
        for old, new in _ROW:
            if old in row and new not in row and new != "resources":
                yield change(document, ChangeKind.KEY, (*path, old), new)
        namespace = row.get("namespace")
        if namespace is not None:
            yield change(document, ChangeKind.REMOVE, (*path, "namespace"))
        field = "resources" if "resources" in row else "resource"
        names = row.get(field)
        if names is None or (field == "resources" and not namespace):
            continue
        lines = ["resources:"]
        for name in names if isinstance(names, list) else [names]:
            whole = f"{namespace}/{name}" if namespace and "/" not in str(name) else name
            plain = isinstance(whole, str) and not _is_malformed(whole.replace("/", "-"))
            lines.append(f"- {whole if plain else json.dumps(whole)}")
        yield change(document, ChangeKind.ENTRY, (*path, field), "\n".join(lines))


# Codes: KV041 a path without manifests, KV042 an entry without effect, KV048 a policy instead of a
# manifest, KV049 a folder without manifests.
# upstream: cmd/cli/kubectl-kyverno/test/load.go, apis/v1alpha1/test.go

_PAYLOADS = tuple((mode, f"{mode.value.lower()}Payloads") for mode in PayloadMode)


def find_manifests(
    path: str, file_name: str, walking: Walking = USUAL
) -> tuple[tuple[str, ...], tuple[Diagnostic, ...]]:
    """Return the manifests in and below a folder, also in hidden ones, and diagnostics."""
    if "://" in path:
        text = "kyvsim works offline: fetch the repository yourself and pass its folder"
        return (), (Diagnostic("KV041", Severity.ERROR, text, Location(path)),)
    if os.path.isfile(path):
        return (path,), ()
    walked = tuple(walk(path, walking, file_name))
    files = [os.path.normpath(file) for file in walked if isinstance(file, str)]
    files.sort(key=lambda file: file.split(os.sep))
    remarks = (file for file in walked if not isinstance(file, str))
    return tuple(files), tuple(
        remark._replace(code="KV041") if remark.code == "KV003" else remark for remark in remarks
    )


def hint_for_folder(folder: str, walking: Walking = USUAL) -> str:
    """Return `, but …` with the content of a folder without test manifests, or ""."""
    for source in read_sources((folder,), None, walking):
        for document in parse_documents(source) if isinstance(source, Source) else ():
            if not isinstance(document, Document):
                continue
            if is_test_manifest(document.data):
                name = os.path.basename(document.file)
                return f", but there is `{name}`: select it with --file-name {name}"
            if looks_like_policy(document.data):
                return ", but policies: `kyvsim lint` checks them, `kyvsim apply` runs them"
            if looks_like_object(document.data):
                return ", but resources: `kyvsim apply POLICY --resource PATH` evaluates them"
    return ""


def read_manifests(file: str) -> tuple[tuple[Manifest, ...], tuple[Diagnostic, ...]]:
    """Return the manifests in a file, and diagnostics."""
    documents, remarks = read_documents((file,), None, STRICT_FLOATS)
    manifests: list[Manifest] = []
    problems = list(remarks)
    for document in documents:
        manifest, errors = load_test_manifest(document)
        problems += errors
        if manifest:
            manifests.append(manifest)
    return tuple(manifests), tuple(problems)


def load_test_manifest(document: Document) -> tuple[Manifest | None, tuple[Diagnostic, ...]]:
    """Return the manifest of a document of kind Test, or None and errors.

    Field names are case-insensitive, as in Go; other spellings are reported.
    """
    if text_field(document.data, "kind") != "Test" and looks_like_policy(document.data):
        text = (
            "a policy is not a test manifest: `kyvsim lint` checks it, `kyvsim apply` runs it, "
            "`kyvsim test --create` writes a test for it"
        )
        return None, (Diagnostic("KV048", Severity.ERROR, text, document.locate(())),)
    spelled, respelled = _in_known_spelling(document)
    data, remarks = check_cli_document(with_current_names(spelled), "Test")
    if remarks and remarks[0].code == "KV031":
        fix = current_format(document)
        hint = "; `kyvsim test --fix` adds them" if fix else ""
        remarks = (remarks[0]._replace(message=f"{remarks[0].message}{hint}", fix=fix),)
    else:
        remarks = (*old_fields(document), *remarks)
    if remarks:
        return None, (*respelled, *remarks)

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
    problems = list(respelled)
    if (data["apiVersion"], data["kind"]) != (API_VERSION, "Test"):
        text = f"{data['kind']} ({data['apiVersion']}) is read as Test ({API_VERSION})"
        place, fix = spelled.locate(("apiVersion",)), current_format(spelled)
        problems.append(Diagnostic("KV042", Severity.WARNING, text, place, fix=fix))
    for index, entry in enumerate(data.get("results", ())):
        if entry.get("operation") and entry.get("isDeletingPolicy"):
            text = "`operation` has no meaning for a deleting policy"
            place = spelled.locate(("results", index, "operation"))
            problems.append(Diagnostic("KV042", Severity.ERROR, text, place))
    return manifest, tuple(problems)


def missing_files(manifest: Manifest) -> Iterator[Diagnostic]:
    """Yield KV001 for each path of a manifest that does not exist, if others exist."""
    document = manifest.document
    folder = os.path.dirname(document.file)
    paths = (*manifest.policies, *manifest.resources)
    if not any(os.path.exists(os.path.join(folder, path)) for path in paths):
        return  # the manifest is linted without its files
    for path, place in named_files(manifest):
        whole = os.path.join(folder, path)
        if not os.path.exists(whole) and "://" not in path and "*" not in path:
            yield Diagnostic("KV001", Severity.ERROR, f"`{path}`: {explain_missing(whole)}", place)


_LISTS = (
    *("policies", "resources", "targetResources", "paramResources", "exceptions"),
    "clusterResources",
)


def named_files(manifest: Manifest) -> Iterator[tuple[str, Location]]:
    """Yield the files that a manifest names as inputs, as written, with their positions."""
    document = manifest.document
    for field in _LISTS:
        for index, path in enumerate(document.data.get(field) or ()):
            yield path, document.locate((field, index))
    for field in ("variables", "userinfo", "context"):
        if document.data.get(field):
            yield document.data[field], document.locate((field,))


def _row(entry: JsonMap, index: int) -> ExpectedRow:
    single = entry.get("generatedResource", "")
    resources = entry.get("resources")
    return ExpectedRow(
        policy=entry["policy"],
        rule=entry.get("rule", ""),
        result=entry["result"],
        resources=None if resources is None else tuple(resources),
        specs=tuple(
            ResourceSpec(
                "/".join(filter(None, (spec.get("group", ""), spec.get("version", "")))),
                *(spec.get(field, "") for field in ("kind", "namespace", "name")),
            )
            for spec in entry.get("resourceSpecs", ())
        ),
        kind=entry.get("kind", ""),
        operation=entry.get("operation", ""),
        patched=entry.get("patchedResources", ""),
        generated=tuple(entry.get("generatedResources") or ([single] if single else [])),
        clone_source=entry.get("cloneSourceResource", ""),
        fails_on_missing=entry.get("failOnMissingResources", False),
        path=("results", index),
        flags=tuple(name for name in entry if name.startswith("is") and entry[name]),
    )


def _in_known_spelling(document: Document) -> tuple[Document, tuple[Diagnostic, ...]]:
    """Return the document with the known spelling of its fields."""
    known = cli_schemas()["Test"]
    data = document.data
    if data.__class__ is not dict:
        return document, ()
    diagnostics: list[Diagnostic] = []

    def respelled(fields: object, names: Mapping[str, object], path: Path) -> Json:
        if fields.__class__ is not dict or fields.keys() <= names.keys():
            return fields
        by_lower = {name.lower(): name for name in names}
        renamed = {}
        for key, value in fields.items():
            name = key if key in names else by_lower.get(key.lower(), key)
            if name != key:
                text = f"`{key}` is read as `{name}`"
                place = document.locate((*path, key))
                diagnostics.append(Diagnostic("KV042", Severity.WARNING, text, place))
            renamed[name] = value
        return renamed

    data = respelled(data, known.properties, ())
    rows = data.get("results")
    if rows.__class__ is list:
        names = known.properties["results"]["items"]["properties"]
        new = [respelled(row, names, ("results", index)) for index, row in enumerate(rows)]
        data = {**data, "results": new}
    return document._replace(data=data), tuple(diagnostics)
