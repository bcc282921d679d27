"""Baseline files: the failures that a run may have.

Codes: KV091 no baseline, or one of another version, KV092 a failure that a baseline has twice.
"""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from kyvsim.kubernetes.objects import ObjectKey, text_field
from kyvsim.load.recognise import what_it_is
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
    found: Mapping[str, SchemaNode] = load_schemas("baseline.json")
    return found[f"{VERSION}/{KIND}"]


def load_baseline(document: Document) -> tuple[Baseline | None, tuple[Diagnostic, ...]]:
    """Return what a baseline file says, or None and what is wrong with it."""
    other = _otherwise(document)
    if other:
        return None, (Diagnostic("KV091", Severity.ERROR, other, document.locate(())),)
    data, problems = check(baseline_schema(), document.data)
    if problems:
        # One mistake is often made in every entry, and none of them counts then.
        return None, diagnostics(document, problems[:1])
    entries: dict[KnownFailure, BaselineEntry] = {}
    for index, one in enumerate(data["failures"]):
        names = ("apiVersion", "kind", "namespace", "name")
        path, place = text_field(one, "path"), document.locate(("failures", index))
        failure = KnownFailure(
            policy=one["policy"],
            rule=text_field(one, "rule"),
            object=ObjectKey(*(text_field(one["resource"], name) for name in names)),
            result=one["result"],
            path=path,
            message="" if path else text_field(one, "message"),
        )
        if failure in entries:
            line = entries[failure].place.line
            text = f"duplicate of the entry in line {line}: use one entry with a `count`"
            return None, (Diagnostic("KV092", Severity.ERROR, text, place),)
        entries[failure] = BaselineEntry(int(one.get("count", 1)), place)
    return Baseline(document.file, MappingProxyType(entries)), ()


def _otherwise(document: Document) -> str:
    """Return what a document is that is no baseline of this version, "" for one that is."""
    data = document.data
    if text_field(data, "kind") != KIND:
        return f"expected a baseline, found {what_it_is(document)}"
    version = text_field(data, "apiVersion")
    if version == VERSION:
        return ""
    named = f"version `{version}`" if version else "no version"
    way_out = "`kyvsim apply --write-baseline FILE` rewrites it"
    return f"this baseline has {named}, but kyvsim reads `{VERSION}`: {way_out}"
