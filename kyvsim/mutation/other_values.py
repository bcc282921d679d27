"""The value that takes another one's place."""

import re

from kyvsim.kubernetes.objects import Json

_NUMBER = re.compile(r"(\d+)(?!.*\d)")
"""The last number in a text."""
_STANDS_FOR = ("{{", "$(")
"""With what texts begin that hold other values when a rule runs."""


def other_value(value: Json) -> Json:
    """Return another value of the same type; None where there is none, or the text holds others."""
    if value.__class__ is bool:
        return not value
    if value.__class__ in {int, float}:
        return value + 1
    if value.__class__ is not str or any(one in value for one in _STANDS_FOR):
        return None
    return other_text(value)


def other_text(text: str) -> str:
    """Return another text: with the last number one more, with a letter more, or a first one."""
    if _NUMBER.search(text):
        return _NUMBER.sub(lambda found: str(int(found[1]) + 1), text)
    return f"{text}x" if text else "x"
