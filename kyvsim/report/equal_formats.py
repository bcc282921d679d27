"""The formats of `equal`, by the name that chooses them; each writes what was found."""

from collections.abc import Mapping
from types import MappingProxyType

from kyvsim.report.format import Format

FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        "text": Format("equal_text", "text/plain", ".txt", "render", for_people=True),
        "html": Format("equal_html", "text/html", ".html", "render"),
        "json": Format("equal_json", "application/json", ".json", "render"),
    }
)
