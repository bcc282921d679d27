"""Constants that can only be wrong: durations, timestamps, patterns, lists of mixed types.

Source of the rules: upstream cel-go cel/validator.go, ext/formatting.go.
"""

from collections.abc import Callable, Iterator
from types import MappingProxyType

from kyvsim.cel.check import Checked
from kyvsim.cel.conversion import int_to_timestamp, text_to_duration, text_to_timestamp
from kyvsim.cel.environment import Environment
from kyvsim.cel.errors import CelError, Issue
from kyvsim.cel.format_checks import check_formats
from kyvsim.cel.nodes import Call, ListLiteral, Literal, MapLiteral, Node, children
from kyvsim.cel.types import CelType, show
from kyvsim.cel.unify import same_shape
from kyvsim.kubernetes.regexes import RegexError, compile_regex


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
