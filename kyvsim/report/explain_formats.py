"""The formats of `kyvsim explain`, by the name that chooses them; each writes objects on a page."""

from collections.abc import Mapping
from types import MappingProxyType

from kyvsim.report.format import Format

FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        "text": Format("explain_text", "text/plain", ".txt", "render", for_people=True),
        "json": Format("explain_json", "application/json", ".json", "render"),
        "html": Format("explain_html", "text/html", ".html", "render"),
    }
)
