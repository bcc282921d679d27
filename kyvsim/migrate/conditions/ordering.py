"""GreaterThan, GreaterThanOrEquals, LessThan, LessThanOrEquals."""

import operator
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from kyvsim.kube.duration import SECOND, parse_duration
from kyvsim.kube.objects import Json
from kyvsim.kube.quantity import parse_quantity
from kyvsim.kube.semver import read_version
from kyvsim.migrate.expressions import (
    FALSE,
    RELATION,
    Choice,
    Each,
    Plain,
    Relation,
    Test,
    every,
    quoted,
    some,
)
from kyvsim.migrate.known_types import is_number, is_scalar, is_text
from kyvsim.migrate.refusal import NotConvertible
from kyvsim.migrate.scalars import amount_test, is_number_text
from kyvsim.migrate.values import Value

_LONG: Final = 60
"""So many characters of an expression are written more than once."""
_PLAIN: Final = "[0-9]+([.][0-9]+)?"
_NUMBER: Final = f"^[-+]?{_PLAIN}([eE][-+]?[0-9]+)?$"
_DURATION: Final = f"^[-+]?({_PLAIN}(ns|us|ms|s|m|h))+$"
_SECONDS: Final = f"^[-+]?({_PLAIN}|({_PLAIN}(ns|us|ms|s|m|h))+)$"
"""What texts of numbers and durations look like, and those of either."""
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
    """Return the comparison with a fixed value, as upstream tries one type after the other.

    upstream: pkg/engine/variables/operator/numeric.go
    """
    if isinstance(wanted, bool) or wanted is None or isinstance(wanted, list | dict):
        return FALSE
    text = str(wanted)
    if key.asked and not is_number_text(str(key.fallback[0])):
        key = _with_number(sign, key, text)
    if key.duration and parse_duration(text) is not None:
        return amount_test(key, sign, text)
    if is_number(key.types):
        return _of_number(sign, key, text)
    if is_scalar(key.types) and not isinstance(wanted, str):
        raise NotConvertible(
            f"the number {text} as the bound of a quantity has no twin in CEL: the rule takes"
            " `100m` for minutes, and refuses other units",
            f'write it as a text: "{text}"',
        )
    if is_scalar(key.types):
        return amount_test(key, sign, text) if parse_quantity(text) is not None else FALSE
    if not is_text(key.types) and not isinstance(wanted, str):
        return Relation(key.tight(RELATION + 1), sign, text)
    return _bound(key, lambda one: _of_text(sign, one, wanted))


def _of_number(sign: str, key: Value, text: str) -> Test:
    """Return the comparison of a number: with a duration it counts seconds."""
    if is_number_text(text):
        return Relation(key.tight(RELATION + 1), sign, text)
    duration = parse_duration(text)
    if duration is None:
        return FALSE
    whole, part = divmod(duration, SECOND)
    return Relation(key.tight(RELATION + 1), sign, repr(duration / SECOND) if part else str(whole))


def _bound(key: Value, test: Callable[[str], Test]) -> Test:
    """Return a test of the text of a key, which is evaluated once where it is long."""
    text = key.tight() if is_text(key.types) else f"string({key.text})"
    if len(text) <= _LONG:
        return test(text)
    return Each(f"[{key.as_text}]", "text", test("text"), "exists")


def _of_text(sign: str, text: str, wanted: Json) -> Test:
    """Return the comparison of a text: a duration, a quantity or number, or a version."""
    if not isinstance(wanted, str):
        number = every(
            [
                Plain(f"{text}.matches({quoted(_NUMBER)})"),
                Relation(f"double({text})", sign, str(wanted)),
            ]
        )
        return some([number, _of_duration(sign, text, f"{wanted}s", _DURATION)])
    duration, quantity = parse_duration(wanted), parse_quantity(wanted)
    if quantity is not None:
        compared_text = f"quantity({text}).compareTo(quantity({quoted(wanted)}))"
        found = every([Plain(f"isQuantity({text})"), Relation(compared_text, sign, "0")])
        if duration is None or wanted == "0":
            return found
        is_duration = Plain(f"{text}.matches({quoted(_DURATION)})")
        return Choice(is_duration, _of_duration(sign, text, wanted), found)
    if duration is not None:
        seconds = f"{text} + ({text}.matches('[0-9.]$') ? 's' : '')"
        return _of_duration(sign, seconds, wanted, _SECONDS, text)
    if _is_version(wanted):
        compared_text = f"semver({text}).compareTo(semver({quoted(wanted)}))"
        return every([Plain(f"isSemver({text})"), Relation(compared_text, sign, "0")])
    return FALSE


def _is_version(text: str) -> bool:
    try:
        read_version(text)
    except ValueError:
        return False
    return True


def _of_duration(sign: str, text: str, wanted: str, form: str = "", read: str = "") -> Test:
    """Return the comparison of durations; `form` is what the text `read` has to look like."""
    found = Relation(f"duration({text})", sign, f"duration({quoted(wanted)})")
    return every([Plain(f"{read or text}.matches({quoted(form)})"), found]) if form else found


def _with_number(sign: str, key: Value, bound: str) -> Value:
    """Return a key for whose lack a number stands for which the comparison does not hold."""
    if not is_number_text(bound):
        return key
    number = float(bound)
    beside = {">": number, "<": number, ">=": number - 1, "<=": number + 1}[sign]
    default = 0 if not _HOLDS[sign](0.0, number) else int(beside) if beside.is_integer() else beside
    return key._replace(text=f"{key.asked}.orValue({default})")
