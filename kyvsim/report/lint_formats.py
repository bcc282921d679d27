"""The formats of `lint`, by the name that chooses them."""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from kyvsim.report import lint_github, lint_json, lint_sarif, lint_text
from kyvsim.report.findings import Findings

FORMATS: Mapping[str, Callable[[Findings], Iterator[str]]] = MappingProxyType(
    {
        "text": lint_text.render,
        "json": lint_json.render,
        "github": lint_github.render,
        "sarif": lint_sarif.render,
    }
)
