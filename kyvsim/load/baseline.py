"""Baseline files: the failures that a run may have.

Codes: KV091 no baseline, or one of another version, KV092 a failure that a baseline has twice.
"""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from kyvsim.kubernetes.objects import Json, ObjectKey, text_field
from kyvsim.load.recognise import what_it_is
from kyvsim.load.structure import check, diagnostics, load_schemas
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.result import Baseline, BaselineEntry, KnownFailure
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
        failure, place = _failure(one), document.locate(("failures", index))
        if failure in entries:
            line = entries[failure].place.line
            text = f"this failure stands in line {line} already: one entry has a `count`"
            return None, (Diagnostic("KV092", Severity.ERROR, text, place),)
        entries[failure] = BaselineEntry(int(one.get("count", 1)), place)
    return Baseline(document.file, MappingProxyType(entries)), ()


def _otherwise(document: Document) -> str:
    """Return what a document is that is no baseline of this version, "" for one that is."""
    data = document.data
    if text_field(data, "kind") != KIND:
        return f"a baseline is wanted here, and this is {what_it_is(document)}"
    version = text_field(data, "apiVersion")
    if version == VERSION:
        return ""
    named = f"version `{version}`" if version else "no version"
    way_out = "`kyvsim apply --write-baseline FILE` writes it anew"
    return f"this baseline is of {named}, and kyvsim reads `{VERSION}`: {way_out}"


def _failure(entry: Json) -> KnownFailure:
    key = ObjectKey(
        *(
            text_field(entry["resource"], name)
            for name in ("apiVersion", "kind", "namespace", "name")
        )
    )
    path = text_field(entry, "path")
    return KnownFailure(
        policy=entry["policy"],
        rule=text_field(entry, "rule"),
        object=key,
        result=entry["result"],
        path=path,
        message="" if path else text_field(entry, "message"),
    )
