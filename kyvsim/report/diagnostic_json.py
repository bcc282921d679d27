"""A remark about an input file as JSON data."""

from kyvsim.kube.objects import Json
from kyvsim.model.diagnostic import Diagnostic, Fix


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
        **({"fix": _fix(entry.fix)} if entry.fix and entry.fix.edits else {}),
    }


def _fix(fix: Fix) -> Json:
    edits = [
        {
            "line": one.line,
            "column": one.column,
            "endLine": one.end_line,
            "endColumn": one.end_column,
            "text": one.text,
        }
        for one in fix.edits
    ]
    return {"title": fix.title, "edits": edits}
