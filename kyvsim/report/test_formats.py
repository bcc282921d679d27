"""The formats of `test`, by the name that chooses them."""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from kyvsim.model.test_suite import SuiteOutcome
from kyvsim.report import (
    test_github,
    test_json,
    test_junit,
    test_markdown,
    test_table,
    test_tap,
    test_text,
    test_yaml,
)
from kyvsim.report.test_run import Sight

FORMATS: Mapping[str, Callable[[SuiteOutcome, Sight], Iterator[str]]] = MappingProxyType(
    {
        "text": test_text.render,
        "table": test_table.render,
        "json": test_json.render,
        "yaml": test_yaml.render,
        "markdown": test_markdown.render,
        "junit": test_junit.render,
        "tap": test_tap.render,
        "github": test_github.render,
    }
)
