"""A remark about an input file as JSON data."""

from kyvsim.kube.objects import Json
from kyvsim.model.diagnostic import Diagnostic


def diagnostic_json(entry: Diagnostic) -> Json:
    """Return a remark as a mapping; line and column are 0 where they are unknown."""
    place = entry.location
    return {
        "code": entry.code,
        "severity": entry.severity.value,
        "message": entry.message,
        "file": place.file if place else "",
        "line": place.line if place else 0,
        "column": place.column if place else 0,
        **({"excerpt": list(entry.excerpt)} if entry.excerpt else {}),
    }
