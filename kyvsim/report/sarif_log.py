"""Parts of a log in SARIF 2.1.0, the format of code scanning services.

Source: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

from collections.abc import Mapping
from types import MappingProxyType
from urllib.parse import quote

from kyvsim.kubernetes.objects import Json
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.source import Location

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
LEVELS: Mapping[Severity, str] = MappingProxyType(
    {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
)


def physical_location(place: Location, end: Location | None = None) -> dict[str, Json]:
    """Return a place as a `physicalLocation`; its region is left out where the line is unknown.

    With `end` the region ends there, exclusive: SARIF counts the end column so.
    """
    place = place.in_repository()
    found: dict[str, Json] = {"artifactLocation": {"uri": _uri(place.file)}}
    if place.line:
        region = {"startLine": place.line}
        if place.column:
            region["startColumn"] = place.column
        if end and place.column:
            region |= {"endLine": end.line, "endColumn": end.column}
        found["region"] = region
    return found


def notification(entry: Diagnostic) -> dict[str, Json]:
    """Return a remark about an input as a `notification`."""
    found: dict[str, Json] = {
        "descriptor": {"id": entry.code},
        "level": LEVELS[entry.severity],
        "message": {"text": entry.message},
    }
    if entry.location:
        found["locations"] = [{"physicalLocation": physical_location(entry.location)}]
    return found


def _uri(file: str) -> str:
    """Return a path as a reference; one from the root is a whole `file:` address."""
    path = quote(file.replace("\\", "/").removeprefix("./"), errors="surrogateescape")
    return f"file://{path}" if path.startswith("/") else path
