"""Function calls: arguments, the checks of their number and types, the call itself.

upstream: kyverno/go-jmespath `functions.go` (CallFunction, resolveArgs, typeCheck). All faults are
faults of evaluation: an expression with an unknown function compiles.
"""

from collections.abc import Callable
from functools import partial

from kyvsim.expr.closures import Run
from kyvsim.expr.errors import QueryError
from kyvsim.expr.functions.record import Function
from kyvsim.expr.semantics import Missing, type_check
from kyvsim.kube.go_text import sprint
from kyvsim.kube.objects import Json
from kyvsim.model.budget import FEW, SHORT, Meter
from kyvsim.model.ports import System


def reference(inner: Run) -> Run:
    """Return the closure of `&inner`: its value is what a function calls with an item."""

    def ask(item: Json) -> Json:
        found = inner(item)
        return None if found.__class__ is Missing else found

    return lambda _: ask


def call(name: str, function: Function | None, arguments: tuple[Run, ...], system: System) -> Run:
    """Return the closure of `name(arguments)`; `function` is None where there is no such one."""
    if function is None:
        return _failing(arguments, f"unknown function: {name}")
    code, meter = _bound(function, system), system.meter
    if not function.arguments:
        return _dropping(arguments, code)
    if function.variadic:
        if len(arguments) < len(function.arguments):
            return _failing(arguments, "Invalid arity.")
        return _unchecked(arguments, code, meter)
    if len(arguments) != len(function.arguments):
        return _failing(arguments, "incorrect number of args")
    checks = tuple(_check(types) for types in function.arguments)
    if len(arguments) == 1:
        return _call_one(arguments[0], checks[0], code, meter)
    if len(arguments) == 2:
        return _call_two(arguments, checks, code, meter)
    return _checked(arguments, checks, code, meter)


def _bound(function: Function, system: System) -> Callable[..., Json]:
    code = function.code
    if not function.needs_system:
        return code
    return partial(code, system)


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


def _values(arguments: tuple[Run, ...], value: Json) -> list[Json]:
    return [None if (x := run(value)).__class__ is Missing else x for run in arguments]


def _failing(arguments: tuple[Run, ...], message: str) -> Run:
    def run(value: Json) -> Json:
        _values(arguments, value)
        raise QueryError(message)

    return run


def _dropping(arguments: tuple[Run, ...], code: Callable[..., Json]) -> Run:
    def run(value: Json) -> Json:
        _values(arguments, value)
        return code()

    return run


def _unchecked(arguments: tuple[Run, ...], code: Callable[..., Json], meter: Meter) -> Run:
    def run(value: Json) -> Json:
        values = _values(arguments, value)
        for given in values:
            _count(given, meter)
        return code(*values)

    return run


def _checked(
    arguments: tuple[Run, ...],
    checks: tuple[Callable[[Json], None], ...],
    code: Callable[..., Json],
    meter: Meter,
) -> Run:
    def run(value: Json) -> Json:
        values = _values(arguments, value)
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
        if given.__class__ is Missing:
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
        if one.__class__ is Missing:
            one = None
        if other.__class__ is Missing:
            other = None
        check_first(one)
        check_second(other)
        if (one.__class__ is str or one.__class__ is list) and len(one) > FEW:
            _count(one, meter)
        if (other.__class__ is str or other.__class__ is list) and len(other) > FEW:
            _count(other, meter)
        return code(one, other)

    return run
