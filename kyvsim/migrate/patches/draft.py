"""What patches are converted with, and to."""

from typing import Final

from kyvsim.kube.objects import Json
from kyvsim.light.named_tuple import NamedTuple
from kyvsim.migrate.expressions import TRUE, Test, literal
from kyvsim.migrate.queries import Scope, text_value
from kyvsim.migrate.refusal import NotConvertible
from kyvsim.migrate.values import Value

WIDTH: Final = 72
"""How long a line may be."""


class Atomic(Exception):  # noqa: N818 — it is no fault: it says how the field merges
    """A field is replaced as a whole, or nothing is known of it: it cannot be applied."""


class Around(NamedTuple):
    """What the parts of a patch share."""

    scope: Scope
    loop: Value | None = None
    """The list whose elements are patched, for a patch of a loop."""
    kept: Test = TRUE
    """Which of the elements are, in words of `element`."""
    element: str = ""


class Patched(NamedTuple):
    """A patch as an expression, and what has to hold for it to be applied."""

    text: str
    guards: tuple[Test, ...] = ()


def value_text(data: Json, around: Around) -> str:
    """Return a value of a patch, which may be a text with variables."""
    if isinstance(data, str):
        return text_value(data, around.scope).text
    if isinstance(data, dict):
        texts = _alike(list(data.values()), around)
        entries = (f"{literal(key)}: {one}" for key, one in zip(data, texts, strict=True))
        return f"{{{', '.join(entries)}}}"
    if isinstance(data, list):
        return f"[{', '.join(_alike(data, around))}]"
    return literal(data)


def _alike(values: list[Json], around: Around) -> list[str]:
    """Return the parts of a map or list, of one type for the type checker."""
    texts = [value_text(one, around) for one in values]
    return [f"dyn({one})" for one in texts] if len(set(map(type, values))) > 1 else texts


def optional_text(data: Json, around: Around) -> str:
    """Return the optional of a value that is left out where nothing is found, "" for others."""
    if not isinstance(data, str):
        return ""
    found = text_value(data, around.scope)
    return found.optional if found.optional and found.text.endswith(".value()") else ""


def no_twin(what: str, advice: str = "write this patch by hand") -> NotConvertible:
    """Return that a part of a patch has no twin."""
    return NotConvertible(f"{what} has no twin in a MutatingPolicy", advice)


def struct(name: str, fields: list[str], opening: str = "{") -> str:
    """Return an object or map with its fields, on several lines where one would be too long."""
    line = f"{name}{opening}{', '.join(fields)}}}"
    if len(line) <= WIDTH and "\n" not in line:
        return line
    inner = ",\n".join(indented(one) for one in fields)
    return f"{name}{opening}\n{inner}\n}}"


def indented(text: str) -> str:
    """Return a text one step further to the right."""
    return "\n".join(f"  {line}" for line in text.split("\n"))
