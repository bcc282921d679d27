"""Expressions as values: their text, the names they may read, and the closure that evaluates.

A syntax tree becomes a closure by one function for each type of node, with upstream's rules. A
closure takes the current value and returns a value, or a `MissingValue` where a map lacks the key;
any other error raises `QueryError`. upstream: kyverno/go-jmespath `interpreter.go`. Its map order
is random; here values of a map come in the order of their keys.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, partial
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

from kyvsim.jmespath import closures
from kyvsim.jmespath.closures import MissingValue, Run, type_check
from kyvsim.jmespath.functions import Function, QueryError, function_named, functions
from kyvsim.jmespath.parse import QuerySyntaxError, Tree, parse
from kyvsim.kubernetes.go_text import sprint
from kyvsim.kubernetes.objects import Json
from kyvsim.model.diagnostic import likely
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


# Which context entries a query may read: decided by its text, as upstream decides it.
#
# upstream: pkg/engine/context/deferred.go. An entry `x` is loaded before a query in whose text
# `x` stands at a word's start (no dot, letter or digit before it) and ends at a word's end. So
# `a.x` does not load `x`, and the raw string `'x'` does.


_RUN: Final = re.compile(r"[0-9A-Za-z_-]+")
_QUOTED: Final = re.compile(r"""(?<=["'`])[^"'`]++(?=["'`])""")
"""What stands between quotes: an entry may have a name such as `two words`."""

_LONGEST_NAME: Final = 80
_LONGEST_TEXT: Final = 1 << 16
"""What is longer is data (a hash, a certificate), no name; enumerating its parts would cost."""


def names_in(text: str) -> frozenset[str]:
    """Return every name that an entry could have to be loaded for this query text."""
    names: set[str] = set()
    text = text[:_LONGEST_TEXT]
    for found in _RUN.finditer(text):
        run = found[0]
        if len(run) > _LONGEST_NAME:
            continue
        dotted = text.startswith(".", found.start() - 1) if found.start() else False
        if "_" in run or "-" in run:
            # A name ends at a word boundary: letter, digit or underscore on exactly one side.
            is_word = [*(char != "-" for char in run), False]
            starts = [at for at in range(1, len(run)) if run[at - 1] in "-_"]
            if not dotted:
                starts.append(0)
            ends = [at for at in range(1, len(run) + 1) if is_word[at - 1] != is_word[at]]
            names.update([run[start:end] for start in starts for end in ends if start < end])
        elif not dotted:
            names.add(run)
    names.update(found[0] for found in _QUOTED.finditer(text) if len(found[0]) <= _LONGEST_NAME)
    return frozenset(names)


class NotFoundError(QueryError):
    """An expression that ended at a field which a map lacks."""

    def __init__(self, key: str) -> None:
        super().__init__(f'Unknown key "{key}" in path')
        self.key = key


class Query(NamedTuple):
    """A compiled expression; share it freely."""

    text: str
    names: frozenset[str]
    """Names of context entries that upstream would load for it."""
    evaluate: Callable[[Json], Json]
    """Takes plain data; raises `QueryError`, as `NotFoundError` where a map lacks a key."""


_PLAIN: Final = frozenset({"literal", "identity", "current", "variable", "expref", "empty"})
"""Parts whose values are not shown."""


def impossible_calls(expression: str) -> Iterator[str]:
    """Yield why calls of functions in an expression can only fail, whatever their arguments are.

    upstream: kyverno/go-jmespath `functions.go`, CallFunction
    """
    try:
        tree = parse(expression)
    except QuerySyntaxError:
        return
    for name, count in _calls(tree):
        function = function_named(name)
        if function is None:
            yield f"unknown function `{name}`{likely(name, functions())}"
        elif refusal := function.refusal(count):
            yield refusal


def _calls(tree: Tree) -> Iterator[tuple[str, int]]:
    """Yield name and number of arguments of every call in a tree."""
    pending = [tree]
    while pending:
        node = pending.pop()
        children = [child for child in node["children"] if child.__class__ is dict]
        if node["type"] == "function_expression":
            yield node["value"], len(children)
        pending += reversed(children)


NodeHook: TypeAlias = Callable[[tuple[int, int], Run], Run]
"""Takes where a part of an expression begins and ends, and its closure; gives what stands for it.

It is not asked for what has no text of its own, nor for what is evaluated for each element of a
list.
"""


def compile_query(text: str, system: System, on_node: NodeHook | None = None) -> Query:
    """Return the compiled expression; raise `QuerySyntaxError` where the text is none."""
    tree = parse(text, with_spans=on_node is not None)
    context = LoweringContext(function_named, system)
    if on_node:

        def hooked(tree: Tree, run: Run) -> Run:
            span = tree.get("span")
            return on_node(span, run) if span and tree["type"] not in _PLAIN else run

        context = context._replace(on_node=hooked)
    try:
        run = lower(tree, context)
    except RecursionError:
        raise QuerySyntaxError(
            "SyntaxError: the expression is nested too deeply", text, 0
        ) from None

    def evaluate(data: Json) -> Json:
        found = run(data)
        if found.__class__ is MissingValue:
            raise NotFoundError(found.key)
        return found

    return Query(text, names_in(text), evaluate)


# Expressions with bindings: `$name` at any depth, and a missing field is null.

_CACHED = 256


def bound_queries(
    system: System, functions: Mapping[str, Function]
) -> Callable[[str, Json, Mapping[str, Json]], Json]:
    """Return what evaluates an expression on plain data with bindings.

    `functions` are known besides Kyverno's, and win over them. It raises `QueryError`, as
    `QuerySyntaxError` if the text is not an expression; every number should be a float.
    """

    def named(name: str) -> Function | None:
        return functions.get(name) or function_named(name)

    def evaluate(text: str, data: Json, bindings: Mapping[str, Json]) -> Json:
        found = lower(_parsed(text), LoweringContext(named, system, bindings))(data)
        return None if found.__class__ is MissingValue else found

    return evaluate


@lru_cache(maxsize=_CACHED)
def _parsed(text: str) -> Tree:
    return parse(text, bindings=True)
