"""What patches are converted with, and to."""

import re
from typing import Final, NamedTuple

from kyvsim.kubernetes.objects import Json
from kyvsim.migrate.expressions import SUM, TRUE, Test, literal, quoted
from kyvsim.migrate.known_types import is_text
from kyvsim.migrate.queries import Scope, shown, text_value
from kyvsim.migrate.refusal import NotConvertible
from kyvsim.migrate.values import Value
from kyvsim.model.migration import Condition
from kyvsim.patch.keyed_lists import Field

WIDTH: Final = 72
"""How long a line may be."""
ORDER: Final = Condition(
    "order of elements",
    "lists of which some elements change keep their order, and what is new stands at the end",
)
FIRST: Final = Condition(
    "additions in lists",
    "each element gets what it lacks; in the rule the first one decides for all of them",
)


class Atomic(Exception):  # noqa: N818 — it is no fault: it says how the field merges
    """A field is replaced as a whole, or nothing is known of it: it cannot be applied."""


class Loop(NamedTuple):
    """A loop whose elements a patch is for."""

    listed: Value
    element: Value
    counter: Value
    """The place of the element in the list."""
    condition: Test = TRUE
    """Which of the elements count."""
    backwards: bool = False

    @property
    def source(self) -> str:
        """The expression of the list: an error where it is missing, as in the rule."""
        return self.listed.soft or self.listed.tight()

    def goes_over(self, value: Value) -> bool:
        """Return whether its elements are those of a list that is patched."""
        same = {self.listed.asked, self.listed.text, self.listed.soft} - {""}
        soft = value.or_else([]) if value.may_miss else value.text
        return bool(same & {value.text, value.optional, soft})


def reads(loop: Loop, text: str) -> bool:
    """Return whether an expression reads the element of a loop, or its place."""
    names = rf"({loop.element.text}|{loop.counter.text})"
    return re.search(rf"(?<![\w.']){names}(?![\w'])", text) is not None


class Around(NamedTuple):
    """What the parts of a patch share."""

    scope: Scope
    loops: tuple[Loop, ...] = ()
    """The loops around it, the outermost first."""
    merges: tuple[Field, ...] = ()
    """How lists of the objects merge, by kind; () where nothing is known of one."""

    @property
    def loop(self) -> Loop | None:
        """The innermost loop."""
        return self.loops[-1] if self.loops else None


class Patched(NamedTuple):
    """A patch as an expression, and what has to hold for it to be applied."""

    text: str
    guards: tuple[Test, ...] = ()


class Quoted(NamedTuple):
    """A text with variables that stays a text, whatever they give."""

    text: str


def value_text(data: Json, around: Around) -> str:
    """Return a value of a patch, whose texts may have variables."""
    if isinstance(data, Quoted):
        return _as_text(text_value(data.text, around.scope))
    if isinstance(data, str):
        return text_value(data, around.scope).text
    if isinstance(data, dict):
        texts = _alike(list(data.values()), around)
        entries = zip((_key_text(key, around) for key in data), texts, strict=True)
        return struct("", [f"{key}: {one}" for key, one in entries])
    if isinstance(data, list):
        return struct("", _alike(data, around), opening="[", closing="]")
    return literal(data)


def _as_text(value: Value) -> str:
    # JSON within quotes is no YAML: maps and lists are an error there.
    return shown(value) if value.types else f"string({value.text})"


def _key_text(key: str, around: Around) -> str:
    return text_value(key, around.scope).text if "{{" in key else quoted(key)


def _alike(values: list[Json], around: Around) -> list[str]:
    """Return the parts of a map or list, of one type for the type checker."""
    texts = [value_text(one, around) for one in values]
    shapes = [_shape(one, around) for one in values]
    if set(shapes) == {"str", "text"}:
        pairs = zip(texts, shapes, strict=True)
        return [f"string({text})" if shape == "text" else text for text, shape in pairs]
    return [f"dyn({one})" for one in texts] if len(set(shapes)) > 1 else texts


def _shape(value: Json, around: Around) -> str:
    """Return what tells the type of an expression from others; `text` is one that hides it."""
    if isinstance(value, Quoted) or (isinstance(value, str) and "{{" in value):
        found = text_value(value.text if isinstance(value, Quoted) else value, around.scope)
        if is_text(found.types):
            is_typed = found.level == SUM or found.text.startswith("request.")
            return "str" if is_typed else "text"
        return "str" if isinstance(value, Quoted) else "dyn"
    if isinstance(value, dict | list):
        parts = value.values() if isinstance(value, dict) else value
        inner = {_shape(one, around) for one in parts}
        return f"{type(value).__name__}({inner.pop() if len(inner) == 1 else 'dyn'})"
    return type(value).__name__


def optional_text(data: Json, around: Around) -> str:
    """Return the optional of a value that is left out where nothing is found, "" for others."""
    if not isinstance(data, str):
        return ""
    found = text_value(data, around.scope)
    return found.optional if found.optional and found.text.endswith(".value()") else ""


def no_twin(what: str, advice: str = "write this patch by hand") -> NotConvertible:
    """Return that a part of a patch has no twin."""
    return NotConvertible(f"{what} has no twin in a MutatingPolicy", advice)


def struct(name: str, fields: list[str], opening: str = "{", closing: str = "}") -> str:
    """Return an object, map or list, on several lines where one would be too long."""
    line = f"{name}{opening}{', '.join(fields)}{closing}"
    if len(line) <= WIDTH and "\n" not in line:
        return line
    inner = ",\n".join(indented(one) for one in fields)
    return f"{name}{opening}\n{inner}\n{closing}"


def indented(text: str) -> str:
    """Return a text one step further to the right."""
    return "\n".join(f"  {line}" for line in text.split("\n"))
