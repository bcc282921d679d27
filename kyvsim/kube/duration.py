"""Go durations (`1h30m`, `-1.5s`) as whole nanoseconds.

upstream: Go's time package (ParseDuration and Duration.String).
"""

import re
from types import MappingProxyType

SECOND = 1_000_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
_LIMIT = 1 << 63
_FRACTION_LIMIT = ((1 << 63) - 1) // 10
_UNITS = MappingProxyType(
    {
        "ns": 1,
        "us": 1_000,
        "\u00b5s": 1_000,
        "\u03bcs": 1_000,
        "ms": 1_000_000,
        "s": SECOND,
        "m": MINUTE,
        "h": HOUR,
    }
)
_WHOLE = re.compile(r"([+-]?)((?:(?:[0-9]++\.?[0-9]*+|\.[0-9]++)(?:ns|[u\u00b5\u03bcm]s|[smh]))++)")
"""No part of it is read twice: a long text without a unit takes no longer than one with many."""
_STARTS = frozenset("+-.0123456789")
_ENDS = frozenset("smh")
_PART = re.compile(r"([0-9]*)(?:\.([0-9]*))?([^0-9.]*)")


def parse_duration(text: str) -> int | None:
    """Return the nanoseconds that `text` writes, or None where Go refuses it."""
    may_be = text[:1] in _STARTS and text[-1:] in _ENDS
    found = _WHOLE.fullmatch(text) if may_be else None
    if found is None:
        return 0 if text in ("0", "+0", "-0") else None
    sign, parts = found.groups()
    total = 0
    for whole, fraction, unit in _PART.findall(parts):
        if not unit:
            continue
        nanos = _nanoseconds(whole, fraction, _UNITS[unit])
        if nanos is None:
            return None
        total += nanos
        if total > _LIMIT:
            return None
    if sign == "-":
        return -total
    return None if total == _LIMIT else total


def _nanoseconds(whole: str, fraction: str, unit: int) -> int | None:
    """Return one part in nanoseconds; the fraction goes through a float as in Go."""
    if len(whole.lstrip("0")) > 19:
        return None
    total = int(whole or "0") * unit
    if total > _LIMIT:
        return None
    if fraction:
        digits, scale = 0, 1.0
        for digit in fraction:
            grown = digits * 10 + int(digit)
            if digits > _FRACTION_LIMIT or grown > _LIMIT:
                break
            digits, scale = grown, scale * 10
        total += int(float(digits) * (unit / scale))
    return total if total <= _LIMIT else None


def explain_duration(text: str) -> str:
    """Return the message with which Go refuses `text` as a duration."""
    at = 1 if text[:1] in ("+", "-") else 0
    while at < len(text) and text[at] in ".0123456789":
        found = _PART.match(text, at)
        assert found is not None  # noqa: S101 - the expression fits every text
        whole, fraction, unit = found.groups()
        if not (whole or fraction) or (
            unit in _UNITS and _nanoseconds(whole, fraction or "", _UNITS[unit]) is None
        ):
            break
        if not unit:
            return f"time: missing unit in duration {quote_ascii(text)}"
        if unit not in _UNITS:
            return f"time: unknown unit {quote_ascii(unit)} in duration {quote_ascii(text)}"
        at = found.end()
    return f"time: invalid duration {quote_ascii(text)}"


def quote_ascii(text: str) -> str:
    """Return `text` in quotes as Go's time messages do, all but printable ASCII as bytes in hex."""
    shown = (
        f"\\{char}"
        if char in '"\\'
        else char
        if " " <= char <= "~"
        else "".join(f"\\x{byte:02x}" for byte in char.encode("utf-8", "surrogatepass"))
        for char in text
    )
    return f'"{"".join(shown)}"'


def format_duration(nanoseconds: int) -> str:
    """Return the text Go prints for a duration, e.g. `1h30m0s` or `1.5ms`."""
    if not nanoseconds:
        return "0s"
    sign = "-" if nanoseconds < 0 else ""
    amount = abs(nanoseconds)
    if amount < SECOND:
        for unit, size in (("ns", 1), ("\u00b5s", 1_000), ("ms", 1_000_000)):
            if amount < size * 1_000:
                return f"{sign}{_decimal(amount, size)}{unit}"
    minutes, rest = divmod(amount, MINUTE)
    hours, minutes = divmod(minutes, 60)
    text = f"{_decimal(rest, SECOND)}s"
    if hours:
        return f"{sign}{hours}h{minutes}m{text}"
    return f"{sign}{minutes}m{text}" if minutes else f"{sign}{text}"


def _decimal(amount: int, size: int) -> str:
    """Return `amount / size` (a power of ten) without trailing zeros."""
    whole, rest = divmod(amount, size)
    if not rest:
        return str(whole)
    digits = str(rest).zfill(len(str(size)) - 1).rstrip("0")
    return f"{whole}.{digits}"
