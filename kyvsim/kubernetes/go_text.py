"""Text formats of Go: fmt's `%v`, floats, quoted strings, JSON and Base64."""

import base64
import json
import math
import posixpath
import re
import struct
from collections.abc import Mapping
from json import JSONDecodeError
from types import MappingProxyType

from kyvsim.kubernetes.objects import TOO_DEEP, Json, is_too_deep, may_be_too_deep

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
    """Return the `%s` text of a value: like `%v`, but `%!s(float64=1)` for other types."""
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


def _sprint_inner(value: object) -> str:
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


def format_float(number: float, form: str, bits: int = 64) -> str:
    """Return the shortest text that is parsed as `number`, in Go's format `e`, `E`, `f` or `g`.

    `bits` is 64, or 32 for the digits of a float32.
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
        whole = digits[: exponent + 1].ljust(exponent + 1, "0") if exponent >= 0 else "0"
        fraction = digits[exponent + 1 :] if exponent >= 0 else "0" * (-exponent - 1) + digits
        return f"{sign}{whole}.{fraction}" if fraction else sign + whole
    letter = "E" if form == "E" else "e"
    fraction = f".{digits[1:]}" if digits[1:] else ""
    return f"{sign}{digits[0]}{fraction}{letter}{'-' if exponent < 0 else '+'}{abs(exponent):02d}"


def quote(text: str) -> str:
    """Return `text` in double quotes, escaped like strconv.Quote (`%q`)."""
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

    Raises ValueError for numbers that JSON cannot represent (infinity or NaN).
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
        if not math.isfinite(value):
            raise ValueError(f"json: unsupported value: {format_float(value, 'g')}")
        size = abs(value)
        if not value or 1e-6 <= size < 1e21:
            return format_float(value, "f")
        text = format_float(value, "e")
        return f"{text[:-2]}{text[-1]}" if text[-4:-1] == "e-0" else text
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


def _narrow(number: float) -> float:
    """Return the float32 nearest to `number`."""
    try:
        return float(struct.unpack("f", struct.pack("f", number))[0])
    except OverflowError:
        return math.copysign(math.inf, number)


def _shortest(number: float, bits: int) -> tuple[str, int]:
    """Return the shortest digits of a number >= 0 and the exponent of the first digit."""
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


def clean_path(path: str) -> str:
    """Return the shortest equivalent path, like Go's path.Clean, but "" for ""."""
    cleaned = posixpath.normpath(path) if path else ""
    return f"/{cleaned.lstrip('/')}" if cleaned.startswith("//") else cleaned


# JSON as parsed by Go's encoding/json: all numbers are doubles, lone surrogates are replaced.

_LONE = "[\ud800-\udfff]"
_HALF = r"\\u[dD][89a-fA-F]"
_KINDS: Mapping[type, str] = {
    str: "string",
    bool: "bool",
    int: "number",
    float: "number",
    list: "array",
    dict: "object",
}


class JsonError(ValueError):
    """The text is not JSON; the message is Go's."""


def parse_json(text: str) -> Json:
    """Return the data of a JSON text, with all numbers as floats; raises JsonError."""
    try:
        data = _read(text)
    except RecursionError:
        raise JsonError(TOO_DEEP) from None
    except ValueError as error:
        if not isinstance(error, JSONDecodeError):
            raise
        raise JsonError(json_problem(error)) from None
    if may_be_too_deep(text.count("{") + text.count("[")) and is_too_deep(data):
        raise JsonError(TOO_DEEP)
    return _with_characters(data) if "\\u" in text and re.search(_HALF, text) else data


def json_kind(value: object) -> str:
    """Return Go's name for the type of a value (not null) in error messages."""
    return _KINDS[value.__class__]


def _with_characters(value: object) -> Json:
    """Replace lone surrogates, which Go's strings cannot contain."""
    if value.__class__ is str:
        return re.sub(_LONE, "\ufffd", value)
    if value.__class__ is list:
        return [_with_characters(item) for item in value]
    if value.__class__ is dict:
        return {_with_characters(key): _with_characters(item) for key, item in value.items()}
    return value


def _number(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        problem = f"cannot unmarshal number {text} into Go value of type float64"
        raise JsonError(f"json: {problem}")
    return number


def _no_constant(text: str) -> object:
    where = "in numeric literal" if text[0] == "-" else "looking for beginning of value"
    raise JsonError(f"invalid character '{text.lstrip('-')[0]}' {where}")


_read = json.JSONDecoder(parse_int=_number, parse_float=_number, parse_constant=_no_constant).decode


# The message of Go's encoding/json (scanner.go) for a text that is not JSON.

_PLACES: Mapping[str, str] = {
    "Expecting value": "looking for beginning of value",
    "Illegal trailing comma before end of array": "looking for beginning of value",
    "Extra data": "after top-level value",
    "Expecting property name enclosed in double quotes": (
        "looking for beginning of object key string"
    ),
    "Illegal trailing comma before end of object": "looking for beginning of object key string",
    "Expecting ':' delimiter": "after object key",
    "Expecting ',' delimiter": "after object key:value pair",
    "Invalid control character at": "in string literal",
    "Invalid \\escape": "in string escape code",
    "Invalid \\uXXXX escape": "in \\u hexadecimal character escape",
}
_BRACKET = r'(?s)"(?:[^"\\]++|\\.)*+"|([\[{])|([\]}])'
_ESCAPE = re.compile(r"\\(?:u[0-9A-Fa-f]{0,3})?")


def json_problem(error: json.JSONDecodeError) -> str:
    """Return Go's message for a text that Python's decoder rejected."""
    text, at = error.doc, error.pos
    message = error.msg.partition(": ")[0]
    place = _PLACES.get(message)
    if place is None or at >= len(text):
        return "unexpected end of JSON input"
    if message == "Expecting value":
        return _bad_value(text, at)
    if message == "Expecting ',' delimiter" and _open_bracket(text[:at]) == "[":
        place = "after array element"
    elif message.startswith("Illegal trailing comma"):
        at += 1 + len(text[at + 1 :]) - len(text[at + 1 :].lstrip())
    elif "escape" in message:
        found = _ESCAPE.match(text, max(text.rfind("\\", 0, at + 1), 0))
        at = found.end() if found is not None else at
    return _invalid(text[at : at + 1], place) if at < len(text) else "unexpected end of JSON input"


def _invalid(char: str, place: str) -> str:
    char = chr(char.encode("utf-8", "replace")[0])  # Go checks bytes
    shown = {"'": "\\'", '"': '"'}.get(char) or quote(char)[1:-1]
    return f"invalid character '{shown}' {place}"


def _bad_value(text: str, at: int) -> str:
    """Return the error for a misspelt literal, a lone minus, or another invalid value."""
    if text[at] == "-":
        return _invalid(text[at + 1 : at + 2] or " ", "in numeric literal")
    word = {"t": "true", "f": "false", "n": "null"}.get(text[at])
    if word is None:
        return _invalid(text[at], "looking for beginning of value")
    fitting = next(n for n in range(1, len(word)) if text[at + n : at + n + 1] != word[n])
    place = f"in literal {word} (expecting '{word[fitting]}')"
    return _invalid(text[at + fitting : at + fitting + 1] or " ", place)


def _open_bracket(text: str) -> str:
    """Return the innermost open bracket."""
    stack: list[str] = []
    for found in re.finditer(_BRACKET, text):
        if found[1]:
            stack.append(found[1])
        elif found[2] and stack:
            stack.pop()
    return stack[-1] if stack else ""


# Base64 as decoded by Go's encoding/base64 (StdEncoding, RawStdEncoding), which ignores line ends.

_ALPHABET = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
_PADDED = r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?"
_UNPADDED = r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2,3})?"


class Base64Error(ValueError):
    """The text is not base64; the message is Go's."""


def decode_base64(text: str, *, padded: bool = True) -> bytes:
    """Return the bytes of a base64 text with or without padding; raises Base64Error."""
    joined = text.replace("\r", "").replace("\n", "")
    if re.fullmatch(_PADDED if padded else _UNPADDED, joined) is None:
        place = _bad_byte(text, padded=padded)
        raise Base64Error(f"illegal base64 data at input byte {place}")
    return base64.b64decode(f"{joined}{'=' * (-len(joined) % 4)}")


def _bad_byte(text: str, *, padded: bool) -> int:
    """Return the offset at which Go's decoder fails."""
    data = text.encode("utf-8", "replace").decode("latin-1")
    kept = [(at, char) for at, char in enumerate(data) if char not in "\r\n"]
    for place, (at, char) in enumerate(kept):
        if char in _ALPHABET:
            continue
        column, rest = place % 4, kept[place + 1 :]
        if not padded or char != "=" or column < 2:
            return at
        if column == 2:
            if not rest or rest[0][1] != "=":
                return rest[0][0] if rest else len(data)
            rest = rest[1:]
        return rest[0][0] if rest else at
    return len(data) - len(kept) % 4
