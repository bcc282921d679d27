"""The formats of `chainsaw`, by the name that chooses them."""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from kyvsim.model.chainsaw import ChainsawReport
from kyvsim.report import chainsaw_json, chainsaw_junit, chainsaw_text
from kyvsim.report.suite_run import Sight

FORMATS: Mapping[str, Callable[[ChainsawReport, Sight], Iterator[str]]] = MappingProxyType(
    {
        "text": chainsaw_text.render,
        "json": chainsaw_json.render,
        "junit": chainsaw_junit.render,
    }
)
