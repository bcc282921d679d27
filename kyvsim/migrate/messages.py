"""Messages of rules, with their variables."""

import re
from typing import Final, NamedTuple

from kyvsim.migrate.queries import Scope, text_value
from kyvsim.migrate.refusal import NotConvertible
from kyvsim.model.migration import Condition

_SHORTENED: Final = Condition(
    "message", "a part of the message cannot be filled in: the name of it stands there"
)
_VARIABLE: Final = re.compile(r"\{\{-?\s*((?:\{[^{}]*\}|[^{}])*?)\s*\}\}")


class Message(NamedTuple):
    """What a validation says: a text, or an expression that makes it."""

    text: str = ""
    expression: str = ""


def message_of(text: str, scope: Scope) -> Message:
    """Return a message; what is not known outside of a loop is named instead."""
    if "{{" not in text:
        return Message(text)
    try:
        value = text_value(text, scope)
    except NotConvertible:
        scope.desk.note(_SHORTENED)
        return Message(_VARIABLE.sub(r"<\1>", text))
    if value.constant:
        return Message(str(value.constant[0]))
    return Message(expression=value.text)
