"""Compiles syntax trees of expressions to closures, by upstream's rules for each type of node.

A closure takes the current value and returns a value, or a `MissingValue` if a map lacks the
key; any other error raises `QueryError`. upstream: kyverno/go-jmespath `interpreter.go`. Its map
order is random; here values of a map are in the order of their keys.

Some nodes have specialised closures for the most frequent cases, with the same results and fewer
calls.
"""

from collections.abc import Callable, Mapping
from functools import partial
from itertools import chain, repeat
from operator import ge, gt, le, lt
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias

from kyvsim.jmespath.functions import Function, QueryError
from kyvsim.jmespath.parse import Tree
from kyvsim.kubernetes.go_text import sprint
from kyvsim.kubernetes.quantities import deep_equal
from kyvsim.model.ports import FEW, SHORT, Meter, System

Run: TypeAlias = Callable[[object], object]
"""Takes the current value; returns a value or a `MissingValue`; raises `QueryError`."""


class MissingValue:
    """The result of a key that a map lacks; propagated until a node handles it."""

    __slots__ = ("key",)

    def __init__(self, key: str) -> None:
        self.key = key

    def __bool__(self) -> bool:
        return False


_NUMERIC: Final = frozenset({int, float})
"""Classes whose zero is true: a value is true if `value or value.__class__ in _NUMERIC`."""


class LoweringContext(NamedTuple):
    """The context for compiling calls of functions."""

    function: Callable[[str], Function | None]
    system: System
    bindings: Mapping[str, object] = MappingProxyType({})
    """The values of `$name`."""
    on_node: Callable[[Tree, Run], Run] | None = None
    """Takes the closure of each part that is evaluated once, and returns its replacement."""

    def without_hook(self) -> "LoweringContext":
        """Return the context for parts that are evaluated for each element of a list."""
        return self._replace(on_node=None) if self.on_node else self


def lower(tree: Tree, context: LoweringContext) -> Run:
    """Return the closure that evaluates a tree."""
    run = _LOWERINGS[tree["type"]](tree, context)
    return context.on_node(tree, run) if context.on_node else run


def _children(tree: Tree, context: LoweringContext) -> tuple[Run, ...]:
    return tuple(lower(child, context) for child in tree["children"])


def _identity(value: object) -> object:
    return value


def _constant(value: object) -> Run:
    return lambda _: value


def _failing(message: str, arguments: tuple[Run, ...] = ()) -> Run:
    """Return a closure that evaluates the arguments, which may fail, and raises a QueryError."""

    def run(value: object) -> object:
        _argument_values(arguments, value)
        raise QueryError(message)

    return run


def _variable(tree: Tree, context: LoweringContext) -> Run:
    name = tree["value"]
    if name not in context.bindings:
        return _failing(f"variable not defined: {name}")
    return _constant(context.bindings[name])


# Fields and chains of fields.


def _field(key: str) -> Run:
    missing = MissingValue(key)
    return lambda value: value.get(key, missing) if value.__class__ is dict else None


def _walk(value: object, keys: tuple[str, ...]) -> object:
    """Follow the keys by the general rules."""
    for key in keys:
        if value.__class__ is not dict:
            return None
        if key not in value:
            return MissingValue(key)
        value = value[key]
    return value


def _long_path(keys: tuple[str, ...]) -> Run:
    def run(value: Any) -> object:
        found = value
        try:
            for key in keys:
                found = found[key]
        except (KeyError, TypeError):
            return _walk(value, keys)
        return found

    return run


def _two_fields(keys: tuple[str, ...]) -> Run:
    first, second = keys

    def run(value: Any) -> object:
        try:
            return value[first][second]
        except (KeyError, TypeError):
            return _walk(value, keys)

    return run


def _three_fields(keys: tuple[str, ...]) -> Run:
    first, second, third = keys

    def run(value: Any) -> object:
        try:
            return value[first][second][third]
        except (KeyError, TypeError):
            return _walk(value, keys)

    return run


def _four_fields(keys: tuple[str, ...]) -> Run:
    first, second, third, fourth = keys

    def run(value: Any) -> object:
        try:
            return value[first][second][third][fourth]
        except (KeyError, TypeError):
            return _walk(value, keys)

    return run


_SHORT_PATHS: Final[Mapping[int, Callable[[tuple[str, ...]], Run]]] = {
    1: lambda keys: _field(keys[0]),
    2: _two_fields,
    3: _three_fields,
    4: _four_fields,
}
"""Paths are first read as a whole; the general rules apply only if that fails."""


def _steps(tree: Tree) -> list[Tree]:
    """Return the parts of `a.b[0].c` in order, without the nodes that connect them."""
    if tree["type"] not in {"subexpression", "index_expression"}:
        return [] if tree["type"] in {"identity", "current"} else [tree]
    return [step for child in tree["children"] for step in _steps(child)]


def _chain(tree: Tree, context: LoweringContext) -> Run:
    """Lower `a.b[0].c`: consecutive fields become one closure, a missing field ends it."""
    parts: list[Run] = []
    keys: list[str] = []
    for step in [*_steps(tree), None]:
        if step is not None and step["type"] == "field":
            keys.append(step["value"])
            continue
        if keys:
            parts.append(_SHORT_PATHS.get(len(keys), _long_path)(tuple(keys)))
            keys = []
        if step is not None:
            parts.append(lower(step, context))
    if len(parts) < 2:
        return parts[0] if parts else _identity

    def run(value: object) -> object:
        for part in parts:
            value = part(value)
            if value.__class__ is MissingValue:
                return value
        return value

    return run


def _index(tree: Tree, _: LoweringContext) -> Run:
    place = tree["value"]

    def run(value: object) -> object:
        if value.__class__ is not list:
            return None
        try:
            return value[place]
        except IndexError:
            return None

    return run


def _slice(tree: Tree, _: LoweringContext) -> Run:
    part = slice(*tree["children"])

    def run(value: object) -> object:
        if value.__class__ is not list:
            return None
        if part.step == 0:
            raise QueryError("Invalid slice, step cannot be 0")
        return value[part]

    return run


def _pipe(left: Run, right: Run) -> Run:
    def run(value: object) -> object:
        found = left(value)
        found = right(None if found.__class__ is MissingValue else found)
        return None if found.__class__ is MissingValue else found

    return run


# Projections and collections: null and missing results are dropped.


def _projection(tree: Tree, context: LoweringContext) -> Run:
    of, each = tree["children"]
    left = lower(of, context)
    if each["type"] == "identity":

        def elements(value: object) -> object:
            items = left(value)
            if items.__class__ is not list:
                return None
            return [item for item in items if item is not None]

        return elements
    if each["type"] == "field":
        key = each["value"]

        def fields(value: object) -> object:
            items = left(value)
            if items.__class__ is not list:
                return None
            return [
                found
                for item in items
                if item.__class__ is dict and (found := item.get(key)) is not None
            ]

        return fields
    right, meter = lower(each, context.without_hook()), context.system.meter

    def run(value: object) -> object:
        items = left(value)
        if items.__class__ is not list:
            return None
        if len(items) > FEW:
            meter.spend(len(items))
        found = map(right, items)
        return [item for item in found if item is not None and item.__class__ is not MissingValue]

    return run


def _flatten(tree: Tree, context: LoweringContext) -> Run:
    """Lower `left[]` without the rest; a left side that fails is null."""
    left, meter = lower(tree["children"][0], context), context.system.meter

    def run(value: object) -> object:
        try:
            items = left(value)
        except QueryError:
            return None
        if items.__class__ is not list:
            return None
        flat: list[object] = []
        for item in items:
            if item.__class__ is list:
                flat += item
            else:
                flat.append(item)
        if len(flat) > FEW:
            meter.spend(len(flat))
        return flat

    return run


def _filter(tree: Tree, context: LoweringContext) -> Run:
    """Lower `left[?condition]right`; a left side that fails is null."""
    of, *rest = tree["children"]
    right, condition = (lower(one, context.without_hook()) for one in rest)
    left, meter = lower(of, context), context.system.meter

    def run(value: object) -> object:
        try:
            items = left(value)
        except QueryError:
            return None
        if items.__class__ is not list:
            return None
        if len(items) > FEW:
            meter.spend(len(items))
        kept = []
        for item in items:
            met = condition(item)
            if met or met.__class__ in _NUMERIC:
                found = right(item)
                if found is not None and found.__class__ is not MissingValue:
                    kept.append(found)
        return kept

    return run


def _values(tree: Tree, context: LoweringContext) -> Run:
    """Lower `left.*right`; a left side that fails is null.

    upstream (by mistake) first evaluates `right` on as many nulls as the map has values.
    """
    of, each = tree["children"]
    right = lower(each, context.without_hook())
    left, meter = lower(of, context), context.system.meter

    def run(value: object) -> object:
        try:
            found = left(value)
        except QueryError:
            return None
        if found.__class__ is not dict:
            return None
        if len(found) > FEW:
            meter.spend(len(found))
        items = chain(repeat(None, len(found)), [found[key] for key in sorted(found)])
        return [
            item
            for item in map(right, items)
            if item is not None and item.__class__ is not MissingValue
        ]

    return run


def _list(tree: Tree, context: LoweringContext) -> Run:
    parts = _children(tree, context)

    def run(value: object) -> object:
        if value is None:
            return None
        return [None if (x := part(value)).__class__ is MissingValue else x for part in parts]

    return run


def _map(tree: Tree, context: LoweringContext) -> Run:
    parts = [(pair["value"], lower(pair["children"][0], context)) for pair in tree["children"]]

    def run(value: object) -> object:
        if value is None:
            return None
        return {
            key: None if (x := part(value)).__class__ is MissingValue else x for key, part in parts
        }

    return run


# Comparisons, and, or, not.


def _comparator(tree: Tree, context: LoweringContext) -> Run:
    name, (left, right) = tree["value"], tree["children"]
    if name not in {"eq", "ne"}:
        return _ordered(name, lower(left, context), lower(right, context))
    if left["type"] == "literal":
        left, right = right, left
    same = _equality(lower(left, context), right, context)
    return same if name == "eq" else lambda value: not same(value)


_ORDERS: Final = MappingProxyType({"lt": lt, "lte": le, "gt": gt, "gte": ge})


def _ordered(name: str, left: Run, right: Run) -> Run:
    """Return the closure of `left < right` etc.: null unless both are floats."""
    order = _ORDERS[name]

    def run(value: object) -> object:
        one, other = left(value), right(value)
        if one.__class__ is float and other.__class__ is float:
            return order(one, other)
        return None

    return run


def _equality(left: Run, right: Tree, context: LoweringContext) -> Run:
    """Return the closure of `left == right`, specialised for literals."""
    wanted = right["value"] if right["type"] == "literal" else ...
    if wanted.__class__ is str:
        return lambda value: left(value) == wanted
    if wanted.__class__ is bool:
        return lambda value: left(value) is wanted  # True and False are singletons
    if wanted is None:

        def is_null(value: object) -> object:
            found = left(value)
            return found is None or found.__class__ is MissingValue

        return is_null
    if wanted.__class__ is float:

        def is_number(value: object) -> object:
            found = left(value)
            return found.__class__ is float and found == wanted

        return is_number
    other_side, meter = lower(right, context), context.system.meter

    def run(value: object) -> object:
        one, other = left(value), other_side(value)
        if one.__class__ is other.__class__ and (one.__class__ is dict or one.__class__ is list):
            meter.weigh(other)
        return deep_equal(
            None if one.__class__ is MissingValue else one,
            None if other.__class__ is MissingValue else other,
        )

    return run


def _or(left: Run, right: Run) -> Run:
    def run(value: object) -> object:
        found = left(value)
        if found or found.__class__ in _NUMERIC:
            return found
        found = right(value)
        return None if found.__class__ is MissingValue else found

    return run


def _and(left: Run, right: Run) -> Run:
    """Return the closure of `left && right`; a missing field on the right is propagated."""

    def run(value: object) -> object:
        found = left(value)
        if found or found.__class__ in _NUMERIC:
            return right(value)
        return None if found.__class__ is MissingValue else found

    return run


def _not(tree: Tree, context: LoweringContext) -> Run:
    inner = lower(tree["children"][0], context)

    def run(value: object) -> object:
        found = inner(value)
        return not (found or found.__class__ in _NUMERIC)

    return run


def _of_two(join: Callable[[Run, Run], Run]) -> Callable[[Tree, LoweringContext], Run]:
    """Return the lowering of a node that combines the closures of its two children."""
    return lambda tree, context: join(*_children(tree, context))


# Function calls: arguments, the checks of their number and types, the call itself.
#
# upstream: kyverno/go-jmespath `functions.go` (CallFunction, resolveArgs, typeCheck). All errors
# are evaluation errors: an expression with an unknown function compiles.


def _is_list_of(kind: type) -> Callable[[object], bool]:
    return lambda value: value.__class__ is list and all(item.__class__ is kind for item in value)


_TYPE_CHECKS: Final[Mapping[str, Callable[[object], bool]]] = {
    "number": lambda value: value.__class__ is float,
    "string": lambda value: value.__class__ is str,
    "array": lambda value: value.__class__ is list,
    "object": lambda value: value.__class__ is dict,
    "array[number]": _is_list_of(float),
    "array[string]": _is_list_of(str),
    "expref": callable,
}
_Check: TypeAlias = Callable[[object], None]
_Code: TypeAlias = Callable[..., object]


def _check(types: tuple[str, ...]) -> _Check:
    """Return a check that raises upstream's error for an argument with none of these types."""
    if "any" in types:
        return lambda _: None
    tests = tuple(test for name, test in _TYPE_CHECKS.items() if name in types)
    accepts = tests[0] if len(tests) == 1 else lambda value: any(test(value) for test in tests)
    expected = ", ".join(f'"{name}"' for name in types)

    def check(value: object) -> None:
        if not accepts(value):
            shown = "{}" if callable(value) else sprint(value)
            raise QueryError(
                f"Invalid type for: {shown}, expected: []jmespath.JpType{{{expected}}}"
            )

    return check


def _count(value: object, meter: Meter) -> None:
    """Count a string or list argument: functions read it, and may create others from it."""
    if value.__class__ is str:
        if len(value) > SHORT:
            meter.spend_text(len(value))
    elif value.__class__ is list and len(value) > FEW:
        meter.spend(len(value))


def _argument_values(arguments: tuple[Run, ...], value: object) -> list[object]:
    return [None if (x := run(value)).__class__ is MissingValue else x for run in arguments]


def _reference(inner: Run) -> Run:
    """Return the closure of `&inner`: its value is a function of an item."""

    def evaluate(item: object) -> object:
        found = inner(item)
        return None if found.__class__ is MissingValue else found

    return _constant(evaluate)


def _call(tree: Tree, context: LoweringContext) -> Run:
    name = tree["value"]
    function = context.function(name)
    takes = function.arguments if function is not None else ()
    arguments = tuple(
        _reference(lower(child["children"][0], context.without_hook()))
        if child["type"] == "expref" and place < len(takes) and takes[place] == ("expref",)
        else lower(child, context)
        for place, child in enumerate(tree["children"])
    )
    if function is None:
        return _failing(f"unknown function: {name}", arguments)
    code, meter = function.code, context.system.meter
    if function.needs_system:
        code = partial(code, context.system)
    if not takes:

        def run(value: object) -> object:
            _argument_values(arguments, value)
            return code()

        return run
    if function.variadic:
        if len(arguments) < len(takes):
            return _failing("Invalid arity.", arguments)
        return _checked_call(arguments, (lambda _: None,) * len(arguments), code, meter)
    if len(arguments) != len(takes):
        return _failing("incorrect number of args", arguments)
    checks = tuple(map(_check, takes))
    call = {1: _call_of_one, 2: _call_of_two}.get(len(arguments), _checked_call)
    return call(arguments, checks, code, meter)


def _checked_call(
    arguments: tuple[Run, ...], checks: tuple[_Check, ...], code: _Code, meter: Meter
) -> Run:
    def run(value: object) -> object:
        values = _argument_values(arguments, value)
        for check, argument in zip(checks, values, strict=True):
            check(argument)
            _count(argument, meter)
        return code(*values)

    return run


def _call_of_one(
    arguments: tuple[Run, ...], checks: tuple[_Check, ...], code: _Code, meter: Meter
) -> Run:
    (argument,), (check,) = arguments, checks

    def run(value: object) -> object:
        given = argument(value)
        if given.__class__ is MissingValue:
            given = None
        check(given)
        if (given.__class__ is str or given.__class__ is list) and len(given) > FEW:
            _count(given, meter)
        return code(given)

    return run


def _call_of_two(
    arguments: tuple[Run, ...], checks: tuple[_Check, ...], code: _Code, meter: Meter
) -> Run:
    first, second = arguments
    check_first, check_second = checks

    def run(value: object) -> object:
        one, other = first(value), second(value)
        if one.__class__ is MissingValue:
            one = None
        if other.__class__ is MissingValue:
            other = None
        check_first(one)
        check_second(other)
        if (one.__class__ is str or one.__class__ is list) and len(one) > FEW:
            _count(one, meter)
        if (other.__class__ is str or other.__class__ is list) and len(other) > FEW:
            _count(other, meter)
        return code(one, other)

    return run


_LOWERINGS: Final[Mapping[str, Callable[[Tree, LoweringContext], Run]]] = {
    "and_expression": _of_two(_and),
    "comparator": _comparator,
    "current": lambda *_: _identity,
    "empty": lambda *_: _failing("Unknown AST node: ASTEmpty"),
    # If the argument is not an expref, upstream prints `&key` as an empty map.
    "expref": lambda *_: lambda _: {},
    "field": lambda tree, _: _field(tree["value"]),
    "filter_projection": _filter,
    "flatten": _flatten,
    "function_expression": _call,
    "identity": lambda *_: _identity,
    "index": _index,
    "index_expression": _chain,
    "literal": lambda tree, _: _constant(tree["value"]),
    "multi_select_dict": _map,
    "multi_select_list": _list,
    "nameless_call": lambda *_: _failing("invalid node value type"),
    "not_expression": _not,
    "or_expression": _of_two(_or),
    "pipe": _of_two(_pipe),
    "projection": _projection,
    "slice": _slice,
    "subexpression": _chain,
    "variable": _variable,
    "value_projection": _values,
}
