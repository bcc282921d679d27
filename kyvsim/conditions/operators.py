"""The operators by name, and their specialisation for a value known at compile time.

upstream: pkg/engine/variables/operator/operator.go.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeAlias

from kyvsim.conditions import equality, membership, ordering
from kyvsim.kube.objects import Json

Operator: TypeAlias = Callable[[Json, Json], bool]
Test: TypeAlias = Callable[[Json], bool]

operators: Mapping[str, Operator] = MappingProxyType(
    {
        "Equal": equality.equals,
        "Equals": equality.equals,
        "NotEqual": equality.not_equals,
        "NotEquals": equality.not_equals,
        "In": membership.is_in,
        "AnyIn": membership.any_in,
        "AllIn": membership.all_in,
        "NotIn": membership.is_not_in,
        "AnyNotIn": membership.any_not_in,
        "AllNotIn": membership.all_not_in,
        "GreaterThan": ordering.greater_than,
        "GreaterThanOrEquals": ordering.greater_than_or_equals,
        "LessThan": ordering.less_than,
        "LessThanOrEquals": ordering.less_than_or_equals,
        "DurationGreaterThan": ordering.duration_greater_than,
        "DurationGreaterThanOrEquals": ordering.duration_greater_than_or_equals,
        "DurationLessThan": ordering.duration_less_than,
        "DurationLessThanOrEquals": ordering.duration_less_than_or_equals,
    }
)
"""One function `(key, value) -> bool` for each operator; none raises."""

_PREPARED: Mapping[Operator, Callable[[Json], Test]] = MappingProxyType(
    {
        equality.equals: equality.equals_constant,
        equality.not_equals: equality.not_equals_constant,
        membership.any_in: membership.any_in_constant,
        membership.all_in: membership.all_in_constant,
        membership.any_not_in: membership.any_not_in_constant,
        membership.all_not_in: membership.all_not_in_constant,
    }
)


def specialise(name: str, value: Json) -> Test:
    """Return the test of keys against one value: what can be prepared of `value` is.

    Raises KeyError for a name that is no operator.
    """
    operator = operators[name]
    prepare = _PREPARED.get(operator)
    return (lambda key: operator(key, value)) if prepare is None else prepare(value)
