"""The formats of `test`, by the name that chooses them.

Each writes an outcome of tests as a `Sight` shows it.
"""

from collections.abc import Mapping
from types import MappingProxyType

from kyvsim.report.format import ANNOTATIONS, Format

FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        "text": Format("suite_text", "text/plain", ".txt", "render", for_people=True),
        "table": Format("suite_table", "text/plain", ".txt", "render", for_people=True, whole=True),
        "json": Format("suite_json", "application/json", ".json", "render"),
        "yaml": Format("suite_yaml", "application/yaml", ".yaml", "render"),
        "markdown": Format("suite_markdown", "text/markdown", ".md", "render"),
        "junit": Format("suite_junit", "application/xml", ".xml", "render"),
        "tap": Format("suite_tap", "text/x-tap", ".tap", "render"),
        "github": Format("suite_github", ANNOTATIONS, ".txt", "render"),
        "html": Format("suite_html", "text/html", ".html", "render"),
    }
)
