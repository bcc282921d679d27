"""Texts with variables → values."""

from kyvsim.expr.variables import find_variables, plain_pieces, unescape
from kyvsim.migrate.expressions import SUM, quoted
from kyvsim.migrate.known_types import TEXT, is_bool, is_list, is_map, is_number, is_text
from kyvsim.migrate.queries.constants import constant
from kyvsim.migrate.queries.read import query_value
from kyvsim.migrate.queries.scope import Scope, no_twin
from kyvsim.migrate.values import Value


def text_value(text: str, scope: Scope) -> Value:
    """Return the value of a text: fixed, one variable's, or pieces joined."""
    variables = find_variables(text)
    if not variables:
        return constant(unescape(text))
    if any("{{" in one.expression for one in variables):
        raise no_twin("a variable inside of a variable", "give the inner one a context entry")
    if variables[0].text == text:
        return query_value(variables[0].expression, scope)
    pieces = plain_pieces(text, variables)
    if any("{{" in one for one in pieces):
        raise no_twin("a variable inside of a variable", "give the inner one a context entry")
    values = [query_value(one.expression, scope) for one in variables]
    first, *rest = pieces
    parts = [quoted(unescape(first))] if first else []
    for value, piece in zip(values, rest, strict=True):
        parts.append(shown(value))
        if piece:
            parts.append(quoted(unescape(piece)))
    return Value(" + ".join(parts), TEXT, SUM)


def shown(value: Value) -> str:
    """Return the expression of a value as it stands within a text."""
    if is_text(value.types):
        return value.tight(SUM)
    if is_list(value.types) or is_map(value.types):
        return f"json.marshal({value.or_else(value.empty)})"
    if is_number(value.types) or is_bool(value.types):
        return f"string({value.text})"
    return f"(type({value.text}) == string ? {value.text} : json.marshal({value.text}))"
