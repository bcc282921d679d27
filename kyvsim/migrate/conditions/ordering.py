"""GreaterThan, GreaterThanOrEquals, LessThan, LessThanOrEquals."""

import operator
from collections.abc import Callable, Mapping
from types import MappingProxyType

from kyvsim.kube.objects import Json
from kyvsim.light.typed import Final
from kyvsim.migrate.expressions import FALSE, RELATION, Relation, Test
from kyvsim.migrate.known_types import is_number, is_scalar, is_text
from kyvsim.migrate.scalars import amount_test, is_amount, is_number_text
from kyvsim.migrate.values import Value

_HOLDS: Final[Mapping[str, Callable[[float, float], bool]]] = MappingProxyType(
    {">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le}
)


def compared(sign: str, key: Value, value: Value) -> Test:
    """Return the test that a key is larger or smaller than a value."""
    if value.constant:
        return _compared_constant(sign, key, value.constant[0])
    if is_text(key.types) and is_text(value.types):
        left, right = (f"quantity({one.text})" for one in (key, value))
        return Relation(f"{left}.compareTo({right})", sign, "0")
    if is_number(key.types) or is_number(value.types):
        return Relation(_number(key), sign, _number(value))
    left, right = (f"quantity(string({one.text}))" for one in (key, value))
    return Relation(f"{left}.compareTo({right})", sign, "0")


def _number(value: Value) -> str:
    return value.tight(RELATION + 1) if is_number(value.types) else f"double({value.text})"


def _compared_constant(sign: str, key: Value, wanted: Json) -> Test:
    if isinstance(wanted, bool) or wanted is None or isinstance(wanted, list | dict):
        return FALSE
    text = str(wanted)
    if key.asked and not is_number_text(str(key.fallback[0])):
        key = _with_number(sign, key, text)
    if is_number(key.types) and is_number_text(text):
        return Relation(key.tight(RELATION + 1), sign, text)
    if is_amount(text):
        return amount_test(key, sign, text)
    if not is_number_text(text):
        return FALSE
    if is_text(key.types):
        return Relation(f"double({key.text})", sign, text)
    if is_scalar(key.types):
        return amount_test(key, sign, text)
    return Relation(key.tight(RELATION + 1), sign, text)


def _with_number(sign: str, key: Value, bound: str) -> Value:
    """Return a key for whose lack a number stands for which the comparison does not hold."""
    if not is_number_text(bound):
        return key
    number = float(bound)
    beside = {">": number, "<": number, ">=": number - 1, "<=": number + 1}[sign]
    default = 0 if not _HOLDS[sign](0.0, number) else int(beside) if beside.is_integer() else beside
    return key._replace(text=f"{key.asked}.orValue({default})")
