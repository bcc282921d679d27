"""Calls that stand for other expressions: `has`, the loops, `optMap`.

Source of the rules: upstream cel-go parser/macro.go, cel/library.go, ext/comprehensions.go,
ext/lists.go; for `orValue` upstream pkg/cel/compiler/env.go.
"""

from collections.abc import Callable
from types import MappingProxyType
from typing import Any

from kyvsim.cel.nodes import (
    Bind,
    Call,
    Ident,
    ListLiteral,
    Literal,
    Loop,
    MapEntry,
    MapLiteral,
    Node,
    Select,
    StructField,
    StructLiteral,
    dotted_name,
)
from kyvsim.cel.operators import NUMBERS

OR_VALUE = "__orValueCompat__"
"""The function that `orValue` becomes: a value that is not optional is taken as it is."""

_SIMPLE_NAME = "argument must be a simple name"
_NO_IDENTIFIER = "argument is not an identifier"
_SORT_INPUT = "@__sortBy_input__"


class MacroError(Exception):
    """A macro's arguments are not what it takes."""

    def __init__(self, at: int, message: str) -> None:
        super().__init__(message)
        self.at = at


class NodeFactory:
    """Makes nodes and numbers them."""

    def __init__(self) -> None:
        self._last = 0

    def _id(self) -> int:
        self._last += 1
        return self._last

    def literal(self, at: int, value: Any) -> Literal:
        """Return a constant."""
        return Literal(self._id(), at, value)

    def ident(self, at: int, name: str) -> Ident:
        """Return a name."""
        return Ident(self._id(), at, name)

    def select(
        self, at: int, operand: Node, field: str, *, optional: bool = False, test: bool = False
    ) -> Select:
        """Return the selection of a field."""
        return Select(
            id=self._id(), at=at, operand=operand, field=field, optional=optional, test=test
        )

    def call(self, at: int, function: str, *arguments: Node) -> Call:
        """Return the call of an operator or function."""
        return Call(self._id(), at, function, None, arguments)

    def full_call(
        self, at: int, function: str, target: Node | None, arguments: tuple[Node, ...]
    ) -> Call:
        """Return the call of a function, with what stands before its dot."""
        return Call(self._id(), at, function, target, arguments)

    def list_literal(
        self, at: int, elements: tuple[Node, ...], optional: frozenset[int]
    ) -> ListLiteral:
        """Return a list literal."""
        return ListLiteral(self._id(), at, elements, optional)

    def map_literal(self, at: int, entries: tuple[MapEntry, ...]) -> MapLiteral:
        """Return a map literal."""
        return MapLiteral(self._id(), at, entries)

    def struct(self, at: int, name: str, fields: tuple[StructField, ...]) -> StructLiteral:
        """Return the construction of a typed object."""
        return StructLiteral(self._id(), at, name, fields)

    def loop(self, call: Call, kind: str, variables: tuple[str, ...], *parts: Node | None) -> Loop:
        """Return a loop over the call's target; `parts` are its test and its result."""
        test, result = parts
        return Loop(
            id=self._id(),
            at=call.at,
            kind=kind,
            source=_target(call),
            variables=variables,
            test=test,
            result=result,
        )

    def bind(self, at: int, variable: str, value: Node, body: Node) -> Bind:
        """Return a body with a name for a value."""
        return Bind(self._id(), at, variable, value, body)


def _target(call: Call) -> Node:
    if call.target is None:  # pragma: no cover — loops are looked up by their target
        raise AssertionError(call.function)
    return call.target


def _variable(node: Node, message: str) -> str:
    if not isinstance(node, Ident):
        raise MacroError(node.at, message)
    if node.name in {"@result", "__result__"}:
        raise MacroError(node.at, "iteration variable overwrites accumulator variable")
    return node.name


def _has(make: NodeFactory, call: Call) -> Node:
    found = call.arguments[0]
    if not isinstance(found, Select) or found.test or found.optional:
        raise MacroError(found.at, "invalid argument to has() macro")
    return make.select(call.at, found.operand, found.field, test=True)


def _quantifier(make: NodeFactory, call: Call) -> Node:
    name = _variable(call.arguments[0], _SIMPLE_NAME)
    return make.loop(call, call.function, (name,), call.arguments[1], None)


def _map(make: NodeFactory, call: Call) -> Node:
    name = _variable(call.arguments[0], _NO_IDENTIFIER)
    *test, result = call.arguments[1:]
    return make.loop(call, "map", (name,), test[0] if test else None, result)


def _filter(make: NodeFactory, call: Call) -> Node:
    name = _variable(call.arguments[0], _NO_IDENTIFIER)
    return make.loop(call, "filter", (name,), call.arguments[1], None)


def _two_variables(call: Call) -> tuple[str, str]:
    first, second = call.arguments[:2]
    names = _plain(first), _plain(second)
    if names[0] == names[1]:
        raise MacroError(second.at, f"duplicate variable name: {names[0]}")
    for node in (first, second):
        _variable(node, _SIMPLE_NAME)
    return names


def _plain(node: Node) -> str:
    if not isinstance(node, Ident):
        raise MacroError(node.at, _SIMPLE_NAME)
    return node.name


def _quantifier_of_two(make: NodeFactory, call: Call) -> Node:
    kind = "exists_one" if call.function == "existsOne" else call.function
    return make.loop(call, kind, _two_variables(call), call.arguments[2], None)


def _transform(make: NodeFactory, call: Call) -> Node:
    *test, result = call.arguments[2:]
    return make.loop(call, call.function, _two_variables(call), test[0] if test else None, result)


def _optional_map(make: NodeFactory, call: Call) -> Node:
    variable, body = call.arguments
    if not isinstance(variable, Ident):
        raise MacroError(
            variable.at, f"{call.function}() variable name must be a simple identifier"
        )
    at, target = call.at, _target(call)
    bound = make.bind(at, variable.name, make.full_call(at, "value", target, ()), body)
    present = make.full_call(at, "hasValue", target, ())
    result = make.call(at, "optional.of", bound) if call.function == "optMap" else bound
    return make.call(at, "_?_:_", present, result, make.call(at, "optional.none"))


def _sort_by(make: NodeFactory, call: Call) -> Node:
    target = _target(call)
    if not isinstance(target, (ListLiteral, Select, Ident, Loop, Bind, Call)):
        kinds = "a list, identifier, comprehension, call or select expression"
        raise MacroError(target.at, f"sortBy can only be applied to {kinds}")
    at = call.at
    keys = _map(make, call._replace(target=make.ident(at, _SORT_INPUT)))
    sort = make.full_call(at, "@sortByAssociatedKeys", make.ident(at, _SORT_INPUT), (keys,))
    return make.bind(at, _SORT_INPUT, target, sort)


def _or_value(make: NodeFactory, call: Call) -> Node:
    return make.call(call.at, OR_VALUE, _target(call), call.arguments[0])


def _bind(make: NodeFactory, call: Call) -> Node:
    target = call.target
    if not isinstance(target, Ident) or target.name != "cel":
        return call
    variable, value, body = call.arguments
    if not isinstance(variable, Ident):
        raise MacroError(variable.at, "cel.bind() variable names must be simple identifiers")
    return make.bind(call.at, variable.name, value, body)


def _extreme(make: NodeFactory, call: Call) -> Node:
    """Return `math.greatest` and `math.least` as a call for one number, two, or a list of them."""
    target, arguments = call.target, call.arguments
    if not isinstance(target, Ident) or target.name != "math":
        return call
    name = f"math.{call.function}()"
    if not arguments:
        raise MacroError(target.at, f"{name} requires at least one argument")
    if len(arguments) == 1:
        only = arguments[0]
        several = only.elements if isinstance(only, ListLiteral) else (only,)
        if not several or not all(map(_may_be_number, several)):
            raise MacroError(only.at, f"{name} invalid single argument value")
    for one in arguments[1:] and arguments:
        if not _may_be_number(one):
            raise MacroError(one.at, f"{name} simple literal arguments must be numeric")
    if len(arguments) > 2:
        arguments = (make.list_literal(call.at, arguments, frozenset()),)
    return make.call(
        call.at, "math.@max" if call.function == "greatest" else "math.@min", *arguments
    )


def _may_be_number(node: Node) -> bool:
    if isinstance(node, Literal):
        return node.value.__class__ in NUMBERS
    return not isinstance(node, (ListLiteral, MapLiteral, StructLiteral))


def _has_extension(make: NodeFactory, call: Call) -> Node:
    """Return `proto.hasExt(message, name)` as the question whether the message has that field."""
    target = call.target
    if not isinstance(target, Ident) or target.name != "proto":
        return call
    message, name = call.arguments
    field = dotted_name(name)
    if not isinstance(name, Select) or not field:
        raise MacroError(name.at, "invalid extension field")
    return make.select(call.at, message, field, test=call.function == "hasExt")


_ANY_NUMBER = -1
"""In place of the count of arguments."""
_Expander = Callable[[NodeFactory, Call], Node]
_ALWAYS: MappingProxyType[tuple[str, int, bool], _Expander] = MappingProxyType(
    {
        ("has", 1, False): _has,
        ("all", 2, True): _quantifier,
        ("exists", 2, True): _quantifier,
        ("exists_one", 2, True): _quantifier,
        ("map", 2, True): _map,
        ("map", 3, True): _map,
        ("filter", 2, True): _filter,
    }
)
_BY_LIBRARY: MappingProxyType[str, tuple[tuple[tuple[str, int, bool], _Expander], ...]] = (
    MappingProxyType(
        {
            "two_variables": (
                (("all", 3, True), _quantifier_of_two),
                (("exists", 3, True), _quantifier_of_two),
                (("exists_one", 3, True), _quantifier_of_two),
                (("existsOne", 3, True), _quantifier_of_two),
                (("transformList", 3, True), _transform),
                (("transformList", 4, True), _transform),
                (("transformMap", 3, True), _transform),
                (("transformMap", 4, True), _transform),
                (("transformMapEntry", 3, True), _transform),
                (("transformMapEntry", 4, True), _transform),
            ),
            "optional": (
                (("optMap", 2, True), _optional_map),
                (("optFlatMap", 2, True), _optional_map),
            ),
            "lenient_or_value": ((("orValue", 1, True), _or_value),),
            "sort_by": ((("sortBy", 2, True), _sort_by),),
            "bindings": ((("bind", 3, True), _bind),),
            "math": (
                (("greatest", _ANY_NUMBER, True), _extreme),
                (("least", _ANY_NUMBER, True), _extreme),
            ),
            "protos": (
                (("hasExt", 2, True), _has_extension),
                (("getExt", 2, True), _has_extension),
            ),
        }
    )
)


def expand(make: NodeFactory, call: Call, macros: frozenset[str]) -> Node:
    """Return what the call stands for, or the call where it is no macro; raises `MacroError`."""
    key = (call.function, len(call.arguments), call.target is not None)
    expander = _ALWAYS.get(key)
    if expander is None:
        keys = (key, (call.function, _ANY_NUMBER, call.target is not None))
        sets = (_BY_LIBRARY[name] for name in macros)
        expander = next((found for one in sets for known, found in one if known in keys), None)
    return call if expander is None else expander(make, call)
