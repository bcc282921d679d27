"""Issues of a code quality report of GitLab: one of anything, and those of diagnostics.

Source: https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

from kyvsim.kubernetes.objects import Json
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.source import Location
from kyvsim.report.style import safe_text

_WEIGHTS: Mapping[Severity, str] = MappingProxyType(
    {Severity.ERROR: "major", Severity.WARNING: "minor", Severity.INFO: "info"}
)
SEVERITIES: Final = ("info", "minor", "major", "critical", "blocker")
"""What the format knows, from light to heavy."""


def weight_word(weight: Severity) -> str:
    """Return the word of the format for a weight."""
    return _WEIGHTS[weight]


def issue(told: tuple[str, str], weight: str, place: Location, fingerprint: str) -> Json:
    """Return an issue of which the check and a text are told.

    Without a known line it stands at the first.
    """
    check, text = told
    place = place.in_repository()
    return {
        "description": safe_text(text),
        "check_name": safe_text(check),
        "fingerprint": fingerprint,
        "severity": weight,
        "location": {
            "path": place.file.replace("\\", "/").removeprefix("./"),
            "lines": {"begin": max(place.line, 1)},
        },
    }


def diagnostic_issues(diagnostics: Iterable[Diagnostic]) -> Iterator[Json]:
    """Yield an issue for each remark.

    Its fingerprint is made of code, file and message, so that it stays when lines move; those that
    agree in all are counted.
    """
    seen: Counter[str] = Counter()
    for entry in diagnostics:
        place = entry.location or Location("")
        key = json.dumps([entry.code, place.file, entry.message])
        seen[key] += 1
        parts = f"{key} {seen[key]}"
        fingerprint = hashlib.sha256(parts.encode("utf-8", "surrogateescape")).hexdigest()[:32]
        told = (entry.code, entry.message)
        yield issue(told, weight_word(entry.severity), place, fingerprint)
