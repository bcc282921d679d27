"""How long a label lets an object live.

Source of the rules: upstream pkg/controllers/ttl/utils.go, k8s.io/kube-openapi
pkg/validation/strfmt/duration.go.
"""

import re
from datetime import UTC, datetime, timedelta

from kyvsim.kube.duration import parse_duration
from kyvsim.kube.objects import Json, labels, metadata, text_field

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
"""Nanoseconds, names of the unit, and how longer names begin."""
_AMOUNT = re.compile("([0-9]+)\\s*([A-Za-z\N{MICRO SIGN}]+)")
_LAYOUTS = ("%Y-%m-%dT%H%M%SZ", "%Y-%m-%d")
_EXACT = re.compile(r"\d{4}-\d\d-\d\d(T\d{6}Z)?")


class TtlError(ValueError):
    """A text that is neither a duration nor a time."""


def end_of_life(obj: Json, now: datetime) -> datetime | None:
    """Return when the label wants an object deleted, None where it has no such label.

    `now` is when an object is created that has no time of creation yet. Raises TtlError where the
    label cannot be read.
    """
    text = labels(obj).get(TTL_LABEL)
    if text is None:
        return None
    lifetime = _duration(text)
    if lifetime is None:
        return _time(text)
    created = text_field(metadata(obj), "creationTimestamp")
    born = datetime.fromisoformat(created) if created else now
    return born + timedelta(microseconds=lifetime / 1000)


def _duration(text: str) -> int | None:
    """Return the nanoseconds that a text stands for: Go's durations, or `2days`, `1w3hours`."""
    plain = parse_duration(text)
    if plain is not None:
        return plain
    found = [
        int(amount) * size
        for amount, unit in _AMOUNT.findall(text)
        for size, names, start in _UNITS
        if unit.lower() in names or unit.lower().startswith(start)
    ]
    return sum(found) if found else None


def _time(text: str) -> datetime:
    for layout in _LAYOUTS if _EXACT.fullmatch(text) else ():
        try:
            return datetime.strptime(text, layout).replace(tzinfo=UTC)
        except ValueError:
            continue
    raise TtlError(f'parsing time "{text}" as "2006-01-02": cannot parse "{text}" as "2006"')
