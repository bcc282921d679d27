"""Where JSON patches point: what stands there, and the pointer to it as an expression."""

import re
from typing import Final, NamedTuple, TypeAlias

from kyvsim.migrate.expressions import SUM, quoted
from kyvsim.migrate.known_types import NUMBER, TEXT, element_of, is_number, is_text, values_of
from kyvsim.migrate.values import Value

Step: TypeAlias = "str | Value"
"""A key, a place in a list, or an expression that gives one of them."""

_ESCAPES: Final = str.maketrans({"~": "~0", "/": "~1"})
_INDEX: Final = re.compile(r"0|[1-9][0-9]*")
LAST: Final = "-1"
"""The last element of a list that is there."""
END: Final = "-"
"""Behind the last element of a list."""


class Place(NamedTuple):
    """A place in the object that is patched."""

    value: Value
    """What stands there."""
    way: tuple[Step, ...] = ()

    @property
    def is_fixed(self) -> bool:
        """Whether it is the same place for every element of a loop."""
        return all(isinstance(step, str) for step in self.way)

    @property
    def path(self) -> str:
        """The expression that gives the JSON pointer."""
        pieces: list[str] = []
        fixed = ""
        for step in self.way:
            fixed += "/"
            if isinstance(step, str):
                fixed += step.translate(_ESCAPES)
                continue
            pieces += [quoted(fixed), _shown(step)]
            fixed = ""
        return " + ".join([*pieces, quoted(fixed)] if fixed or not pieces else pieces)

    @property
    def steps(self) -> tuple[str, ...]:
        """The way, as texts: to tell places apart."""
        return tuple(step if isinstance(step, str) else f"={step.text}" for step in self.way)

    def below(self, step: Step) -> "Place":
        """Return the place of a field, of a key of a map, or of an element of a list."""
        return Place(below(self.value, step), (*self.way, step))

    def below_key(self, key: Value) -> "Place":
        """Return the place of a key that an expression gives as it is, not as a part of a path."""
        escaped = Value(f"jsonpatch.escapeKey({key.text})", TEXT)
        return Place(below(self.value, key), (*self.way, escaped))

    def element(self, index: Value, element: Value) -> "Place":
        """Return the place of the element of a list that a loop is at."""
        return Place(element, (*self.way, index))


def is_index(step: Step) -> bool:
    """Return whether a step leads to a place in a list."""
    if isinstance(step, str):
        return step in {LAST, END} or _INDEX.fullmatch(step) is not None
    return is_number(step.types)


def _shown(step: Value) -> str:
    return step.tight(SUM) if is_text(step.types) else f"string({step.text})"


def below(value: Value, step: Step) -> Value:
    """Return what stands at a step below a value."""
    if isinstance(step, str):
        if step == END:
            return Value(value.text, element_of(value.types), optional="optional.none()")
        if step == LAST:
            return _last(value)
        if not is_index(step):
            return value.child(step)
        if step == "0" and value.noun == "containers" and not value.may_miss:
            return Value(f"{value.tight()}[0]", element_of(value.types), noun=value.noun)
    key = step if isinstance(step, str) else step.text
    types = element_of(value.types) if is_index(step) else values_of(value.types)
    start = value.optional or value.tight()
    return Value(f"{value.tight()}[{key}]", types, optional=f"{start}[?{key}]", noun=value.noun)


def _last(value: Value) -> Value:
    listed = value.or_else([]) if value.may_miss else value.tight()
    optional = f"{listed}.last()"
    return Value(f"{optional}.value()", element_of(value.types), optional=optional, noun=value.noun)


def counter(name: str) -> Value:
    """Return the place in its list of the element that a loop is at."""
    return Value(name, NUMBER, noun="index")
