"""Lifetimes of objects: the values of the label with which Kyverno deletes objects."""

import re
from datetime import UTC, datetime

from kyvsim.kubernetes.quantities import parse_duration

TTL_LABEL = "cleanup.kyverno.io/ttl"
_SECOND = 10**9
_UNITS = (
    (1, ("ns",), "nano"),
    (1_000, ("us", "\N{MICRO SIGN}s"), "micro"),
    (1_000_000, ("ms",), "milli"),
    (_SECOND, ("s",), "sec"),
    (60 * _SECOND, ("m",), "min"),
    (3_600 * _SECOND, ("h", "hr"), "hour"),
    (86_400 * _SECOND, ("d",), "day"),
    (604_800 * _SECOND, ("w", "wk"), "week"),
)
"""Nanoseconds, names of the unit, and the prefix of longer names."""
_AMOUNT = re.compile("([0-9]+)\\s*([A-Za-z\N{MICRO SIGN}]+)")
_LAYOUTS = ("%Y-%m-%dT%H%M%SZ", "%Y-%m-%d")
_EXACT = re.compile(r"\d{4}-\d\d-\d\d(T\d{6}Z)?")


class TtlError(ValueError):
    """A string that is neither a duration nor a time."""


def parse_lifetime(text: str) -> int | datetime:
    """Return a lifetime in nanoseconds, or the time at which it ends, in UTC.

    Raises TtlError. upstream: pkg/controllers/ttl/utils.go, k8s.io/kube-openapi
    pkg/validation/strfmt/duration.go
    """
    lifetime = parse_duration(text)
    if lifetime is not None:
        return lifetime
    # Besides Go's durations, `2days` and `1w3hours` are valid.
    amounts = [
        int(amount) * size
        for amount, unit in _AMOUNT.findall(text)
        for size, names, start in _UNITS
        if unit.lower() in names or unit.lower().startswith(start)
    ]
    if amounts:
        return sum(amounts)
    for layout in _LAYOUTS if _EXACT.fullmatch(text) else ():
        try:
            return datetime.strptime(text, layout).replace(tzinfo=UTC)
        except ValueError:
            continue
    raise TtlError(f'parsing time "{text}" as "2006-01-02": cannot parse "{text}" as "2006"')
