"""The formats of `chainsaw`, by the name that chooses them.

Each writes a report of tests as a `Sight` shows it.
"""

from collections.abc import Mapping
from types import MappingProxyType

from kyvsim.report.format import Format

FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        "text": Format("chainsaw_text", "text/plain", ".txt", "render", for_people=True),
        "json": Format("chainsaw_json", "application/json", ".json", "render"),
        "junit": Format("chainsaw_junit", "application/xml", ".xml", "render"),
    }
)
