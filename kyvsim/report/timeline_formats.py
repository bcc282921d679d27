"""The formats of `simulate`, by the name that chooses them.

Each writes a simulation as a `TimelineLook` shows it.
"""

from collections.abc import Mapping
from types import MappingProxyType

from kyvsim.report.format import Format

FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        "text": Format("timeline_text", "text/plain", ".txt", "render", for_people=True),
        "json": Format("timeline_json", "application/json", ".json", "render"),
        "html": Format("timeline_html", "text/html", ".html", "render"),
        "mermaid": Format("timeline_mermaid", "text/plain", ".mmd", "render"),
    }
)
