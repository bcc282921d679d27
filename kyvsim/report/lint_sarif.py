"""Findings as SARIF 2.1.0, the format of code scanning services."""

import json
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from kyvsim import __version__
from kyvsim.kube.objects import Json
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.source import Location
from kyvsim.report.findings import Findings

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS: Mapping[Severity, str] = MappingProxyType(
    {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
)


def render(findings: Findings) -> Iterator[str]:
    """Yield one log with one run; its rules are the codes that occur, in order."""
    codes = sorted({entry.code for entry in findings.diagnostics})
    run = {
        "tool": {
            "driver": {
                "name": "kyvsim",
                "version": __version__,
                "rules": [{"id": code} for code in codes],
            }
        },
        "columnKind": "unicodeCodePoints",
        "results": [_result(entry, codes.index(entry.code)) for entry in findings.diagnostics],
    }
    log = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    yield json.dumps(log, indent=2) + "\n"


def _result(entry: Diagnostic, index: int) -> Json:
    result = {
        "ruleId": entry.code,
        "ruleIndex": index,
        "level": _LEVELS[entry.severity],
        "message": {"text": entry.message},
    }
    if entry.location:
        result["locations"] = [{"physicalLocation": _place(entry.location)}]
    return result


def _place(location: Location) -> Json:
    place: dict[str, Json] = {"artifactLocation": {"uri": _uri(location.file)}}
    if location.line:
        region = {"startLine": location.line}
        if location.column:
            region["startColumn"] = location.column
        place["region"] = region
    return place


def _uri(file: str) -> str:
    """Return a path as a reference; one from the root is a whole `file:` address."""
    from urllib.parse import quote  # noqa: PLC0415 — slow to import, for this format only

    path = quote(file.replace("\\", "/").removeprefix("./"), errors="surrogateescape")
    return f"file://{path}" if path.startswith("/") else path
