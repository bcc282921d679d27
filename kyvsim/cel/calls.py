"""Calls of functions as closures that look at the types of their arguments.

Source of the rules: upstream cel-go common/decls/decls.go: one overload that the checker left is
called if the arguments are of its types; of several, the first whose types they are.
"""

from collections.abc import Callable, Mapping
from typing import Any

from kyvsim.cel import values
from kyvsim.cel.costs import weights
from kyvsim.cel.environment import FunctionDecl, Overload
from kyvsim.cel.errors import CelError, no_such_overload
from kyvsim.cel.loops import Run, spend
from kyvsim.cel.types import CelType

Guard = Callable[[Any], bool]
Fault = Callable[..., CelError]


def compile_call(
    found: tuple[FunctionDecl, tuple[Overload, ...]],
    arguments: tuple[Run, ...],
    classes: Mapping[str, type],
) -> Run:
    """Return a function called with arguments."""
    before, after = weights(found[0].name, resolved=len(found[1]) == 1)
    if before is None and after is None:
        return _called(found, arguments, classes)
    call = _called(found, tuple(map(_from_given, range(len(arguments)))), classes)

    def run(frame: list[Any]) -> Any:
        given = [one(frame) for one in arguments]
        if before is not None:
            spend(frame, before(given))
        value = call(given)
        if after is not None:
            spend(frame, after(given, value))
        return value

    return run


def weighed(name: str, operand: Run, constant: Any) -> Run:
    """Return the operand of a call with a constant, which pays for the call."""
    before, _ = weights(name, resolved=True)
    if before is None:
        return operand

    def run(frame: list[Any]) -> Any:
        value = operand(frame)
        spend(frame, before((value, constant)))
        return value

    return run


def _from_given(place: int) -> Run:
    return lambda given: given[place]


def _called(
    found: tuple[FunctionDecl, tuple[Overload, ...]],
    arguments: tuple[Run, ...],
    classes: Mapping[str, type],
) -> Run:
    function, fitting = found
    run = fitting[0].run
    if function.guarded:
        fault = _fault(function)
        if len(fitting) > 1:
            run = _dispatch(function, len(arguments), classes, fault)
        else:
            call = _guarded_call(fitting[0], arguments, classes, fault)
            return _costly(call, fitting[0].cost) if fitting[0].cost > 1 else call
    return _plain_call(run, arguments)


def _fault(function: FunctionDecl) -> Fault:
    if function.fault:
        return lambda *_: CelError(function.fault)
    name = function.name
    return lambda *given: no_such_overload(name, *map(values.type_name, given))


def _plain_call(run: Callable[..., Any], arguments: tuple[Run, ...]) -> Run:
    if len(arguments) == 1:
        (only,) = arguments
        return lambda frame: run(only(frame))
    if len(arguments) == 2:
        first, second = arguments
        return lambda frame: run(first(frame), second(frame))
    return lambda frame: run(*[one(frame) for one in arguments])


def _guarded_call(
    overload: Overload, arguments: tuple[Run, ...], classes: Mapping[str, type], fault: Fault
) -> Run:
    run = overload.run
    plain = [_plain_class(kind, classes) for kind in overload.arguments]
    if len(arguments) == 1 and plain[0] is not None:
        return _class_guarded_unary(run, arguments[0], plain[0], fault)
    if len(arguments) == 2 and plain[0] is not None and plain[1] is not None:
        return _class_guarded_binary(run, arguments, (plain[0], plain[1]), fault)
    guards = _guards(overload, classes)

    def call(frame: list[Any]) -> Any:
        given = [one(frame) for one in arguments]
        for guard, value in zip(guards, given, strict=True):
            if guard is not None and not guard(value):
                raise fault(*given)
        return run(*given)

    return call


def _costly(call: Run, cost: int) -> Run:
    def run(frame: list[Any]) -> Any:
        spend(frame, cost)
        return call(frame)

    return run


def _class_guarded_unary(run: Callable[..., Any], only: Run, kind: type, fault: Fault) -> Run:
    def call(frame: list[Any]) -> Any:
        value = only(frame)
        if value.__class__ is kind:
            return run(value)
        raise fault(value)

    return call


def _class_guarded_binary(
    run: Callable[..., Any], arguments: tuple[Run, ...], kinds: tuple[type, type], fault: Fault
) -> Run:
    first, second = arguments
    kind, other_kind = kinds

    def call(frame: list[Any]) -> Any:
        value = first(frame)
        other = second(frame)
        if value.__class__ is kind and other.__class__ is other_kind:
            return run(value, other)
        raise fault(value, other)

    return call


def _dispatch(
    function: FunctionDecl, count: int, classes: Mapping[str, type], fault: Fault
) -> Callable[..., Any]:
    ways = [
        (_guards(one, classes), one.run)
        for one in function.overloads
        if len(one.arguments) == count
    ]

    def run(*given: Any) -> Any:
        for guards, one in ways:
            if all(
                guard is None or guard(value) for guard, value in zip(guards, given, strict=True)
            ):
                return one(*given)
        raise fault(*given)

    return run


def _guards(overload: Overload, classes: Mapping[str, type]) -> tuple[Guard | None, ...]:
    return tuple(_guard(kind, classes) for kind in overload.arguments)


def _guard(kind: CelType, classes: Mapping[str, type]) -> Guard | None:
    """Return what tells whether a value is of a type; of a list or map, its first entry counts."""
    if kind.kind in {"dyn", "parameter"}:
        return None
    if kind.kind == "list":
        return _list_guard(_guard(kind.parameters[0], classes))
    if kind.kind == "map":
        return _map_guard(*(_guard(one, classes) for one in kind.parameters))
    if classes.get(kind.name) is values.Message:
        return lambda value: value.__class__ is values.Message and value.cel_type == kind
    wanted = _plain_class(kind, classes)
    return lambda value: value.__class__ is wanted


def _list_guard(element: Guard | None) -> Guard:
    if element is None:
        return lambda value: isinstance(value, list)
    return lambda value: isinstance(value, list) and (not value or element(value[0]))


def _map_guard(key: Guard | None, value: Guard | None) -> Guard:
    def guard(found: Any) -> bool:
        if not isinstance(found, dict):
            return False
        for one, other in found.items():
            return (key is None or key(one)) and (value is None or value(other))
        return True

    return guard


def _plain_class(kind: CelType, classes: Mapping[str, type]) -> type | None:
    """Return the one class of a type's values, where nothing else has to be looked at."""
    found = classes.get(kind.name)
    if kind.kind in {"dyn", "parameter", "list", "map"} or found is values.Message:
        return None
    return found or values.class_of(kind)
