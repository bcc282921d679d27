"""Closures of all but calls and loops: fields, indexes, comparisons, literals, logic, optionals."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from kyvsim.cel import operators
from kyvsim.cel.calls import Run, first_decision, spend
from kyvsim.cel.costs import FREE_SIZE
from kyvsim.cel.errors import CelError, no_such_overload
from kyvsim.cel.operators import NUMBERS, as_key, contains, equals, equated, select_if_present
from kyvsim.cel.values import NONE, MadeList, MadeMap, Optional, show_value

_MAX_EXACT = 1 << 53
_PLAIN = frozenset({str, bool, *NUMBERS})
_SIZED: frozenset[Any] = frozenset({str, list, dict, bytes})


UNSET: Final = object()
"""Marks a slot of a frame that has not been computed yet."""


def lazily(slot: int, value: Run) -> Run:
    """Return what reads a slot of the frame, and fills it when it is first read."""

    def run(frame: list[Any]) -> Any:
        found = frame[slot]
        if found is UNSET:
            found = frame[slot] = value(frame)
        return found

    return run


def constant_run(value: Any) -> Run:
    """Return what always returns `value`."""
    return lambda _: value


def path(slot: int, fields: tuple[str, ...]) -> Run:
    """Return the selection of fields, one after the other, from a variable."""

    def slowly(frame: list[Any]) -> Any:
        value = frame[slot]
        for field in fields:
            value = operators.select(value, field)
        return value

    if len(fields) == 1:
        return _field(slot, fields[0], slowly)
    if len(fields) == 2:
        first, second = fields

        def run(frame: list[Any]) -> Any:
            try:
                return frame[slot][first][second]
            except (KeyError, TypeError):
                return slowly(frame)

        return run

    def many(frame: list[Any]) -> Any:
        value = frame[slot]
        try:
            for field in fields:
                value = value[field]
        except (KeyError, TypeError):
            return slowly(frame)
        return value

    return many


def _field(slot: int, field: str, slowly: Run) -> Run:
    def run(frame: list[Any]) -> Any:
        try:
            return frame[slot][field]
        except (KeyError, TypeError):
            return slowly(frame)

    return run


def selected(operand: Run, field: str) -> Run:
    """Return the selection of a field from something other than a variable."""

    def run(frame: list[Any]) -> Any:
        value = operand(frame)
        if value.__class__ is dict and field in value:
            return value[field]
        found = operators.select(value, field)
        if found is NONE:
            frame[0] += 1  # as in `selected_if_present`
        return found

    return run


def selected_if_present(operand: Run, field: str) -> Run:
    """Return the selection of a field as an optional value; one that is missing costs nothing."""

    def run(frame: list[Any]) -> Optional:
        found = operators.select_if_present(operand(frame), field)
        if not found.present:
            frame[0] += 1
        return found

    return run


def indexed(operand: Run, key: Run) -> Run:
    """Return an element of a list or map."""

    def run(frame: list[Any]) -> Any:
        value = operand(frame)
        if value is NONE:  # as upstream, nothing is looked for there, not even the key
            return value
        found = key(frame)
        if value.__class__ is dict and found.__class__ is str and found in value:
            return value[found]
        return operators.index(value, found)

    return run


def indexed_if_present(operand: Run, key: Run) -> Run:
    """Return an element of a list or map as an optional value."""

    def run(frame: list[Any]) -> Optional:
        value = operand(frame)
        found: Optional = value if value is NONE else operators.index_if_present(value, key(frame))
        if not found.present:
            frame[0] += 1
        return found

    return run


def equal_to_constant(left: Run, value: Any, *, negated: bool) -> Run:
    """Return `left == value` or `left != value`."""
    kind = value.__class__
    if kind is str:

        def run(frame: list[Any]) -> bool:
            found = left(frame)
            if found == value:
                return not negated
            if found.__class__ in _SIZED and not len(found):
                frame[0] += 1  # as upstream, nothing is compared with what is empty
            return negated or equated(found, value)

        return run
    if kind is int and abs(value) < _MAX_EXACT:

        def compare(frame: list[Any]) -> bool:
            found = left(frame)
            if found.__class__ in NUMBERS:
                return (found == value) is not negated
            return negated or equated(found, value)

        return compare
    if kind is bool or value is None:
        if negated:
            return lambda frame: left(frame) is not value
        return lambda frame: left(frame) is value
    return lambda frame: equals(left(frame), value) is not negated


def in_constant(item: Run, among: list[Any]) -> Run:
    """Return `item in among` for a list that is known; plain values in it cost nothing."""
    if any(one.__class__ is not str for one in among):
        plain = all(one.__class__ in _PLAIN for one in among)
        size = 0 if plain else len(among)

        def membership(frame: list[Any]) -> bool:
            frame[0] -= size
            return contains(item(frame), among)

        return membership
    texts = frozenset(among)

    def run(frame: list[Any]) -> bool:
        found = item(frame)
        return found.__class__ is str and found in texts

    return run


def contained(item: Run, among: Run, *, by_element: bool) -> Run:
    """Return `item in among`, which costs a step for each element of a list.

    As upstream, it costs one where it is not known beforehand that it will be a list.
    """

    def run(frame: list[Any]) -> bool:
        found, whole = item(frame), among(frame)
        size = len(whole) if isinstance(whole, list) else 1
        spend(frame, size if by_element else 1 + (size // 10 if size > FREE_SIZE else 0))
        return contains(found, whole)

    return run


def list_maker(elements: Sequence[Run], optional: frozenset[int]) -> Run:
    """Return a list of what the closures give; optional elements may be missing."""
    if not optional:
        return lambda frame: MadeList([one(frame) for one in elements])

    def run(frame: list[Any]) -> MadeList:
        made = MadeList()
        for place, one in enumerate(elements):
            value = one(frame)
            if place not in optional:
                made.append(value)
            elif value.__class__ is not Optional:
                shown = show_value(value)
                raise CelError(
                    f"cannot initialize optional list element from non-optional value {shown}"
                )
            elif value.present:
                made.append(value.value)
        return made

    return run


def map_maker(entries: Sequence[tuple[Run, Run, bool]]) -> Run:
    """Return a map of what the closures give; optional entries may be missing."""

    def run(frame: list[Any]) -> MadeMap:
        made = MadeMap()
        for key, value, optional in entries:
            name, found = as_key(key(frame)), value(frame)
            if optional:
                _set_if_present(made, name, found)
            else:
                made[name] = found
        return made

    return run


def struct_maker(
    make: Callable[[dict[str, Any]], Any], fields: Sequence[tuple[str, Run, bool]]
) -> Run:
    """Return a typed object of what the closures give; optional fields may be missing."""

    def run(frame: list[Any]) -> Any:
        made: dict[str, Any] = {}
        for name, value, optional in fields:
            if optional:
                _set_if_present(made, name, value(frame))
            else:
                made[name] = value(frame)
        return make(made)

    return run


def _set_if_present(made: dict[Any, Any], name: Any, found: Any) -> None:
    """Set an entry to what an optional holds; one without a value takes the entry away."""
    if not isinstance(found, Optional):
        shown = show_value(name)
        raise CelError(
            f"cannot initialize optional entry '{shown}' from non-optional value "
            f"{show_value(found)}"
        )
    if found.present:
        made[name] = found.value
    else:
        made.pop(name, None)


# `&&`, `||`, `?:` and the operators that look inside optional values, as closures.
#
# Source of the rules: upstream cel-go interpreter/interpretable.go (evalAnd, evalOr),
# cel/library.go.


def junction(terms: tuple[Run, ...], *, decides: bool) -> Run:
    """Return `||` (which True decides) or `&&` (which False decides) over any number of terms.

    A term that decides makes up for others that fail; else the first failure is the result.
    """
    if len(terms) == 2:
        return _junction_of_two(*terms, decides=decides)
    return lambda frame: first_decision(terms, frame, decides=decides)


def _junction_of_two(left: Run, right: Run, *, decides: bool) -> Run:
    other = not decides

    def run(frame: list[Any]) -> Any:
        try:
            found = left(frame)
        except CelError as error:
            return absorb(frame, error)
        if found is decides:
            return decides
        if found is not other:
            return absorb(frame, no_such_overload())
        found = right(frame)
        if found.__class__ is bool:
            return found
        raise no_such_overload()

    def absorb(frame: list[Any], fault: CelError) -> Any:
        try:
            found = right(frame)
        except CelError:
            raise fault from None
        if found is decides:
            return decides
        raise fault

    return run


def conditional(test: Run, chosen: Run, other: Run) -> Run:
    """Return `test ? chosen : other`."""

    def run(frame: list[Any]) -> Any:
        found = test(frame)
        if found is True:
            return chosen(frame)
        if found is False:
            return other(frame)
        raise no_such_overload()

    return run


def first_present(left: Run, right: Run, *, unwraps: bool) -> Run:
    """Return `left.or(right)`, or `left.orValue(right)` as cel-go has it, which unwraps `left`."""

    def run(frame: list[Any]) -> Any:
        found = left(frame)
        if found.__class__ is not Optional:
            raise no_such_overload()
        if not found.present:
            return right(frame)
        return found.value if unwraps else found

    return run


def lenient_value_or_default(left: Run, right: Run) -> Run:
    """Return `left.orValue(right)` as Kyverno has it.

    What is not optional is taken as it is, and the default is always evaluated: it may fail.
    """

    def run(frame: list[Any]) -> Any:
        found = left(frame)
        default = right(frame)
        if found.__class__ is Optional:
            return found.value if found.present else default
        return found

    return run


def field_or_default(base: Run, fields: tuple[str, ...], default: Run) -> Run:
    """Return `base.?a.?b.orValue(default)` without the optional values in between."""

    def run(frame: list[Any]) -> Any:
        value = base(frame)
        return _field_of(value, fields, default(frame), frame)

    return run


def field_or_constant(base: Run, fields: tuple[str, ...], default: Any) -> Run:
    """Return the same with a default that is known beforehand."""
    first, *others = fields
    if others:
        return lambda frame: _field_of(base(frame), fields, default, frame)

    def run(frame: list[Any]) -> Any:
        value = base(frame)
        if value.__class__ is dict and first in value:
            return value[first]
        return _field_of(value, fields, default, frame)

    return run


def _field_of(value: Any, fields: tuple[str, ...], otherwise: Any, frame: list[Any]) -> Any:
    if value.__class__ is Optional:
        value = value.value
    for place, field in enumerate(fields):
        if value.__class__ is dict:
            present = field in value
            found = value.get(field)
        else:
            present, found = select_if_present(value, field)
        if not present:
            frame[0] += len(fields) - place  # fields that are not found cost nothing
            return otherwise
        value = found
    return value
