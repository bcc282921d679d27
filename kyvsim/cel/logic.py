"""`&&`, `||`, `?:` and the operators that look inside optional values, as closures.

Source of the rules: upstream cel-go interpreter/interpretable.go (evalAnd, evalOr), cel/library.go.
"""

from typing import Any

from kyvsim.cel.access import select_if_present
from kyvsim.cel.errors import CelError, no_such_overload
from kyvsim.cel.loops import Run, first_decision
from kyvsim.cel.values import Optional


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


def first_present(left: Run, right: Run) -> Run:
    """Return `left.or(right)`."""

    def run(frame: list[Any]) -> Any:
        found = left(frame)
        if found.__class__ is not Optional:
            raise no_such_overload()
        return found if found.present else right(frame)

    return run


def value_or_default(left: Run, right: Run) -> Run:
    """Return `left.orValue(right)` as cel-go has it."""

    def run(frame: list[Any]) -> Any:
        found = left(frame)
        if found.__class__ is not Optional:
            raise no_such_overload()
        return found.value if found.present else right(frame)

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
