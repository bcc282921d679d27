"""Calls of `format` whose text and arguments are written out.

Source of the rules: upstream cel-go ext/formatting.go (stringFormatChecker).
"""

from collections.abc import Iterable, Iterator
from types import MappingProxyType

from kyvsim.cel.check import Checked
from kyvsim.cel.errors import CelError, Issue
from kyvsim.cel.nodes import Call, ListLiteral, Literal, MapLiteral, Node, children
from kyvsim.cel.string_format import fill, unfit

_PRINTED = frozenset(
    {
        "list",
        "map",
        "int",
        "uint",
        "double",
        "bool",
        "string",
        "timestamp",
        "bytes",
        "duration",
        "type",
        "null",
    }
)
_WHOLE = frozenset({"int", "uint"})
_TAKES = MappingProxyType(
    {
        "d": _WHOLE,
        "o": _WHOLE,
        "f": frozenset({"double", "string"}),
        "e": frozenset({"double", "string"}),
        "b": _WHOLE | {"bool"},
        "x": _WHOLE | {"string", "bytes"},
        "X": _WHOLE | {"string", "bytes"},
    }
)


class _UnfitArgumentError(CelError):
    """An argument has a type that its clause does not take."""

    at = 0


def check_formats(nodes: Iterable[Node], checked: Checked) -> Iterator[Issue]:
    """Yield an issue for each call that cannot succeed."""
    for node in nodes:
        if not isinstance(node, Call) or node.function != "format" or len(node.arguments) != 1:
            continue
        target, given = node.target, node.arguments[0]
        if isinstance(target, Literal) and isinstance(given, ListLiteral):
            yield from _check(node.at, str(target.value), given.elements, checked)


def _check(at: int, text: str, given: tuple[Node, ...], checked: Checked) -> Iterator[Issue]:
    used = 0

    def clause(place: int, letter: str, _precision: int | None) -> str:
        nonlocal used
        used = place + 1
        _check_argument(given[place], letter, checked)
        return ""

    try:
        fill(text, len(given), clause)
    except _UnfitArgumentError as error:
        yield Issue(error.at, str(error))
    except CelError as error:
        yield Issue(at, str(error))
    else:
        if len(given) > used:
            yield Issue(
                at,
                f"too many arguments supplied to string.format (expected {used}, got {len(given)})",
            )


def _check_argument(argument: Node, letter: str, checked: Checked) -> None:
    found = checked.types[argument.id]
    takes = _PRINTED if letter == "s" else _TAKES[letter]
    if found.kind != "dyn" and found.kind not in takes:
        error = _UnfitArgumentError(str(unfit(letter, found.name)))
        error.at = argument.at
        raise error
    if letter == "s" and isinstance(argument, (ListLiteral, MapLiteral)):
        for part in children(argument):
            _check_argument(part, letter, checked)
