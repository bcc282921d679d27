"""Syntax tree → closure: one function a node type, in a table, with upstream's rules.

A closure takes the current value and returns a value, or a `MissingValue` where a map lacks the
key; any other error raises `QueryError`. upstream: kyverno/go-jmespath
`interpreter.go`. Its map order is random; here values of a map come in the order of their keys.
"""

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Final, NamedTuple

from kyvsim.jmespath import closures
from kyvsim.jmespath.closures import MissingValue, Run, type_check
from kyvsim.jmespath.errors import QueryError
from kyvsim.jmespath.functions import Function
from kyvsim.jmespath.parse import Tree
from kyvsim.kubernetes.go_text import sprint
from kyvsim.kubernetes.objects import Json
from kyvsim.model.ports import FEW, SHORT, Meter, System

# Function calls: arguments, the checks of their number and types, the call itself.
#
# upstream: kyverno/go-jmespath `functions.go` (CallFunction, resolveArgs, typeCheck). All faults
# are faults of evaluation: an expression with an unknown function compiles.


def reference(inner: Run) -> Run:
    """Return the closure of `&inner`: its value is what a function calls with an item."""

    def evaluate(item: Json) -> Json:
        found = inner(item)
        return None if found.__class__ is MissingValue else found

    return lambda _: evaluate


def call(name: str, function: Function | None, arguments: tuple[Run, ...], system: System) -> Run:
    """Return the closure of `name(arguments)`; `function` is None if it is unknown."""
    if function is None:
        return _failing_call(arguments, f"unknown function: {name}")
    code, meter = function.code, system.meter
    if function.needs_system:
        code = partial(code, system)
    if not function.arguments:

        def run(value: Json) -> Json:
            _argument_values(arguments, value)
            return code()

        return run
    if function.variadic:
        if len(arguments) < len(function.arguments):
            return _failing_call(arguments, "Invalid arity.")
        return _checked(arguments, (lambda _: None,) * len(arguments), code, meter)
    if len(arguments) != len(function.arguments):
        return _failing_call(arguments, "incorrect number of args")
    checks = tuple(_check(types) for types in function.arguments)
    if len(arguments) == 1:
        return _call_one(arguments[0], checks[0], code, meter)
    if len(arguments) == 2:
        return _call_two(arguments, checks, code, meter)
    return _checked(arguments, checks, code, meter)


def _check(types: tuple[str, ...]) -> Callable[[Json], None]:
    """Return what raises upstream's error for an argument of a wrong type."""
    accepts = type_check(types)
    if accepts is None:
        return lambda _: None
    expected = ", ".join(f'"{name}"' for name in types)

    def check(value: Json) -> None:
        if not accepts(value):
            shown = "{}" if callable(value) else sprint(value)
            raise QueryError(
                f"Invalid type for: {shown}, expected: []jmespath.JpType{{{expected}}}"
            )

    return check


def _count(value: Json, meter: Meter) -> None:
    """Count a text or list that a function is given: it is read, and others may be made of it."""
    if value.__class__ is str:
        if len(value) > SHORT:
            meter.spend_text(len(value))
    elif value.__class__ is list and len(value) > FEW:
        meter.spend(len(value))


def _argument_values(arguments: tuple[Run, ...], value: Json) -> list[Json]:
    return [None if (x := run(value)).__class__ is MissingValue else x for run in arguments]


def _failing_call(arguments: tuple[Run, ...], message: str) -> Run:
    def run(value: Json) -> Json:
        _argument_values(arguments, value)
        raise QueryError(message)

    return run


def _checked(
    arguments: tuple[Run, ...],
    checks: tuple[Callable[[Json], None], ...],
    code: Callable[..., Json],
    meter: Meter,
) -> Run:
    def run(value: Json) -> Json:
        values = _argument_values(arguments, value)
        for check, argument in zip(checks, values, strict=True):
            check(argument)
            _count(argument, meter)
        return code(*values)

    return run


def _call_one(
    argument: Run, check: Callable[[Json], None], code: Callable[..., Json], meter: Meter
) -> Run:
    def run(value: Json) -> Json:
        given = argument(value)
        if given.__class__ is MissingValue:
            given = None
        check(given)
        if (given.__class__ is str or given.__class__ is list) and len(given) > FEW:
            _count(given, meter)
        return code(given)

    return run


def _call_two(
    arguments: tuple[Run, ...],
    checks: tuple[Callable[[Json], None], ...],
    code: Callable[..., Json],
    meter: Meter,
) -> Run:
    first, second = arguments
    check_first, check_second = checks

    def run(value: Json) -> Json:
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


class LoweringContext(NamedTuple):
    """What calls of functions need."""

    function: Callable[[str], Function | None]
    """Finds a function by its name."""
    system: System
    bindings: Mapping[str, Json] = MappingProxyType({})
    """What `$name` stands for."""
    on_node: Callable[[Tree, Run], Run] | None = None
    """Takes the closure of each part that is evaluated once, and returns the replacement."""

    def without_hook(self) -> "LoweringContext":
        """Return the same for parts that are evaluated for each element of a list."""
        return self._replace(on_node=None) if self.on_node else self


def lower(tree: Tree, context: LoweringContext) -> Run:
    """Return the closure that evaluates a tree."""
    run = _LOWERINGS[tree["type"]](tree, context)
    return context.on_node(tree, run) if context.on_node else run


def _children(tree: Tree, context: LoweringContext) -> tuple[Run, ...]:
    return tuple(lower(child, context) for child in tree["children"])


def _variable(tree: Tree, context: LoweringContext) -> Run:
    name = tree["value"]
    if name not in context.bindings:
        return _failing(f"variable not defined: {name}")
    return _constant(context.bindings[name])


def _constant(value: Json) -> Run:
    return lambda _: value


def _failing(message: str) -> Run:
    def run(_: Json) -> Json:
        raise QueryError(message)

    return run


def _steps(tree: Tree) -> list[Tree]:
    """Return the parts of `a.b[0].c` in order, without the nodes that only join them."""
    if tree["type"] not in {"subexpression", "index_expression"}:
        return [] if tree["type"] in {"identity", "current"} else [tree]
    return [step for child in tree["children"] for step in _steps(child)]


def _chain(tree: Tree, context: LoweringContext) -> Run:
    """Lower `a.b[0].c`: runs of fields become one closure each."""
    parts: list[Run] = []
    keys: list[str] = []
    for step in [*_steps(tree), None]:
        if step is not None and step["type"] == "field":
            keys.append(step["value"])
            continue
        if keys:
            parts.append(closures.fields(tuple(keys)))
            keys = []
        if step is not None:
            parts.append(lower(step, context))
    if not parts:
        return closures.identity
    return parts[0] if len(parts) == 1 else closures.in_turn(tuple(parts))


def _projection(tree: Tree, context: LoweringContext) -> Run:
    left = lower(tree["children"][0], context)
    right = tree["children"][1]
    if right["type"] == "identity":
        return closures.project_identity(left)
    if right["type"] == "field":
        return closures.project_field(left, right["value"])
    return closures.project(left, lower(right, context.without_hook()), context.system.meter)


def _filter(tree: Tree, context: LoweringContext) -> Run:
    of, *rest = tree["children"]
    right, condition = (lower(one, context.without_hook()) for one in rest)
    return closures.select(lower(of, context), right, condition, context.system.meter)


def _comparator(tree: Tree, context: LoweringContext) -> Run:
    left, right = tree["children"]
    name = tree["value"]
    if name not in {"eq", "ne"}:
        return closures.ordered(name, lower(left, context), lower(right, context))
    if left["type"] == "literal":
        left, right = right, left
    same = _equality(lower(left, context), right, context)
    return same if name == "eq" else lambda value: not same(value)


def _equality(left: Run, right: Tree, context: LoweringContext) -> Run:
    if right["type"] != "literal":
        return closures.equals(left, lower(right, context), context.system.meter)
    value = right["value"]
    if value is None:
        return closures.equals_null(left)
    if value.__class__ is str:
        return closures.equals_text(left, value)
    if value.__class__ is bool:
        return closures.equals_flag(left, value)
    if value.__class__ is float:
        return closures.equals_number(left, value)
    return closures.equals(left, lower(right, context), context.system.meter)


def _of_two(join: Callable[[Run, Run], Run]) -> Callable[[Tree, LoweringContext], Run]:
    """Return the lowering of a node that joins the closures of its two children."""

    def lowering(tree: Tree, context: LoweringContext) -> Run:
        left, right = _children(tree, context)
        return join(left, right)

    return lowering


def _values(tree: Tree, context: LoweringContext) -> Run:
    of, each = tree["children"]
    right = lower(each, context.without_hook())
    return closures.project_values(lower(of, context), right, context.system.meter)


def _map(tree: Tree, context: LoweringContext) -> Run:
    pairs = tuple((pair["value"], lower(pair["children"][0], context)) for pair in tree["children"])
    return closures.keyed(pairs)


def _call(tree: Tree, context: LoweringContext) -> Run:
    name = tree["value"]
    function = context.function(name)
    takes = function.arguments if function is not None else ()
    arguments = tuple(
        reference(lower(child["children"][0], context.without_hook()))
        if child["type"] == "expref" and place < len(takes) and takes[place] == ("expref",)
        else lower(child, context)
        for place, child in enumerate(tree["children"])
    )
    return call(name, function, arguments, context.system)


_LOWERINGS: Final[Mapping[str, Callable[[Tree, LoweringContext], Run]]] = MappingProxyType(
    {
        "and_expression": _of_two(closures.both),
        "comparator": _comparator,
        "current": lambda *_: closures.identity,
        "empty": lambda *_: _failing("Unknown AST node: ASTEmpty"),
        # Where no function takes it, upstream prints `&key` as an empty map.
        "expref": lambda *_: lambda _: {},
        "field": lambda tree, _: closures.field(tree["value"]),
        "filter_projection": _filter,
        "flatten": lambda tree, context: closures.flatten(
            lower(tree["children"][0], context), context.system.meter
        ),
        "function_expression": _call,
        "identity": lambda *_: closures.identity,
        "index": lambda tree, _: closures.index(tree["value"]),
        "index_expression": _chain,
        "literal": lambda tree, _: _constant(tree["value"]),
        "multi_select_dict": _map,
        "multi_select_list": lambda tree, context: closures.listed(_children(tree, context)),
        "nameless_call": lambda *_: _failing("invalid node value type"),
        "not_expression": lambda tree, context: closures.negate(
            lower(tree["children"][0], context)
        ),
        "or_expression": _of_two(closures.either),
        "pipe": _of_two(closures.pipe),
        "projection": _projection,
        "slice": lambda tree, _: closures.cut(*tree["children"]),
        "subexpression": _chain,
        "variable": _variable,
        "value_projection": _values,
    }
)
