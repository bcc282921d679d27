"""The formats of `test`, by the name that chooses them."""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from kyvsim.model.suite import SuiteOutcome
from kyvsim.report import (
    suite_github,
    suite_json,
    suite_junit,
    suite_markdown,
    suite_table,
    suite_tap,
    suite_text,
    suite_yaml,
)
from kyvsim.report.suite_run import Sight

FORMATS: Mapping[str, Callable[[SuiteOutcome, Sight], Iterator[str]]] = MappingProxyType(
    {
        "text": suite_text.render,
        "table": suite_table.render,
        "json": suite_json.render,
        "yaml": suite_yaml.render,
        "markdown": suite_markdown.render,
        "junit": suite_junit.render,
        "tap": suite_tap.render,
        "github": suite_github.render,
    }
)
