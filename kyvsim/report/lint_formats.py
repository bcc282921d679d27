"""The formats of `lint`, by the name that chooses them; each writes findings."""

from collections.abc import Mapping
from types import MappingProxyType

from kyvsim.report.format import ANNOTATIONS, Format

FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        "text": Format("lint_text", "text/plain", ".txt", "render", for_people=True),
        "json": Format("lint_json", "application/json", ".json", "render"),
        "github": Format("lint_github", ANNOTATIONS, ".txt", "render"),
        "gitlab": Format("lint_gitlab", "application/json", ".json", "render"),
        "sarif": Format("lint_sarif", "application/sarif+json", ".sarif", "render", whole=True),
    }
)
