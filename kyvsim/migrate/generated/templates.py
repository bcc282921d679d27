"""Objects that rules generate → templates and literals in CEL."""

from typing import NamedTuple

from kyvsim.kubernetes.objects import Json
from kyvsim.migrate.expressions import literal
from kyvsim.migrate.known_types import is_list, is_map
from kyvsim.migrate.patches.draft import struct
from kyvsim.migrate.queries import Scope, text_pieces, text_value
from kyvsim.migrate.refusal import NotConvertible
from kyvsim.migrate.values import Value

# Objects with variables → literals in CEL. Parts of maps and lists may differ in type there.


def object_text(data: Json, scope: Scope) -> str:
    """Return the expression of a value with variables, on several lines where it is long.

    Raises NotConvertible with the path from the value.
    """
    if isinstance(data, dict):
        return struct("", [_field(key, one, scope) for key, one in data.items()])
    if isinstance(data, list):
        texts = [_literals_below(index, one, scope) for index, one in enumerate(data)]
        return struct("", texts, opening="[").removesuffix("}") + "]"
    return text_value(data, scope).text if isinstance(data, str) else literal(data)


def _field(key: str, data: Json, scope: Scope) -> str:
    return f"{text_value(key, scope).text}: {_literals_below(key, data, scope)}"


def _literals_below(step: str | int, data: Json, scope: Scope) -> str:
    try:
        return object_text(data, scope)
    except NotConvertible as refusal:
        raise refusal.below(step) from None


# Objects with variables → templates: the same with expressions in `((` and `))`.


class Template(NamedTuple):
    """An object as a template has it, and the expressions in it."""

    data: Json
    expressions: tuple[str, ...]


def templated(data: Json, scope: Scope) -> Template:
    """Return an object with variables as a template.

    Raises NotConvertible with the path from the object.
    """
    expressions: list[str] = []
    return Template(_part(data, scope, expressions), tuple(expressions))


def _part(data: Json, scope: Scope, expressions: list[str]) -> Json:
    if isinstance(data, dict):
        if any("{{" in key or "((" in key for key in data):
            # Keys of templates are fixed: the map is made by an expression.
            return _placed(object_text(data, scope).replace("\n", " "), expressions)
        return {key: _templates_below(key, one, scope, expressions) for key, one in data.items()}
    if isinstance(data, list):
        return [_templates_below(index, one, scope, expressions) for index, one in enumerate(data)]
    return _text(data, scope, expressions) if isinstance(data, str) else data


def _templates_below(step: str | int, data: Json, scope: Scope, expressions: list[str]) -> Json:
    try:
        return _part(data, scope, expressions)
    except NotConvertible as refusal:
        raise refusal.below(step) from None


def _text(text: str, scope: Scope, expressions: list[str]) -> str:
    pieces = text_pieces(text, scope)
    alone = len(pieces) == 1
    return "".join(
        one.replace("((", "\\((")
        if isinstance(one, str)
        else _placed(one.text if alone else _shown(one), expressions)
        for one in pieces
    )


def _shown(value: Value) -> str:
    """Return an expression that stands within a text: scalars show themselves."""
    if is_list(value.types) or is_map(value.types):
        return f"json.marshal({value.or_else(value.empty)})"
    return value.text


def _placed(expression: str, expressions: list[str]) -> str:
    expressions.append(expression)
    return f"(( {expression} ))"
