"""Baseline files: the known failures of a run.

Codes: KV091 no baseline, or one of another version, KV092 a failure that a baseline has twice.
"""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from kyvsim.kubernetes.objects import ObjectKey, text_field
from kyvsim.load.recognise import description_of
from kyvsim.load.structure import check, diagnostics, load_schemas
from kyvsim.model.baseline import Baseline, BaselineEntry, KnownFailure
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.source import Document
from kyvsim.schema.node import SchemaNode

VERSION = "kyvsim/v1"
KIND = "Baseline"


@cache
def baseline_schema() -> SchemaNode:
    """Return the schema of baseline files; read on first use."""
    schemas: Mapping[str, SchemaNode] = load_schemas("baseline.json")
    return schemas[f"{VERSION}/{KIND}"]


def load_baseline(document: Document) -> tuple[Baseline | None, tuple[Diagnostic, ...]]:
    """Return the baseline of a file, or None and an error."""
    other = _version_error(document)
    if other:
        return None, (Diagnostic("KV091", Severity.ERROR, other, document.locate(())),)
    data, problems = check(baseline_schema(), document.data)
    if problems:
        # One mistake is often made in every entry, and none of them counts then.
        return None, diagnostics(document, problems[:1])
    entries: dict[KnownFailure, BaselineEntry] = {}
    for index, entry in enumerate(data["failures"]):
        names = ("apiVersion", "kind", "namespace", "name")
        path, place = text_field(entry, "path"), document.locate(("failures", index))
        failure = KnownFailure(
            policy=entry["policy"],
            rule=text_field(entry, "rule"),
            object=ObjectKey(*(text_field(entry["resource"], name) for name in names)),
            result=entry["result"],
            path=path,
            message="" if path else text_field(entry, "message"),
        )
        if failure in entries:
            line = entries[failure].place.line
            text = f"duplicate of the entry in line {line}: use one entry with a `count`"
            return None, (Diagnostic("KV092", Severity.ERROR, text, place),)
        entries[failure] = BaselineEntry(int(entry.get("count", 1)), place)
    return Baseline(document.file, MappingProxyType(entries)), ()


def _version_error(document: Document) -> str:
    """Return why a document is not a baseline of this version, "" if it is."""
    data = document.data
    if text_field(data, "kind") != KIND:
        return f"expected a baseline, found {description_of(document)}"
    version = text_field(data, "apiVersion")
    if version == VERSION:
        return ""
    named = f"version `{version}`" if version else "no version"
    advice = "`kyvsim apply --write-baseline FILE` rewrites it"
    return f"this baseline has {named}, but kyvsim reads `{VERSION}`: {advice}"
