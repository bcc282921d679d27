"""Values as they stand within a text."""

from kyvsim.migrate.expressions import SUM, one_line
from kyvsim.migrate.known_types import is_bool, is_list, is_map, is_number, is_text
from kyvsim.migrate.values import Value


def shown(value: Value) -> str:
    """Return the expression of a value as it stands within a text; null is the text `null`."""
    if value.nullable and value.may_miss and not (is_list(value.types) or is_map(value.types)):
        if is_text(value.types):
            return value.or_else("null")
        there = one_line(value.is_there())
        return f"({there} ? {shown(value.given())} : 'null')"
    if is_text(value.types):
        return value.tight(SUM)
    if is_list(value.types) or is_map(value.types):
        return f"json.marshal({value.or_else(value.empty)})"
    if is_number(value.types) or is_bool(value.types):
        return f"string({value.text})"
    return f"(type({value.text}) == string ? {value.text} : json.marshal({value.text}))"
