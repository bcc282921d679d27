"""The loop macros as closures.

Source of the rules: upstream cel-go parser/macro.go (what each stands for) and
interpreter/interpretable.go (evalFold). `all` and `exists` absorb errors as `&&` and `||` do.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from kyvsim.cel.costs import RoundSteps
from kyvsim.cel.errors import CelBudgetError, CelError, no_such_overload
from kyvsim.cel.operators import find_key
from kyvsim.cel.values import MadeList, MadeMap, go_type, show_value, type_name

_END = object()
Run = Callable[[list[Any]], Any]
"""An expression as a closure over its frame: steps left, variables, names of loops."""


class LoopParts(NamedTuple):
    """A loop's parts; `second` is the slot of its second name, 0 where it has one only."""

    source: Run
    slot: int
    second: int
    test: Run
    result: Run
    steps: RoundSteps
    """What its rounds take."""


def spend(frame: list[Any], steps: int) -> None:
    """Take steps from those left; raises BudgetError where there are not so many."""
    frame[0] -= steps
    if frame[0] < 0:
        raise CelBudgetError


def charged(run: Run, steps: int) -> Run:
    """Return what takes steps from those left before it runs."""

    def paying(frame: list[Any]) -> Any:
        frame[0] -= steps
        return run(frame)

    return paying


def _elements(value: Any) -> Iterable[Any]:
    if isinstance(value, (list, dict)):
        found: Iterable[Any] = value
        return found
    raise CelError(f"got '{go_type(value)}', expected iterable type")


def _pairs(value: Any) -> Iterable[tuple[Any, Any]]:
    if isinstance(value, list):
        return enumerate(value)
    if isinstance(value, dict):
        if getattr(value, "only_own_kind", False):
            raise no_such_overload()
        return value.items()
    raise CelError(f"unsupported comprehension range type: {go_type(value)}")


def _named_rounds(parts: LoopParts) -> Callable[[list[Any]], Iterator[Any]]:
    """Return what gives the first name of each round, and sets the second where there is one."""
    source, second = parts.source, parts.second

    def one(frame: list[Any]) -> Iterator[Any]:
        return iter(_elements(source(frame)))

    def two(frame: list[Any]) -> Iterator[Any]:
        for first, element in _pairs(source(frame)):
            frame[second] = element
            yield first

    return two if second else one


def _rounds(parts: LoopParts) -> Callable[[list[Any]], Iterable[None]]:
    """Return a generator that sets the names for one round after the other."""
    slot, step, rounds = parts.slot, parts.steps.each, _named_rounds(parts)

    def run(frame: list[Any]) -> Iterable[None]:
        for first in rounds(frame):
            spend(frame, step)
            frame[slot] = first
            yield

    return run


def first_decision(tests: Iterable[Run], frame: list[Any], *, decides: bool) -> Any:
    """Return `decides` if a test gives that, else the other boolean.

    A test that decides makes up for others that fail; else the first failure is the result.
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


def quantifier(parts: LoopParts, *, decides: bool) -> Run:
    """Return `exists` (which True decides) or `all` (which False decides)."""
    # As `first_decision`, written out: most loops of policies are these.
    slot, test, rounds = parts.slot, parts.test, _named_rounds(parts)
    step, _, stopped = parts.steps

    def run(frame: list[Any]) -> Any:
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


def _takers(parts: LoopParts) -> Callable[[list[Any]], Iterable[bool]]:
    """Return a generator over the rounds that the test takes.

    As upstream, a failing test does not stop the loop, and the last failure is the one reported.
    """
    rounds, test, taken = _rounds(parts), parts.test, parts.steps.taken

    def takers(frame: list[Any]) -> Iterable[bool]:
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


def exactly_one(parts: LoopParts) -> Run:
    """Return `exists_one`."""
    takers = _takers(parts)
    return lambda frame: sum(takers(frame)) == 1


def taken(parts: LoopParts) -> Run:
    """Return `filter`."""
    takers, slot = _takers(parts), parts.slot
    return lambda frame: MadeList([frame[slot] for _ in takers(frame)])


def mapped(parts: LoopParts, *, tested: bool) -> Run:
    """Return `map` or `transformList`."""
    rounds = _takers(parts) if tested else _rounds(parts)
    result = parts.result
    return lambda frame: MadeList([result(frame) for _ in rounds(frame)])


def transformed(parts: LoopParts, *, tested: bool) -> Run:
    """Return `transformMap`."""
    rounds = _takers(parts) if tested else _rounds(parts)
    slot, result = parts.slot, parts.result

    def run(frame: list[Any]) -> MadeMap:
        made = MadeMap()
        for _ in rounds(frame):
            made[frame[slot]] = result(frame)
        return made

    return run


def transformed_entries(parts: LoopParts, *, tested: bool) -> Run:
    """Return `transformMapEntry`: the maps that the rounds give, joined."""
    rounds = _takers(parts) if tested else _rounds(parts)
    result = parts.result

    def run(frame: list[Any]) -> MadeMap:
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
