"""The texts Go writes for JSON values: fmt's `%v`, strconv's float forms, encoding/json.

upstream: Go's fmt, strconv and encoding/json packages.
"""

import json
import math
import posixpath
import re
import struct
from types import MappingProxyType

from kyvsim.kubernetes.objects import Json

# The texts Go writes for JSON values: fmt's `%v`, strconv's float forms, encoding/json.
#
# upstream: Go's fmt, strconv and encoding/json packages.


_ESCAPES = MappingProxyType(
    {char: f"\\{shown}" for char, shown in zip('"\\\a\b\f\n\r\t\v', '"\\abfnrtv', strict=True)}
)


def sprint(value: Json) -> str:
    """Return the `%v` text of a value: `1e+06` for the float 1000000, `<nil>` for None."""
    kind = value.__class__
    if kind is str:
        return str(value)
    if kind is float:
        return format_float(value, "g")
    if kind is bool:
        return "true" if value else "false"
    if value is None:
        return "<nil>"
    if kind is list:
        return f"[{' '.join(map(sprint, value))}]"
    if kind is dict:
        return f"map[{' '.join(f'{key}:{sprint(value[key])}' for key in sorted(value))}]"
    return str(value)


def sprint_text(value: Json) -> str:
    """Return the `%s` text of a value: as `%v`, but `%!s(float64=1)` for what is not a string."""
    kind = value.__class__
    if kind is str:
        return str(value)
    if value is None:
        return "%!s(<nil>)"
    if kind is list:
        return f"[{' '.join(map(_sprint_inner, value))}]"
    if kind is dict:
        pairs = (f"{key}:{_sprint_inner(value[key])}" for key in sorted(value))
        return f"map[{' '.join(pairs)}]"
    name = {bool: "bool", float: "float64"}.get(kind, "int64")
    return f"%!s({name}={sprint(value)})"


def _sprint_inner(value: Json) -> str:
    return "<nil>" if value is None else sprint_text(value)


def go_syntax(value: Json) -> str:
    """Return the `%#v` text of a value that was read from YAML."""
    kind = value.__class__
    if kind is str:
        return quote(value)
    if value is None:
        return "interface {}(nil)"
    if kind is list:
        return f"[]interface {{}}{{{', '.join(map(go_syntax, value))}}}"
    if kind is dict:
        pairs = (f"{go_syntax(key)}:{go_syntax(value[key])}" for key in sorted(value))
        return f"map[interface {{}}]interface {{}}{{{', '.join(pairs)}}}"
    return sprint(value)


def sprint_e(number: float) -> str:
    """Return the shortest text in scientific form: `8.08E+03`."""
    return format_float(number, "E")


def format_float(number: float, form: str, bits: int = 64) -> str:
    """Return the shortest text that reads back as `number`, in Go's form `e`, `E`, `f` or `g`.

    `bits` is 64, or 32 to keep only the digits that a float32 needs.
    """
    if math.isnan(number):
        return "NaN"
    if bits == 32:
        number = _narrow(number)
    if math.isinf(number):
        return "+Inf" if number > 0 else "-Inf"
    sign = "-" if math.copysign(1.0, number) < 0 else ""
    digits, exponent = _shortest(abs(number), bits)
    if form == "f" or (form == "g" and -4 <= exponent < 6):
        return sign + _positional(digits, exponent)
    letter = "E" if form == "E" else "e"
    fraction = f".{digits[1:]}" if digits[1:] else ""
    return f"{sign}{digits[0]}{fraction}{letter}{'-' if exponent < 0 else '+'}{abs(exponent):02d}"


def quote(text: str) -> str:
    """Return `text` in double quotes, escaped as strconv.Quote (`%q`) does."""
    return f'"{"".join(map(_quoted, text))}"'


def _quoted(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if char.isprintable():
        return char
    code = ord(char)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def to_json(value: Json) -> str:
    """Return the compact JSON text with sorted keys, and `<`, `>`, `&` escaped.

    Raises ValueError for a number that JSON cannot write (an infinity or NaN).
    """
    kind = value.__class__
    if kind is str:
        return _json_text(value)
    if kind is dict:
        pairs = (f"{_json_text(key)}:{to_json(value[key])}" for key in sorted(value))
        return f"{{{','.join(pairs)}}}"
    if kind is list:
        return f"[{','.join(map(to_json, value))}]"
    if kind is float:
        return _json_number(value)
    if value is None:
        return "null"
    if kind is bool:
        return "true" if value else "false"
    return str(value)


_ESCAPED = "[<>&\u2028\u2029\ud800-\udfff]"


def _json_text(text: str) -> str:
    return re.sub(_ESCAPED, _escape, json.dumps(text, ensure_ascii=False))


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\u{code:04x}" if code < 0xD800 else "\ufffd"


def _json_number(number: float) -> str:
    if not math.isfinite(number):
        raise ValueError(f"json: unsupported value: {format_float(number, 'g')}")
    size = abs(number)
    if not number or 1e-6 <= size < 1e21:
        return format_float(number, "f")
    text = format_float(number, "e")
    return f"{text[:-2]}{text[-1]}" if text[-4:-1] == "e-0" else text


def _narrow(number: float) -> float:
    """Return the float32 nearest to `number`."""
    try:
        return float(struct.unpack("f", struct.pack("f", number))[0])
    except OverflowError:
        return math.copysign(math.inf, number)


def _shortest(number: float, bits: int) -> tuple[str, int]:
    """Return the shortest digits of a number >= 0 and the power of ten of the first one."""
    if bits == 32:
        tries = (f"{number:.{places}e}" for places in range(9))
        text = next(shown for shown in tries if _narrow(float(shown)) == number)
    else:
        text = repr(number)
    mantissa, _, power = text.partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    if not digits:
        return "0", 0
    exponent = int(power or "0") + len(digits) - 1 - len(fraction)
    return digits.rstrip("0"), exponent


def _positional(digits: str, exponent: int) -> str:
    """Return digits in plain decimal notation."""
    if exponent < 0:
        return f"0.{'0' * (-exponent - 1)}{digits}"
    whole = digits[: exponent + 1].ljust(exponent + 1, "0")
    fraction = digits[exponent + 1 :]
    return f"{whole}.{fraction}" if fraction else whole


# Slash-separated paths the way Go's `path` package reads them.


def clean_path(path: str) -> str:
    """Return the shortest path that means the same, as Go's path.Clean does, but "" for ""."""
    cleaned = posixpath.normpath(path) if path else ""
    return f"/{cleaned.lstrip('/')}" if cleaned.startswith("//") else cleaned
