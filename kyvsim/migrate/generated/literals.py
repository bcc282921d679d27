"""Objects with variables → literals in CEL. Parts of maps and lists may differ in type there."""

from kyvsim.kube.objects import Json
from kyvsim.migrate.expressions import literal
from kyvsim.migrate.patches.draft import struct
from kyvsim.migrate.queries import Scope, text_value
from kyvsim.migrate.refusal import NotConvertible


def object_text(data: Json, scope: Scope) -> str:
    """Return the expression of a value with variables, on several lines where it is long.

    Raises NotConvertible with the path from the value.
    """
    if isinstance(data, dict):
        return struct("", [_field(key, one, scope) for key, one in data.items()])
    if isinstance(data, list):
        texts = [_below(index, one, scope) for index, one in enumerate(data)]
        return struct("", texts, opening="[").removesuffix("}") + "]"
    return text_value(data, scope).text if isinstance(data, str) else literal(data)


def _field(key: str, data: Json, scope: Scope) -> str:
    return f"{text_value(key, scope).text}: {_below(key, data, scope)}"


def _below(step: str | int, data: Json, scope: Scope) -> str:
    try:
        return object_text(data, scope)
    except NotConvertible as refusal:
        raise refusal.below(step) from None
