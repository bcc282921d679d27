"""Texts with variables → values."""

import re
from typing import Final

from kyvsim.expr.variables import find_variables, plain_pieces, unescape
from kyvsim.migrate.expressions import SUM, quoted
from kyvsim.migrate.known_types import TEXT, is_bool, is_list, is_map, is_number, is_text
from kyvsim.migrate.queries.constants import constant
from kyvsim.migrate.queries.read import query_value
from kyvsim.migrate.queries.scope import Scope, no_twin
from kyvsim.migrate.values import Value

_LITERAL: Final = re.compile(r"'\{\{-?\s*([^{}']*?)\s*\}\}'")
"""A raw string of an expression that is one variable."""


def text_value(text: str, scope: Scope) -> Value:
    """Return the value of a text: fixed, one variable's, or pieces joined."""
    text = _unnested(text, scope)
    variables = find_variables(text)
    if not variables:
        return constant(unescape(text))
    if variables[0].text == text and "{{" not in variables[0].expression:
        return query_value(variables[0].expression, scope)
    parts = [
        quoted(one) if isinstance(one, str) else shown(one) for one in text_pieces(text, scope)
    ]
    return Value(" + ".join(parts), TEXT, SUM)


def _unnested(text: str, scope: Scope) -> str:
    """Return a text in which variables that are a literal of an expression stand for themselves.

    Only those of which it is known that they are texts do.
    """

    def bare(found: re.Match[str]) -> str:
        if not is_text(query_value(found[1], scope).types):
            return found[0]
        return f"({found[1]})"

    return _LITERAL.sub(bare, text) if text.count("{{") > 1 else text


def text_pieces(text: str, scope: Scope) -> list[str | Value]:
    """Return what a text is made of: fixed pieces that are not empty, and values of variables."""
    variables = find_variables(text)
    pieces = plain_pieces(text, variables) if variables else [text]
    if any(map(_is_open, [*pieces, *(one.expression for one in variables)])):
        raise no_twin("a variable inside of a variable", "give the inner one a context entry")
    found: list[str | Value] = []
    for number, piece in enumerate(pieces):
        if number:
            found.append(query_value(variables[number - 1].expression, scope))
        if piece:
            found.append(unescape(piece))
    return found


def _is_open(text: str) -> bool:
    """Return whether a variable begins in what is left of a text, or within a variable."""
    return "{{" in text.replace("\\{{", "")


def shown(value: Value) -> str:
    """Return the expression of a value as it stands within a text."""
    if is_text(value.types):
        return value.tight(SUM)
    if is_list(value.types) or is_map(value.types):
        return f"json.marshal({value.or_else(value.empty)})"
    if is_number(value.types) or is_bool(value.types):
        return f"string({value.text})"
    return f"(type({value.text}) == string ? {value.text} : json.marshal({value.text}))"
