"""Readings of operands that several operators share: pairs of durations, seconds.

upstream: parseDuration in pkg/engine/variables/operator/operator.go.
"""

from kyvsim.kube.numbers import to_int64, wrap_int64
from kyvsim.kube.objects import Json
from kyvsim.kube.quantities import SECOND, parse_duration


def seconds_as_duration(value: Json) -> int | None:
    """Return a number of seconds, without its fraction, in nanoseconds; None for what is none."""
    kind = value.__class__
    if kind is float:
        return wrap_int64(to_int64(value) * SECOND)
    return wrap_int64(value * SECOND) if kind is int else None


def duration_of(value: Json) -> int | None:
    """Return the nanoseconds of a duration's text; the text "0" counts as no duration."""
    return parse_duration(value) if value.__class__ is str and value != "0" else None


def duration_pair(key: Json, value: Json) -> tuple[int, int] | None:
    """Return both sides in nanoseconds where they compare as durations.

    They do when one of them is a duration's text and the other one too, or a number of seconds.
    """
    left, right = duration_of(key), duration_of(value)
    if left is None and right is None:
        return None
    if left is None:
        left = seconds_as_duration(key)
    if right is None:
        right = seconds_as_duration(value)
    return None if left is None or right is None else (left, right)


def in_seconds(nanoseconds: int) -> float:
    """Return a duration as seconds, in which long ones lose their last nanoseconds."""
    whole, rest = divmod(abs(nanoseconds), SECOND)
    amount = float(whole) + rest / 1e9
    return -amount if nanoseconds < 0 else amount
