"""The formats of `migrate`, by the name that chooses them; each writes what became of policies."""

from collections.abc import Mapping
from types import MappingProxyType

from kyvsim.report.format import Format

FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        "text": Format("migrate_text", "text/plain", ".txt", "render", for_people=True),
        "html": Format("migrate_html", "text/html", ".html", "render"),
        "json": Format("migrate_json", "application/json", ".json", "render"),
    }
)
