"""Calls of functions and loop macros, as closures that check the types of their arguments."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import itemgetter
from typing import NamedTuple

from kyvsim.cel import values
from kyvsim.cel.costs import RoundSteps, weights
from kyvsim.cel.environment import Frame, FunctionDecl, Overload, Run
from kyvsim.cel.errors import CelBudgetError, CelError, no_such_overload
from kyvsim.cel.operators import find_key
from kyvsim.cel.types import CelType
from kyvsim.cel.values import MadeList, MadeMap, go_type, show_value, type_name

# The loop macros as closures.
#
# Source of the rules: upstream cel-go parser/macro.go (the expansions) and
# interpreter/interpretable.go (evalFold). `all` and `exists` absorb errors as `&&` and `||` do.

_END = object()


class LoopParts(NamedTuple):
    """A loop's parts; `second` is the slot of its second name, 0 if it has only one."""

    source: Run
    slot: int
    second: int
    test: Run
    result: Run
    steps: RoundSteps


def spend(frame: Frame, steps: int) -> None:
    """Subtract steps from the remaining ones; raises BudgetError if there are not enough."""
    frame[0] -= steps
    if frame[0] < 0:
        raise CelBudgetError


def _named_rounds(parts: LoopParts) -> Callable[[Frame], Iterator[object]]:
    """Return an iterator over the first names of a loop, which also sets the second name."""
    source, second = parts.source, parts.second

    def one(frame: Frame) -> Iterator[object]:
        value = source(frame)
        if isinstance(value, (list, dict)):
            return iter(value)
        raise CelError(f"got '{go_type(value)}', expected iterable type")

    def two(frame: Frame) -> Iterator[object]:
        value = source(frame)
        if not isinstance(value, (list, dict)):
            raise CelError(f"unsupported comprehension range type: {go_type(value)}")
        if getattr(value, "only_own_kind", False):
            raise no_such_overload()
        for first, element in enumerate(value) if isinstance(value, list) else value.items():
            frame[second] = element
            yield first

    return two if second else one


def _rounds(parts: LoopParts) -> Callable[[Frame], Iterable[None]]:
    slot, step, rounds = parts.slot, parts.steps.each, _named_rounds(parts)

    def run(frame: Frame) -> Iterable[None]:
        for first in rounds(frame):
            spend(frame, step)
            frame[slot] = first
            yield

    return run


def first_decision(tests: Iterable[Run], frame: Frame, *, decides: bool) -> object:
    """Return `decides` if a test returns it, or the other boolean if none does.

    A deciding test overrides errors of others; without one the first error is raised.
    """
    fault: CelError | None = None
    for test in tests:
        try:
            found = test(frame)
        except CelError as error:
            fault = fault or error
            continue
        if found is decides:
            return decides
        if found.__class__ is not bool:
            fault = fault or no_such_overload()
    if fault is not None:
        raise fault
    return not decides


def _quantifier(parts: LoopParts, *, decides: bool) -> Run:
    """Return `exists` (which True decides) or `all` (which False decides)."""
    # Inlined `first_decision`: most loops of policies are these.
    slot, test, rounds = parts.slot, parts.test, _named_rounds(parts)
    step, _, stopped = parts.steps

    def run(frame: Frame) -> object:
        fault: CelError | None = None
        rest = rounds(frame)
        for frame[slot] in rest:
            frame[0] -= step
            try:
                found = test(frame)
            except CelError as error:
                fault = fault or error
                continue
            if found is decides:
                if next(rest, _END) is not _END:
                    frame[0] -= stopped
                return decides
            if found.__class__ is not bool:
                fault = fault or no_such_overload()
        if frame[0] < 0:
            raise CelBudgetError
        if fault is not None:
            raise fault
        return not decides

    return run


def _takers(parts: LoopParts) -> Callable[[Frame], Iterable[bool]]:
    """Return a generator of the iterations whose test holds.

    As upstream, a failing test does not stop the loop, and the last error is reported.
    """
    rounds, test, taken = _rounds(parts), parts.test, parts.steps.taken

    def takers(frame: Frame) -> Iterable[bool]:
        fault: CelError | None = None
        for _ in rounds(frame):
            try:
                found = test(frame)
            except CelError as error:
                fault = error
                continue
            if found.__class__ is not bool:
                fault = no_such_overload()
            elif found and fault is None:
                frame[0] -= taken
                yield True
        if fault is not None:
            raise fault

    return takers


def _mapped(parts: LoopParts, tested: bool) -> Run:
    rounds, result = _takers(parts) if tested else _rounds(parts), parts.result
    return lambda frame: MadeList([result(frame) for _ in rounds(frame)])


def _transformed(parts: LoopParts, tested: bool) -> Run:
    rounds = _takers(parts) if tested else _rounds(parts)
    slot, result = parts.slot, parts.result

    def run(frame: Frame) -> MadeMap:
        made = MadeMap()
        for _ in rounds(frame):
            made[frame[slot]] = result(frame)
        return made

    return run


def _transformed_entries(parts: LoopParts, tested: bool) -> Run:
    rounds, result = _takers(parts) if tested else _rounds(parts), parts.result

    def run(frame: Frame) -> MadeMap:
        made = MadeMap()
        for _ in rounds(frame):
            entry = result(frame)
            if not isinstance(entry, dict):
                raise no_such_overload("cel.@mapInsert", "map", type_name(entry))
            for key, value in entry.items():
                if find_key(made, key) is not None:
                    raise CelError(f"insert failed: key {show_value(key)} already exists")
                made[key] = value
        return made

    return run


def compile_loop(kind: str, parts: LoopParts, *, tested: bool) -> Run:
    """Return a loop macro; `tested` is whether its test may skip elements."""
    if kind in {"all", "exists"}:
        return _quantifier(parts, decides=kind == "exists")
    if kind in {"exists_one", "filter"}:
        takers, slot = _takers(parts), parts.slot
        if kind == "exists_one":
            return lambda frame: sum(takers(frame)) == 1
        return lambda frame: MadeList([frame[slot] for _ in takers(frame)])
    return _BUILDERS[kind](parts, tested)


_BUILDERS: Mapping[str, Callable[[LoopParts, bool], Run]] = {
    "map": _mapped,
    "transformList": _mapped,
    "transformMap": _transformed,
    "transformMapEntry": _transformed_entries,
}


# Calls of functions as closures that check the types of their arguments.
#
# Source of the rules: upstream cel-go common/decls/decls.go: one overload that the checker left
# is called if the arguments have its types; of several, the first that matches.

Guard = Callable[[object], bool]
Fault = Callable[..., CelError]


def compile_call(
    found: tuple[FunctionDecl, tuple[Overload, ...]],
    arguments: tuple[Run, ...],
    classes: Mapping[str, type],
) -> Run:
    """Return a call of a function."""
    before, after = weights(found[0].name, resolved=len(found[1]) == 1)
    if before is None and after is None:
        return _called(found, arguments, classes)
    call = _called(found, tuple(map(itemgetter, range(len(arguments)))), classes)

    def run(frame: Frame) -> object:
        given = [one(frame) for one in arguments]
        if before is not None:
            spend(frame, before(given))
        value = call(given)
        if after is not None:
            spend(frame, after(given, value))
        return value

    return run


def weighed(name: str, operand: Run, constant: object) -> Run:
    """Return the operand of a call with a constant, which counts the steps of the call."""
    before, _ = weights(name, resolved=True)
    if before is None:
        return operand

    def run(frame: Frame) -> object:
        value = operand(frame)
        spend(frame, before((value, constant)))
        return value

    return run


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
            overloads = [
                (_guards(one, classes), one.run)
                for one in function.overloads
                if len(one.arguments) == len(arguments)
            ]

            def run(*given: object) -> object:
                for guards, one in overloads:
                    if all(
                        guard is None or guard(value)
                        for guard, value in zip(guards, given, strict=True)
                    ):
                        return one(*given)
                raise fault(*given)

        else:
            call = _guarded_call(fitting[0], arguments, classes, fault)
            return _costly(call, fitting[0].cost) if fitting[0].cost > 1 else call
    if len(arguments) == 1:
        (only,) = arguments
        return lambda frame: run(only(frame))
    if len(arguments) == 2:
        first, second = arguments
        return lambda frame: run(first(frame), second(frame))
    return lambda frame: run(*[one(frame) for one in arguments])


def _fault(function: FunctionDecl) -> Fault:
    if function.fault:
        return lambda *_: CelError(function.fault)
    name = function.name
    return lambda *given: no_such_overload(name, *map(values.type_name, given))


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

    def call(frame: Frame) -> object:
        given = [one(frame) for one in arguments]
        for guard, value in zip(guards, given, strict=True):
            if guard is not None and not guard(value):
                raise fault(*given)
        return run(*given)

    return call


def _costly(call: Run, cost: int) -> Run:
    def run(frame: Frame) -> object:
        spend(frame, cost)
        return call(frame)

    return run


def _class_guarded_unary(run: Callable[..., object], only: Run, kind: type, fault: Fault) -> Run:
    def call(frame: Frame) -> object:
        value = only(frame)
        if value.__class__ is kind:
            return run(value)
        raise fault(value)

    return call


def _class_guarded_binary(
    run: Callable[..., object], arguments: tuple[Run, ...], kinds: tuple[type, type], fault: Fault
) -> Run:
    first, second = arguments
    kind, other_kind = kinds

    def call(frame: Frame) -> object:
        value = first(frame)
        other = second(frame)
        if value.__class__ is kind and other.__class__ is other_kind:
            return run(value, other)
        raise fault(value, other)

    return call


def _guards(overload: Overload, classes: Mapping[str, type]) -> tuple[Guard | None, ...]:
    return tuple(_guard(kind, classes) for kind in overload.arguments)


def _guard(kind: CelType, classes: Mapping[str, type]) -> Guard | None:
    """Return a predicate for values of a type; for a list or map, it checks the first entry."""
    if kind.kind in {"dyn", "parameter"}:
        return None
    if kind.kind == "list":
        element = _guard(kind.parameters[0], classes)
        if element is None:
            return lambda value: isinstance(value, list)
        return lambda value: isinstance(value, list) and (not value or element(value[0]))
    if kind.kind == "map":
        return _map_guard(*(_guard(one, classes) for one in kind.parameters))
    if classes.get(kind.name) is values.Message:
        return lambda value: value.__class__ is values.Message and value.cel_type == kind
    expected = _plain_class(kind, classes)
    return lambda value: value.__class__ is expected


def _map_guard(key: Guard | None, value: Guard | None) -> Guard:
    def guard(found: object) -> bool:
        if not isinstance(found, dict):
            return False
        for one, other in found.items():
            return (key is None or key(one)) and (value is None or value(other))
        return True

    return guard


def _plain_class(kind: CelType, classes: Mapping[str, type]) -> type | None:
    """Return the Python class of a type's values, if it is the only criterion."""
    found = classes.get(kind.name)
    if kind.kind in {"dyn", "parameter", "list", "map"} or found is values.Message:
        return None
    return found or values.class_of(kind)
