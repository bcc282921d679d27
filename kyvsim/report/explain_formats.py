"""The formats of `kyvsim explain`; another one is one more line in FORMATS."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import TypeAlias

from kyvsim.model.explanation import ObjectExplanation
from kyvsim.report import explain_html, explain_json, explain_text
from kyvsim.report.explain_words import Page

Format: TypeAlias = Callable[[Iterable[ObjectExplanation], Page], Iterator[str]]
"""Writes explanations on a page, a piece at a time."""

FORMATS: Mapping[str, Format] = MappingProxyType(
    {"text": explain_text.render, "json": explain_json.render, "html": explain_html.render}
)
