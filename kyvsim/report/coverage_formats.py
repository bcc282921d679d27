"""The formats of `test --coverage`, by the name that chooses them; each writes a coverage."""

from collections.abc import Mapping
from types import MappingProxyType

from kyvsim.report.format import Format

COVERAGE_FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        "text": Format("coverage_text", "text/plain", ".txt", "render", for_people=True),
        "json": Format("coverage_json", "application/json", ".json", "render"),
        "lcov": Format("coverage_lcov", "text/plain", ".info", "render"),
    }
)
