"""JSON patches as expressions: single ones, lists of them, one or more for each element."""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from kyvsim.migrate.expressions import (
    OR,
    TRUE,
    Each,
    Test,
    enclosed,
    every,
    one_line,
    quoted,
)
from kyvsim.migrate.patches.draft import WIDTH, Loop, indented, struct
from kyvsim.migrate.patches.places import Place

_ALWAYS: Final = ("containers",)
"""Lists that are never empty."""


class Operation(NamedTuple):
    """One JSON patch, or an expression that is a list of them."""

    text: str
    test: Test = TRUE
    """What has to hold for it."""
    is_list: bool = False
    once: bool = False
    """Whether it is made once for all elements of the loops around it, before they begin."""


def operation(name: str, place: Place, value: str = "", source: Place | None = None) -> str:
    """Return a JSON patch as an expression; `value` and `source` where it has them."""
    fields = [f"op: {quoted(name)}"]
    if source is not None:
        fields.append(f"from: {source.path}")
    fields.append(f"path: {place.path}")
    if value:
        fields.append(f"value: {value}")
    return struct("JSONPatch", fields)


def listed(operations: Sequence[Operation]) -> str:
    """Return the expression of a list of JSON patches; neighbours share a condition."""
    parts: list[str] = []
    at = 0
    while at < len(operations):
        one = operations[at]
        end = at + 1
        while end < len(operations) and _alike(one, operations[end]):
            end += 1
        text = one.text if one.is_list else _list([some.text for some in operations[at:end]])
        if one.test != TRUE:
            text = f"({enclosed(one.test, OR)} ? {text} : [])"
        parts.append(text)
        at = end
    return " +\n".join(parts) if parts else "[]"


def _alike(one: Operation, other: Operation) -> bool:
    return not one.is_list and not other.is_list and one.test == other.test


def _list(texts: list[str]) -> str:
    return struct("", texts, opening="[", closing="]")


def looped(loop: Loop, operations: Iterable[Operation]) -> list[Operation]:
    """Return the operations of a loop: those that are made once, and those for each element."""
    found = list(operations)
    once = [one for one in found if one.once]
    each = [one for one in found if not one.once]
    before = [one._replace(test=every([any_kept(loop), one.test])) for one in once]
    return [*before, Operation(_each(loop, each), is_list=True)] if each else before


def any_kept(loop: Loop) -> Test:
    """Return the test that a loop has an element to go over."""
    if loop.condition == TRUE and loop.listed.noun in _ALWAYS and not loop.listed.fallback:
        return TRUE
    return Each(loop.source, loop.element.text, loop.condition, "exists")


def _each(loop: Loop, operations: list[Operation]) -> str:
    single = len(operations) == 1 and not operations[0].is_list
    kept = every([loop.condition, operations[0].test]) if single else loop.condition
    body = operations[0].text if single else listed(operations)
    counted = loop.counter.text in body or loop.counter.text in one_line(kept)
    macro = "transformList" if counted else "map"
    names = [loop.counter.text, loop.element.text] if counted else [loop.element.text]
    asked = [] if kept == TRUE else [one_line(kept)]
    head = f"{loop.source}.{macro}({', '.join([*names, *asked])}"
    text = f"{head}, {body})"
    if len(text) > WIDTH or "\n" in text:
        text = f"{head},\n{indented(body)}\n)"
    if loop.backwards:
        text += ".reverse()"
    return text if single else f"{text}.flatten()"
