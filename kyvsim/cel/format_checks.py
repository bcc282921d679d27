"""Calls of `format` whose text and arguments are written out.

Source of the rules: upstream cel-go ext/formatting.go (stringFormatChecker) and
ext/formatting_v2.go (stringFormatCheckerV2).
"""

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.cel.check import Checked
from kyvsim.cel.errors import CelError, Issue
from kyvsim.cel.nodes import Call, ListLiteral, Literal, MapLiteral, Node, children
from kyvsim.cel.string_format import WANTED, fill
from kyvsim.cel.string_format_latest import WANTED_LATEST

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
_NUMBERS = _WHOLE | {"double"}


class _Clauses(NamedTuple):
    """What clauses take in a version of the strings library."""

    takes: Mapping[str, frozenset[str]]
    """The types that a clause takes, by its letter; `s` takes whatever can be printed."""
    wanted: Mapping[str, str]
    """The first words about an argument of another type."""


_PLAIN = _Clauses(_TAKES, WANTED)
_LATEST = _Clauses(MappingProxyType({**_TAKES, **dict.fromkeys("dfe", _NUMBERS)}), WANTED_LATEST)


class _UnfitArgumentError(CelError):
    """An argument has a type that its clause does not take."""

    at = 0


def check_formats(
    nodes: Iterable[Node], checked: Checked, *, latest: bool = False
) -> Iterator[Issue]:
    """Yield an issue for each call that cannot succeed."""
    clauses = _LATEST if latest else _PLAIN
    for node in nodes:
        if not isinstance(node, Call) or node.function != "format" or len(node.arguments) != 1:
            continue
        target, given = node.target, node.arguments[0]
        if isinstance(target, Literal) and isinstance(given, ListLiteral):
            yield from _check(node.at, str(target.value), given.elements, checked, clauses)


def _check(
    at: int, text: str, given: tuple[Node, ...], checked: Checked, clauses: _Clauses
) -> Iterator[Issue]:
    used = 0

    def clause(place: int, letter: str, _precision: int | None) -> str:
        nonlocal used
        used = place + 1
        _check_argument(given[place], letter, checked, clauses)
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


def _check_argument(argument: Node, letter: str, checked: Checked, clauses: _Clauses) -> None:
    found = checked.types[argument.id]
    takes = _PRINTED if letter == "s" else clauses.takes[letter]
    if found.kind != "dyn" and found.kind not in takes:
        error = _UnfitArgumentError(f"{clauses.wanted[letter]}, was given {found.name}")
        error.at = argument.at
        raise error
    if letter == "s" and isinstance(argument, (ListLiteral, MapLiteral)):
        for part in children(argument):
            _check_argument(part, letter, checked, clauses)
