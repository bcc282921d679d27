"""Texts with variables → values."""

from kyvsim.jmespath.variables import find_variables, plain_pieces, unescape
from kyvsim.migrate.expressions import SUM, quoted
from kyvsim.migrate.known_types import TEXT
from kyvsim.migrate.queries.constants import constant
from kyvsim.migrate.queries.nested import with_marks
from kyvsim.migrate.queries.read import query_value
from kyvsim.migrate.queries.scope import Scope, no_twin
from kyvsim.migrate.queries.shown import shown
from kyvsim.migrate.values import Value


def text_value(text: str, scope: Scope) -> Value:
    """Return the value of a text: fixed, one variable's, or pieces joined."""
    text, scope = with_marks(text, scope)
    variables = find_variables(text)
    if not variables:
        return constant(unescape(text))
    if variables[0].text == text and "{{" not in variables[0].expression:
        return query_value(variables[0].expression, scope)
    parts = [
        quoted(one) if isinstance(one, str) else shown(one) for one in text_pieces(text, scope)
    ]
    return Value(" + ".join(parts), TEXT, SUM)


def text_pieces(text: str, scope: Scope) -> list[str | Value]:
    """Return what a text is made of: fixed pieces that are not empty, and values of variables."""
    text, scope = with_marks(text, scope)
    variables = find_variables(text)
    pieces = plain_pieces(text, variables) if variables else [text]
    if any(map(_is_open, [*pieces, *(one.expression for one in variables)])):
        raise no_twin("a variable that does not end")
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
