"""Values as Go prints them, among them some that no document holds.

What expressions put into a patch is a document's value only where it is one of JSON's: a null, a
duration or a list inside a list that was written in an expression is something else, which every
type refuses with its text.
"""

from typing import NamedTuple

from kyvsim.kubernetes.go_text import quote, sprint
from kyvsim.kubernetes.objects import Json


class Foreign(NamedTuple):
    """A value of a type that documents have not."""

    go_type: str
    shown: str
    """As `%v` prints it."""
    literal: str
    """As `%#v` prints it."""

    def __str__(self) -> str:
        """Return it as `%v` prints it."""
        return self.shown


def go_type(value: Json) -> str:
    """Return the name of a value's type, as `%T` prints it."""
    if isinstance(value, Foreign):
        return value.go_type
    names = {dict: "map[string]interface {}", list: "[]interface {}", float: "float64"}
    names |= {str: "string", bool: "bool", int: "int64", type(None): "<nil>"}
    return names[value.__class__]


def literal(value: Json) -> str:
    """Return a value as `%#v` prints it."""
    if isinstance(value, Foreign):
        return value.literal
    if value.__class__ is str:
        return quote(value)
    if value.__class__ is dict:
        inner = ", ".join(f"{quote(key)}:{literal(value[key])}" for key in sorted(value))
        return f"map[string]interface {{}}{{{inner}}}"
    if value.__class__ is list:
        return f"[]interface {{}}{{{', '.join(map(literal, value))}}}"
    return "interface {}(nil)" if value is None else sprint(value)
