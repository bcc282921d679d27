"""The operators of conditions: one record each, and nothing else of them anywhere.

The order is that in which refusals list them. upstream: pkg/engine/variables/operator (operator.go,
utils.go), pkg/validation/policy/validate.go.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from kyvsim.conditions import equality, membership, ordering
from kyvsim.kube.objects import Json

Test: TypeAlias = Callable[[Json], bool]


class Operator(NamedTuple):
    """What an operator is called, and what it does."""

    name: str
    holds: Callable[[Json, Json], bool]
    """Whether a condition with this key and value holds; never raises."""
    prepare: Callable[[Json], Test] | None = None
    """Makes the test of keys against one value; None where nothing of it can be worked out
    beforehand."""
    successors: tuple[str, ...] = ()
    """The operators to use in its place, where it is on its way out."""
    pairs: Callable[[Json, Json], int] | None = None
    """Counts the elements of a key and a value that are held against each other, where those may be
    many."""
    warned: bool = False
    """Whether the admission of a policy warns of it."""

    def test(self, value: Json) -> Test:
        """Return the test of keys against one value: what can be prepared of `value` is."""
        holds = self.holds
        return self.prepare(value) if self.prepare else lambda key: holds(key, value)


_EQUAL = equality.equals, equality.equals_constant
_NOT_EQUAL = equality.not_equals, equality.not_equals_constant

OPERATORS: tuple[Operator, ...] = (
    Operator("Equal", *_EQUAL, successors=("Equals",)),
    Operator("Equals", *_EQUAL),
    Operator("NotEqual", *_NOT_EQUAL, successors=("NotEquals",)),
    Operator("NotEquals", *_NOT_EQUAL),
    Operator("In", membership.is_in, successors=("AnyIn", "AllIn"), warned=True),
    Operator("AnyIn", membership.any_in, membership.any_in_constant, pairs=membership.pairs),
    Operator("AllIn", membership.all_in, membership.all_in_constant, pairs=membership.pairs),
    Operator("NotIn", membership.is_not_in, successors=("AnyNotIn", "AllNotIn"), warned=True),
    Operator(
        "AnyNotIn", membership.any_not_in, membership.any_not_in_constant, pairs=membership.pairs
    ),
    Operator(
        "AllNotIn", membership.all_not_in, membership.all_not_in_constant, pairs=membership.pairs
    ),
    Operator("GreaterThanOrEquals", ordering.greater_than_or_equals),
    Operator("GreaterThan", ordering.greater_than),
    Operator("LessThanOrEquals", ordering.less_than_or_equals),
    Operator("LessThan", ordering.less_than),
    Operator("DurationGreaterThanOrEquals", ordering.duration_greater_than_or_equals),
    Operator("DurationGreaterThan", ordering.duration_greater_than),
    Operator("DurationLessThanOrEquals", ordering.duration_less_than_or_equals),
    Operator("DurationLessThan", ordering.duration_less_than),
)

operators: Mapping[str, Operator] = MappingProxyType({one.name: one for one in OPERATORS})
"""The same by name."""
