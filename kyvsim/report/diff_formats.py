"""The formats of `diff`, by the name that chooses them; each writes a comparison."""

from collections.abc import Mapping
from types import MappingProxyType

from kyvsim.report.format import Format

FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        "text": Format("diff_text", "text/plain", ".txt", "render", for_people=True),
        "json": Format("diff_json", "application/json", ".json", "render"),
        "markdown": Format("diff_markdown", "text/markdown", ".md", "render"),
    }
)
