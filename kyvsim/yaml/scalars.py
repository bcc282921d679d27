"""YAML scalars with the types that Go gives them: YAML → JSON → Kubernetes object.

Source of the rules: go-yaml v2 `resolve.go`, sigs.k8s.io/yaml (map keys), Go's `strconv` and
`encoding/json`.
"""

import binascii
import math
import re
from functools import lru_cache
from types import MappingProxyType

from kyvsim.kubernetes.go_text import format_float
from kyvsim.kubernetes.objects import Json
from kyvsim.kubernetes.quantities import whole_where_exact

INT64_MIN = -(1 << 63)
INT64_MAX = (1 << 63) - 1
UINT64_MAX = (1 << 64) - 1

_ODD_FLOATS = MappingProxyType({"NaN": ".nan", "+Inf": ".inf", "-Inf": "-.inf"})
"""Infinities and NaN of Go in the spelling of YAML."""

MERGE_KEY = object()
"""What `plain_key` gives for `<<`."""

_TAG_PREFIX = "tag:yaml.org,2002:"
_MERGE_TAG = _TAG_PREFIX + "merge"
_BINARY_TAG = _TAG_PREFIX + "binary"
_CHECKED_TAGS = frozenset(_TAG_PREFIX + name for name in ("bool", "int", "float", "null"))
_TIMESTAMP_TAG = _TAG_PREFIX + "timestamp"

_TRUE = ("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON")
_FALSE = ("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF")
MEANINGS = MappingProxyType(
    dict.fromkeys(_TRUE, True)
    | dict.fromkeys(_FALSE, False)
    | dict.fromkeys(("", "~", "null", "Null", "NULL"), None)
    | dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan)
    | dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf)
    | dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf)
)
"""The words that are not text."""
_KEPT = 1 << 13
"""Scalars whose values are remembered: more do not make dumps quicker to read, only larger."""
_NUMBER_STARTS = frozenset("+-0123456789")
_SHORT = 19
"""So many digits and more may be too much for 64 bits."""
NUMBER_ENDS = frozenset("0123456789._abcdefABCDEF")
"""What begins with a digit and has another end is text."""
# Regular expressions are texts here, which `re` compiles when they are first used: whole numbers in
# digits take none, and values are remembered.
_INT = r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]{0,19}))\Z"
_FLOAT = r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z"
_POINT_FLOAT = r"\.[0-9]+(?:_[0-9]+)*(?:[eE][-+]?[0-9]+(?:_[0-9]+)*)?\Z"
_SIGN_AFTER_PREFIX = r"0b([-+][01]+)\Z"
_TIMESTAMP = (
    r"\d{4}-(\d{1,2})-(\d{1,2})"
    r"(?:(?:[Tt]\d{1,2}:\d{1,2}:\d{1,2}(?:[.,]\d+)?(?:Z|[-+]\d\d:\d\d))"
    r"| \d{1,2}:\d{1,2}:\d{1,2}(?:[.,]\d+)?)?\Z"
)
_ESCAPED_BYTE = "[\udc80-\udcff]"


class ScalarError(ValueError):
    """A scalar that has no JSON value, or cannot be a key."""


def _whole_number(text: str) -> int | None:
    found = re.match(_INT, text)
    if not found:
        return None
    sign, hexadecimal, binary, octal, decimal = found.groups()
    if decimal:
        value = int(decimal)
    elif hexadecimal:
        value = int(hexadecimal, 16)
    else:
        value = int(binary, 2) if binary else int(octal, 8)
    if sign == "-":
        value = -value
    limit = INT64_MAX if sign else UINT64_MAX
    return value if INT64_MIN <= value <= limit else None


def _number(text: str) -> Json:
    if text.isdecimal() and text.isascii() and text[0] != "0" and len(text) < _SHORT:
        return int(text)
    if text[-1] not in NUMBER_ENDS:
        return text
    plain = text.replace("_", "")
    whole = _whole_number(plain)
    if whole is not None:
        return whole
    if re.match(_FLOAT, plain):
        value = float(plain)
        return text if math.isinf(value) else value
    # upstream: go-yaml has a branch of its own for binary numbers, which lets a sign follow 0b.
    odd = re.match(_SIGN_AFTER_PREFIX, plain) if plain.startswith("0b") else None
    whole = int(odd[1], 2) if odd else None
    return whole if whole is not None and INT64_MIN <= whole <= INT64_MAX else text


def resolve(text: str) -> Json:
    """Return the Go value of a plain scalar: None, bool, int up to uint64, float or the text."""
    if text in MEANINGS:
        return MEANINGS[text]
    start = text[0]
    if start in _NUMBER_STARTS:
        return _number(text)
    if start == "." and re.match(_POINT_FLOAT, text):
        value = float(text.replace("_", ""))
        return text if math.isinf(value) else value
    return text


def json_value(value: Json) -> Json:
    """Return what a resolved value is after Go's JSON: whole floats below 1e21 become int64."""
    if value.__class__ is float:
        if not math.isfinite(value):
            raise ScalarError(f"json: unsupported value: {format_float(value, 'g')}")
        return whole_where_exact(value)
    if value.__class__ is int and value > INT64_MAX:
        return float(value)
    return value


@lru_cache(maxsize=_KEPT)
def plain_value(text: str) -> Json:
    """Return the value of a plain scalar; raises ScalarError for infinities and NaN."""
    return json_value(resolve(text))


@lru_cache(maxsize=_KEPT)
def plain_float_value(text: str) -> Json:
    """Return the value of a plain scalar as `plain_value` does, every number as a float."""
    value = json_value(resolve(text))
    return float(value) if value.__class__ is int else value


def key_text(value: Json) -> str:
    """Return the JSON key that a resolved value makes; raises ScalarError where it makes none.

    upstream: sigs.k8s.io/yaml `convertToJSONableObject`.
    """
    if value.__class__ is str:
        return str(value)
    if value.__class__ is bool:
        return "true" if value else "false"
    if value.__class__ is float:
        text = format_float(value, "g", 32)
        return _ODD_FLOATS.get(text, text)
    if value is None:
        raise ScalarError("unsupported map key: null")
    if value > INT64_MAX:
        raise ScalarError(f"unsupported map key: {value} does not fit into 64 bits")
    return str(value)


@lru_cache(maxsize=1 << 14)
def plain_key(text: str) -> Json:
    """Return the key that a plain scalar makes, MERGE_KEY for `<<`; may raise ScalarError."""
    if text == "<<":
        return MERGE_KEY
    return key_text(resolve(text))


def _is_timestamp(text: str) -> bool:
    found = re.match(_TIMESTAMP, text)
    return found is not None and int(found[1]) in range(1, 13) and int(found[2]) in range(1, 32)


def tagged_value(tag: str, text: str) -> Json:
    """Return the Go value of a scalar with an explicit tag; unknown tags leave the text.

    Raises ScalarError where the text does not fit the tag. upstream: go-yaml `resolve`.
    """
    if tag == _BINARY_TAG:
        compact = text.replace("\n", "").replace("\r", "")
        try:
            data = binascii.a2b_base64(compact, strict_mode=True)
        except ValueError:
            data = None
        # Python's strict mode lets padding follow after complete groups of four.
        if data is None or len(compact) % 4:
            raise ScalarError("!!binary value contains invalid base64 data")
        # Go's JSON replaces every single byte that is no UTF-8; surrogate escapes count them so.
        decoded = data.decode("utf-8", "surrogateescape")
        return re.sub(_ESCAPED_BYTE, "\ufffd", decoded)
    if tag == _TIMESTAMP_TAG and _is_timestamp(text):
        return text
    if tag not in _CHECKED_TAGS and tag != _TIMESTAMP_TAG:
        return text
    value = resolve(text)
    actual = "null" if value is None else value.__class__.__name__
    expected = tag.removeprefix(_TAG_PREFIX)
    if actual == expected:
        return value
    if expected == "float" and actual == "int" and value <= INT64_MAX:
        return float(value)
    raise ScalarError(f"cannot decode !!{actual} `{text}` as a !!{expected}")


def tagged_key(tag: str, text: str) -> Json:
    """Return the key that a tagged scalar makes, MERGE_KEY for `!!merge <<`."""
    if tag == _MERGE_TAG and text == "<<":
        return MERGE_KEY
    return key_text(tagged_value(tag, text))
