"""Findings as SARIF 2.1.0, the format of code scanning services."""

import json
from collections.abc import Iterator

from kyvsim import __version__
from kyvsim.kubernetes.objects import Json
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.source import Location
from kyvsim.report.finding import Findings
from kyvsim.report.sarif_log import LEVELS, SCHEMA, physical_location
from kyvsim.report.style import Look


def render(findings: Findings, _look: Look) -> Iterator[str]:
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
        "results": [
            _result(entry, codes.index(entry.code), _end(findings, entry))
            for entry in findings.diagnostics
        ],
    }
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    yield json.dumps(log, indent=2) + "\n"


def _end(findings: Findings, entry: Diagnostic) -> Location | None:
    """Return where what a finding is about ends; None where its line is not known."""
    line, column = findings.end_of(entry)
    place = entry.location
    return place._replace(line=line, column=column) if place and column > place.column else None


def _result(entry: Diagnostic, index: int, end: Location | None) -> Json:
    result = {
        "ruleId": entry.code,
        "ruleIndex": index,
        "level": LEVELS[entry.severity],
        "message": {"text": entry.message},
    }
    if entry.location:
        result["locations"] = [{"physicalLocation": physical_location(entry.location, end)}]
    return result
