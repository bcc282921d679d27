"""Scalars that are expressions, filled in: keys stay as they are."""

from types import MappingProxyType

from kyvsim.chainsaw.expressions import Ask, Bindings, ask_expression, parse_expression
from kyvsim.kube.objects import Json

_LARGEST_WHOLE = 2**63
_EMPTY: Json = MappingProxyType({})


def fill(value: Json, bindings: Bindings, ask: Ask, *, data: Json = _EMPTY) -> Json:
    """Return a value with every text that is an expression replaced by what it finds in `data`.

    Without data there is an empty map, so that lists and maps can be made of bindings.
    """
    kind = value.__class__
    if kind is dict:
        return {key: fill(member, bindings, ask, data=data) for key, member in value.items()}
    if kind is list:
        return [fill(member, bindings, ask, data=data) for member in value]
    if kind is not str or not value.startswith("(") or not value.endswith(")"):
        return value
    expression = parse_expression(value)
    if not expression.engine or expression.foreach or expression.binding:
        return value
    return unfloated(ask_expression(expression, data, bindings, ask))


def unfloated(value: Json) -> Json:
    """Return what an expression found with whole numbers as such again."""
    kind = value.__class__
    if kind is dict:
        return {key: unfloated(member) for key, member in value.items()}
    if kind is list:
        return [unfloated(member) for member in value]
    if kind is float and value.is_integer() and abs(value) < _LARGEST_WHOLE:
        return int(value)
    return value
