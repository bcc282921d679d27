"""Macros: `has`, the loops, `optMap`.

Source of the rules: upstream cel-go parser/macro.go, cel/library.go, ext/comprehensions.go,
ext/lists.go; for `orValue` upstream pkg/cel/compiler/env.go.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from kyvsim.cel import nodes
from kyvsim.cel.nodes import Call, Ident, Loop, Node, dotted_name
from kyvsim.cel.operators import NUMBERS

OR_VALUE = "__orValueCompat__"
"""The function for `orValue`: a value that is not optional is returned as it is."""

_SIMPLE_NAME = "argument must be a simple name"
_SORT_INPUT = "@__sortBy_input__"
Ids: TypeAlias = Iterator[int]
"""Yields the number of each new node."""


class MacroError(Exception):
    """A macro has invalid arguments."""

    def __init__(self, at: int, message: str) -> None:
        super().__init__(message)
        self.at = at


def _loop(ids: Ids, call: Call, kind: str, variables: tuple[str, ...], *parts: Node | None) -> Loop:
    """Return a loop over the call's target; `parts` are its test and its result."""
    return Loop(next(ids), call.at, kind, _target(call), variables, *parts)


def _target(call: Call) -> Node:
    if call.target is None:  # loops are looked up by their target
        raise AssertionError(call.function)
    return call.target


def _variable(node: Node, message: str) -> str:
    if not isinstance(node, Ident):
        raise MacroError(node.at, message)
    if node.name in {"@result", "__result__"}:
        raise MacroError(node.at, "iteration variable overwrites accumulator variable")
    return node.name


def _has(ids: Ids, call: Call) -> Node:
    found = call.arguments[0]
    if not isinstance(found, nodes.Select) or found.test or found.optional:
        raise MacroError(found.at, "invalid argument to has() macro")
    return nodes.Select(next(ids), call.at, found.operand, found.field, test=True)


def _quantifier(ids: Ids, call: Call) -> Node:
    name = _variable(call.arguments[0], _SIMPLE_NAME)
    return _loop(ids, call, call.function, (name,), call.arguments[1], None)


def _map_or_filter(ids: Ids, call: Call) -> Node:
    name = _variable(call.arguments[0], "argument is not an identifier")
    if call.function == "filter":
        return _loop(ids, call, "filter", (name,), call.arguments[1], None)
    *test, result = call.arguments[1:]
    return _loop(ids, call, "map", (name,), test[0] if test else None, result)


def _loop_of_two(ids: Ids, call: Call) -> Node:
    *test, result = call.arguments[2:]
    names: list[str] = []
    for node in call.arguments[:2]:
        if not isinstance(node, Ident):
            raise MacroError(node.at, _SIMPLE_NAME)
        names.append(node.name)
    if names[0] == names[1]:
        raise MacroError(call.arguments[1].at, f"duplicate variable name: {names[0]}")
    for node in call.arguments[:2]:
        _variable(node, _SIMPLE_NAME)
    variables = names[0], names[1]
    if call.function.startswith("transform"):
        return _loop(ids, call, call.function, variables, test[0] if test else None, result)
    kind = "exists_one" if call.function == "existsOne" else call.function
    return _loop(ids, call, kind, variables, result, None)


def _optional_map(ids: Ids, call: Call) -> Node:
    variable, body = call.arguments
    if not isinstance(variable, Ident):
        raise MacroError(
            variable.at, f"{call.function}() variable name must be a simple identifier"
        )
    at, target = call.at, _target(call)
    value = Call(next(ids), at, "value", target, ())
    result: Node = nodes.Bind(next(ids), at, variable.name, value, body)
    if call.function == "optMap":
        result = Call(next(ids), at, "optional.of", None, (result,))
    present = Call(next(ids), at, "hasValue", target, ())
    missing = Call(next(ids), at, "optional.none", None, ())
    return Call(next(ids), at, "_?_:_", None, (present, result, missing))


def _sort_by(ids: Ids, call: Call) -> Node:
    target = _target(call)
    if not isinstance(target, (nodes.ListLiteral, nodes.Select, Ident, Loop, nodes.Bind, Call)):
        kinds = "a list, identifier, comprehension, call or select expression"
        raise MacroError(target.at, f"sortBy can only be applied to {kinds}")
    at = call.at
    source = Ident(next(ids), at, _SORT_INPUT)
    keys = _map_or_filter(ids, call._replace(function="map", target=source))
    read = Ident(next(ids), at, _SORT_INPUT)
    sort = Call(next(ids), at, "@sortByAssociatedKeys", read, (keys,))
    return nodes.Bind(next(ids), at, _SORT_INPUT, target, sort)


def _bind(ids: Ids, call: Call) -> Node:
    target = call.target
    if not isinstance(target, Ident) or target.name != "cel":
        return call
    variable, value, body = call.arguments
    if not isinstance(variable, Ident):
        raise MacroError(variable.at, "cel.bind() variable names must be simple identifiers")
    return nodes.Bind(next(ids), call.at, variable.name, value, body)


def _extreme(ids: Ids, call: Call) -> Node:
    """Return `math.greatest` and `math.least` as a call for one number, two, or a list of them."""
    target, arguments = call.target, call.arguments
    if not isinstance(target, Ident) or target.name != "math":
        return call
    name = f"math.{call.function}()"
    if not arguments:
        raise MacroError(target.at, f"{name} requires at least one argument")
    if len(arguments) == 1:
        only = arguments[0]
        several = only.elements if isinstance(only, nodes.ListLiteral) else (only,)
        if not several or not all(map(_may_be_number, several)):
            raise MacroError(only.at, f"{name} invalid single argument value")
    for one in arguments[1:] and arguments:
        if not _may_be_number(one):
            raise MacroError(one.at, f"{name} simple literal arguments must be numeric")
    if len(arguments) > 2:
        arguments = (nodes.ListLiteral(next(ids), call.at, arguments, frozenset()),)
    name = "math.@max" if call.function == "greatest" else "math.@min"
    return Call(next(ids), call.at, name, None, arguments)


def _may_be_number(node: Node) -> bool:
    if isinstance(node, nodes.Literal):
        return node.value.__class__ in NUMBERS
    return not isinstance(node, (nodes.ListLiteral, nodes.MapLiteral, nodes.StructLiteral))


def _has_extension(ids: Ids, call: Call) -> Node:
    """Return `proto.hasExt(message, name)` as a test whether the message has that field."""
    target = call.target
    if not isinstance(target, Ident) or target.name != "proto":
        return call
    message, name = call.arguments
    field = dotted_name(name)
    if not isinstance(name, nodes.Select) or not field:
        raise MacroError(name.at, "invalid extension field")
    return nodes.Select(next(ids), call.at, message, field, test=call.function == "hasExt")


_ANY_NUMBER = -1
"""Matches any number of arguments."""
_Expander = Callable[[Ids, Call], Node]
_ALWAYS: Mapping[tuple[str, int, bool], _Expander] = {
    ("has", 1, False): _has,
    ("all", 2, True): _quantifier,
    ("exists", 2, True): _quantifier,
    ("exists_one", 2, True): _quantifier,
    ("map", 2, True): _map_or_filter,
    ("map", 3, True): _map_or_filter,
    ("filter", 2, True): _map_or_filter,
}
_BY_LIBRARY: Mapping[str, Mapping[tuple[str, int], _Expander]] = {
    "two_variables": {
        **{(name, 3): _loop_of_two for name in ("all", "exists", "exists_one", "existsOne")},
        **{
            (name, count): _loop_of_two
            for name in ("transformList", "transformMap", "transformMapEntry")
            for count in (3, 4)
        },
    },
    "optional": {("optMap", 2): _optional_map, ("optFlatMap", 2): _optional_map},
    "lenient_or_value": {
        ("orValue", 1): lambda ids, call: Call(
            next(ids), call.at, OR_VALUE, None, (_target(call), call.arguments[0])
        )
    },
    "sort_by": {("sortBy", 2): _sort_by},
    "bindings": {("bind", 3): _bind},
    "math": {("greatest", _ANY_NUMBER): _extreme, ("least", _ANY_NUMBER): _extreme},
    "protos": {("hasExt", 2): _has_extension, ("getExt", 2): _has_extension},
}
"""Macros that are called on a receiver, by their library."""


def expand(ids: Ids, call: Call, macros: frozenset[str]) -> Node:
    """Return the expansion of a macro, or the call itself; raises `MacroError`."""
    key = (call.function, len(call.arguments))
    expander = _ALWAYS.get((*key, call.target is not None))
    if expander is None and call.target is not None:
        for library in macros:
            found = _BY_LIBRARY[library]
            expander = expander or found.get(key) or found.get((call.function, _ANY_NUMBER))
    return call if expander is None else expander(ids, call)
