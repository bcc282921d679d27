"""Checks of constants: durations, timestamps, patterns, lists of mixed types, calls of `format`."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.cel.checker import Checked
from kyvsim.cel.conversion import int_to_timestamp, text_to_duration, text_to_timestamp
from kyvsim.cel.environment import Environment
from kyvsim.cel.errors import CelError, Issue
from kyvsim.cel.nodes import Call, ListLiteral, Literal, MapLiteral, Node, children
from kyvsim.cel.string_format import WANTED, WANTED_LATEST, fill
from kyvsim.cel.types import CelType, same_shape, show
from kyvsim.kubernetes.regexes import RegexError, compile_regex

# Calls of `format` whose text and arguments are written out.
#
# Source of the rules: upstream cel-go ext/formatting.go (stringFormatChecker) and
# ext/formatting_v2.go (stringFormatCheckerV2).

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


# Constants that can only be wrong: durations, timestamps, patterns, lists of mixed types.
#
# Source of the rules: upstream cel-go cel/validator.go, ext/formatting.go.


def _timestamp(value: str | int) -> object:
    return text_to_timestamp(value) if isinstance(value, str) else int_to_timestamp(value)


_CHECKS: MappingProxyType[str, Callable[..., object]] = MappingProxyType(
    {"duration": text_to_duration, "timestamp": _timestamp, "matches": compile_regex}
)


def check_literals(root: Node, checked: Checked, env: Environment) -> list[Issue]:
    """Return the issues of an expression whose types are right."""
    nodes = _nodes(root)
    issues: list[Issue] = []
    if env.checks_literals:
        issues += [issue for node, _ in nodes for issue in _check_call(node)]
    if env.checks_mixtures:
        for node, exempt in nodes:
            if not exempt:
                issues.extend(_check_mixture(node, checked))
    # The strings library brings this check, so that every environment has it (ext/strings.go).
    issues.extend(check_formats((node for node, _ in nodes), checked, latest=env.latest_formats))
    return issues


def _nodes(root: Node) -> list[tuple[Node, bool]]:
    """Return every node with whether it is part of a `format` call, where types may mix."""
    found: list[tuple[Node, bool]] = []
    pending = [(root, False)]
    while pending:
        node, exempt = pending.pop()
        found.append((node, exempt))
        inside = exempt or (isinstance(node, Call) and node.function == "format")
        pending += [(child, inside) for child in reversed(children(node))]
    return found


def _check_call(node: Node) -> Iterator[Issue]:
    if not isinstance(node, Call) or not node.arguments:
        return
    test = _CHECKS.get(node.function)
    argument = node.arguments[0]
    if test is None or not isinstance(argument, Literal):
        return
    try:
        test(argument.value)
    except (CelError, RegexError, TypeError):
        yield Issue(argument.at, f"invalid {node.function} argument")


def _check_mixture(node: Node, checked: Checked) -> Iterator[Issue]:
    if isinstance(node, ListLiteral):
        parts = [(one, place in node.optional) for place, one in enumerate(node.elements)]
        yield from _different(parts, checked, first_only=True)
    elif isinstance(node, MapLiteral):
        keys = [(entry.key, False) for entry in node.entries]
        yield from _different(keys, checked, first_only=False)
        values = [(entry.value, entry.optional) for entry in node.entries]
        yield from _different(values, checked, first_only=False)


def _different(
    parts: list[tuple[Node, bool]], checked: Checked, *, first_only: bool
) -> Iterator[Issue]:
    wanted: CelType | None = None
    for part, optional in parts:
        found = checked.types[part.id]
        if optional and found.parameters:
            found = found.parameters[0]
        if wanted is None:
            wanted = found
        elif not same_shape(wanted, found):
            yield Issue(part.at, f"expected type '{show(wanted)}' but found '{show(found)}'")
            if first_only:
                return
