"""Kubernetes quantities such as `500Mi`.

Source of the rules: upstream k8s.io/apiserver pkg/cel/library/quantity.go.
"""

from collections.abc import Callable
from typing import NamedTuple

from kyvsim.cel.environment import Library, function, way
from kyvsim.cel.errors import CelError
from kyvsim.cel.types import CelType, struct
from kyvsim.kubernetes import quantities as kube
from kyvsim.kubernetes.quantities import parse_quantity, quantity_problem

_TYPE = struct("kubernetes.Quantity")
_MAX_INT = (1 << 63) - 1


class Quantity(NamedTuple):
    """A quantity as a value of expressions."""

    amount: kube.Quantity
    computed: bool = False
    """Whether it is a sum or difference: nothing equals one, on the right of `==`, upstream."""

    def __eq__(self, other: object) -> bool:
        """Return whether both are the same amount."""
        return isinstance(other, Quantity) and self.amount == other.amount

    def __hash__(self) -> int:
        """Return the same for the same amount."""
        return hash(self.amount)

    @property
    def only_own_kind(self) -> bool:
        """Whether `==` fails for values of other kinds."""
        return True

    @property
    def cel_type(self) -> CelType:
        """Its type in expressions."""
        return _TYPE

    def __str__(self) -> str:
        """Return the quantity in its canonical form."""
        return str(self.amount)


def _quantity(text: str) -> Quantity:
    found = parse_quantity(text)
    if found is None:
        raise CelError(quantity_problem(text))
    return Quantity(found)


def _is_quantity(text: str) -> bool:
    return parse_quantity(text) is not None


def _whole(value: Quantity) -> int | None:
    """Return the value as an int64, or None where upstream finds none.

    As upstream, a number with decimals is none, whatever they are (`1.0`, `1000m`), and neither is
    one that is kept with its billionths because it is long (`1Pi`).
    """
    amount = value.amount
    if amount.scale < 0 or (amount.format == kube.BINARY_SI and abs(amount.mantissa) == _MAX_INT):
        return None
    try:
        found = amount.whole()
    except OverflowError:
        return None
    return found if -_MAX_INT - 1 <= found <= _MAX_INT else None


def _as_integer(value: Quantity) -> int:
    found = _whole(value)
    if found is None:
        raise CelError("cannot convert value to integer")
    return found


def _compare(left: Quantity, right: Quantity) -> int:
    order = left.amount.compare(right.amount)
    return (order > 0) - (order < 0)


def _sign(value: Quantity) -> int:
    return (value.amount.mantissa > 0) - (value.amount.mantissa < 0)


def _of_int(number: int) -> kube.Quantity:
    return kube.Quantity(number, 0, kube.DECIMAL_EXPONENT)


def _computed(compute: Callable[[kube.Quantity], kube.Quantity], other: kube.Quantity) -> Quantity:
    try:
        return Quantity(compute(other), computed=True)
    except OverflowError as error:
        raise CelError(str(error)) from None


def _q(signature: str) -> str:
    return signature.replace("Q", _TYPE.name)


QUANTITIES = Library(
    "quantity",
    (
        function("quantity", way(_q("(string) -> Q"), _quantity)),
        function("isQuantity", way("(string) -> bool", _is_quantity)),
        function("isInteger", way(_q("Q.() -> bool"), lambda value: _whole(value) is not None)),
        function("asInteger", way(_q("Q.() -> int"), _as_integer)),
        function(
            "asApproximateFloat",
            way(_q("Q.() -> double"), lambda value: value.amount.approximate()),
        ),
        function("sign", way(_q("(Q) -> int"), _sign)),
        function("isLessThan", way(_q("Q.(Q) -> bool"), lambda a, b: _compare(a, b) < 0)),
        function("isGreaterThan", way(_q("Q.(Q) -> bool"), lambda a, b: _compare(a, b) > 0)),
        function("compareTo", way(_q("Q.(Q) -> int"), _compare)),
        function(
            "add",
            way(_q("Q.(Q) -> Q"), lambda a, b: _computed(a.amount.plus, b.amount)),
            way(_q("Q.(int) -> Q"), lambda a, number: _computed(a.amount.plus, _of_int(number))),
        ),
        function(
            "sub",
            way(_q("Q.(Q) -> Q"), lambda a, b: _computed(a.amount.minus, b.amount)),
            way(_q("Q.(int) -> Q"), lambda a, number: _computed(a.amount.minus, _of_int(number))),
        ),
    ),
    types=((Quantity, _TYPE),),
)
