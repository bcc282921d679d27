"""The formats of `test --coverage`, by the name that chooses them."""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from kyvsim.model.coverage import Coverage
from kyvsim.report import coverage_json, coverage_lcov, coverage_text

COVERAGE_FORMATS: Mapping[str, Callable[[Coverage], Iterator[str]]] = MappingProxyType(
    {
        "text": coverage_text.render,
        "json": coverage_json.render,
        "lcov": coverage_lcov.render,
    }
)
