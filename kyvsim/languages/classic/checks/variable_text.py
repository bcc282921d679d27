"""Finding `{{ }}` variables and JMESPath expressions in texts.

upstream: pkg/engine/variables/regex
"""

import re
from collections.abc import Iterator

from kyvsim.expr.query import impossible_calls
from kyvsim.expr.variables import VARIABLE
from kyvsim.kube.objects import Json
from kyvsim.languages.classic.rule_walk import is_query, texts
from kyvsim.model.source import Path

PLAIN_VARIABLE = re.compile(r"\{\{[^{}]*\}\}")
"""A variable without braces inside, escaped or not."""


def expression_of(variable: str) -> str:
    """Return the expression in a variable, without braces and without the sign `-`."""
    text = variable.replace("{{", "").replace("}}", "").strip()
    return text[1:].strip() if text.startswith("-") else text


def mask_variables(text: str, replacement: str) -> str:
    """Return `text` with every variable replaced."""
    return VARIABLE.sub(lambda found: found[1] + replacement, text) if "{{" in text else text


def impossible_calls_in(data: Json) -> Iterator[tuple[str, Path]]:
    """Yield what is wrong with calls in a part of a document, and where their texts are."""
    for path, expression in _expressions(data):
        for problem in impossible_calls(expression):
            yield problem, path


def _expressions(rule: Json) -> Iterator[tuple[Path, str]]:
    """Yield the fixed expressions of a rule that hold a call, with their paths."""
    for path, text in texts(rule):
        if "(" not in text or "cel" in path:
            continue
        if "{{" in text:
            for _, variable in VARIABLE.findall(text):
                yield path, expression_of(variable)
        elif is_query(path):
            yield path, text
