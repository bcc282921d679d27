"""One YAML document: from libyaml's events to plain data, without recursion.

PyYAML is imported in functions: loading it takes a tenth of the startup time, and most texts are
simple enough for `text.py` and `lines.py` to read without it.
"""

import binascii
import contextlib
import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from kyvsim.kubernetes.go_text import format_float, go_syntax
from kyvsim.kubernetes.objects import MAX_DEPTH, TOO_DEEP, Json, is_too_deep
from kyvsim.kubernetes.quantities import whole_where_exact

if TYPE_CHECKING:
    import yaml

# Scalars with Go's types: YAML → JSON → Kubernetes object.
# Source of the rules: go-yaml v2 `resolve.go`, sigs.k8s.io/yaml (map keys), Go's `strconv` and
# `encoding/json`.

INT64_MIN = -(1 << 63)
INT64_MAX = (1 << 63) - 1
UINT64_MAX = (1 << 64) - 1

_ODD_FLOATS = MappingProxyType({"NaN": ".nan", "+Inf": ".inf", "-Inf": "-.inf"})
"""Go's infinities and NaN in YAML spelling."""

MERGE_KEY = object()
"""The result of `plain_key` for `<<`."""

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
"""Plain scalars that are not strings."""
_KEPT, _LONGEST_KEPT = 1 << 13, 100
"""Number of cached scalar values, and the length of the longest: larger caches take memory and are
not faster on dumps.
"""
_NUMBER_STARTS = frozenset("+-0123456789")
_DECIMAL = frozenset("+-.0123456789Ee")
_SHORT = 19
"""Integers with this many digits or more may overflow 64 bits."""
NUMBER_ENDS = frozenset("0123456789._abcdefABCDEF")
"""A scalar that starts with a digit and ends with another character is a string."""
# Regular expressions are strings here, which `re` compiles on first use: decimal integers need
# none, and values are cached.
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
    """A scalar that has no JSON value or cannot be a key."""


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


def resolve(text: str) -> Json:
    """Return the Go value of a plain scalar: None, bool, int up to uint64, float or the text."""
    if text in MEANINGS:
        return MEANINGS[text]
    start = text[0]
    if start in _NUMBER_STARTS:
        if text.isdecimal() and text.isascii() and text[0] != "0" and len(text) < _SHORT:
            return int(text)
        if text[-1] not in NUMBER_ENDS:
            return text
        plain = text.replace("_", "")
        if not _DECIMAL.issuperset(plain) and plain.lstrip("+-")[:1] != "0":
            return text  # such as a hash; only numbers that start with 0 have other letters
        whole = _whole_number(plain)
        if whole is not None:
            return whole
        if re.match(_FLOAT, plain):
            value = float(plain)
            return text if math.isinf(value) else value
        # upstream: go-yaml has a separate branch for binary numbers, which accepts a sign after 0b.
        odd = re.match(_SIGN_AFTER_PREFIX, plain) if plain.startswith("0b") else None
        whole = int(odd[1], 2) if odd else None
        return whole if whole is not None and INT64_MIN <= whole <= INT64_MAX else text
    if start == "." and re.match(_POINT_FLOAT, text):
        value = float(text.replace("_", ""))
        return text if math.isinf(value) else value
    return text


def json_value(value: object) -> Json:
    """Return a resolved value as Go's JSON does: integral floats below 1e21 become int64."""
    if value.__class__ is float:
        if not math.isfinite(value):
            raise ScalarError(f"json: unsupported value: {format_float(value, 'g')}")
        return whole_where_exact(value)
    if value.__class__ is int and value > INT64_MAX:
        return float(value)
    return value


def plain_value(text: str) -> Json:
    """Return the value of a plain scalar; raises ScalarError for infinities and NaN."""
    return _cached_value(text) if len(text) <= _LONGEST_KEPT else json_value(resolve(text))


def plain_float_value(text: str) -> Json:
    """Return the value of a plain scalar as `plain_value` does, with every number as a float."""
    value = plain_value(text)
    return float(value) if value.__class__ is int else value


@lru_cache(maxsize=_KEPT)
def _cached_value(text: str) -> Json:
    return json_value(resolve(text))


def key_text(value: Json) -> str:
    """Return the JSON key of a resolved value; raises ScalarError for values that cannot be keys.

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
    """Return the key of a plain scalar, MERGE_KEY for `<<`; may raise ScalarError."""
    if text == "<<":
        return MERGE_KEY
    return key_text(resolve(text))


def _is_timestamp(text: str) -> bool:
    found = re.match(_TIMESTAMP, text)
    return found is not None and int(found[1]) in range(1, 13) and int(found[2]) in range(1, 32)


def tagged_value(tag: str, text: str) -> Json:
    """Return the Go value of a scalar with an explicit tag; unknown tags leave the text unchanged.

    Raises ScalarError where the text does not match the tag. upstream: go-yaml `resolve`.
    """
    if tag == _BINARY_TAG:
        compact = text.replace("\n", "").replace("\r", "")
        try:
            data = binascii.a2b_base64(compact, strict_mode=True)
        except ValueError:
            data = None
        # Python's strict mode accepts padding after complete groups of four.
        if data is None or len(compact) % 4:
            raise ScalarError("!!binary value contains invalid base64 data")
        # Go's JSON replaces each invalid UTF-8 byte; surrogate escapes preserve their number.
        return re.sub(_ESCAPED_BYTE, "\ufffd", data.decode("utf-8", "surrogateescape"))
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
    """Return the key of a tagged scalar, MERGE_KEY for `!!merge <<`."""
    if tag == _MERGE_TAG and text == "<<":
        return MERGE_KEY
    return key_text(tagged_value(tag, text))


# Conversion of libyaml's errors.

_TOO_DEEP_FOR_LIBYAML = "exceeded maximum nesting depth"
"""libyaml's message, since PyYAML 6.0.4, for nesting beyond a thousand levels: it may look ahead
that far before it emits the first event. Our own limit is lower.
"""


class YamlError(ValueError):
    """A text that is not valid YAML for Kubernetes; line and column count from 1."""

    def __init__(self, message: str, line: int = 0, column: int = 0, go_line: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column
        self.go_line = go_line
        """The line that go-yaml reports, often the previous one; 0 where it reports none."""

    @property
    def go_text(self) -> str:
        """The error as sigs.k8s.io/yaml formats it: `yaml: line 1: did not find …`."""
        if self.message.startswith("json: "):  # YAML that cannot be converted to JSON
            return self.message
        where = f"line {self.go_line}: " if self.go_line else ""
        return f"yaml: {where}{self.message}"


@contextmanager
def parser_errors(text: str | bytes) -> Iterator[None]:
    """Raise libyaml's errors for `text` as YamlError."""
    import yaml

    try:
        yield
    except yaml.YAMLError as error:
        raise from_parser_error(error, text) from error


def from_parser_error(error: "yaml.YAMLError", text: str | bytes) -> YamlError:
    """Return a libyaml error for `text` as a YamlError."""
    import yaml

    if isinstance(error, yaml.MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
        message = error.problem or error.context or "malformed YAML"
        if message == _TOO_DEEP_FOR_LIBYAML:
            message = TOO_DEEP
        if mark is None:
            return YamlError(message)
        # The line that go-yaml reports: its marks count from 0, and only scanner errors have one
        # added. upstream: go.yaml.in/yaml/v2 decode.go `fail`
        go_line: int = error.context_mark.line if error.context_mark else 0
        if error.problem_mark and error.problem_mark.line:
            go_line = error.problem_mark.line + isinstance(error, yaml.scanner.ScannerError)
        return YamlError(message, mark.line + 1, mark.column + 1, go_line)
    if isinstance(error, yaml.reader.ReaderError):
        data = text if isinstance(text, bytes) else text.encode("utf-8", "replace")
        before = data[: error.position]
        line_start = before.rfind(b"\n") + 1
        column = len(before[line_start:].decode("utf-8", "replace")) + 1
        return YamlError(str(error.reason), before.count(b"\n") + 1, column)
    return YamlError(str(error))


class Keys(Enum):
    """How duplicate keys of a map are handled."""

    LAST_WINS = 0
    ONCE = 1
    """Duplicates are rejected, unless one of the two came from a merge (`<<`)."""
    STRICT = 2
    """Duplicates are rejected, also those from a merge."""


# Anchors and aliases of one YAML document, under go-yaml's limit on expansion.
# upstream: go-yaml v2 `decode.go` counts all decoded nodes and those reached through an alias, and
# rejects a document in which the latter exceed the allowed ratio.

_FREE_ALIASED = 100
_FREE_DECODED = 1_000
_RATIO_FALLS_FROM = 400_000
_RATIO_FALLS_TO = 4_000_000


class AnchoredNode(NamedTuple):
    """A complete node that aliases may refer to."""

    value: Json
    cost: int
    """Number of nodes it adds to the count of decoded nodes."""
    scalar: object = None
    """The Go value of a scalar, from which a key is made."""
    is_scalar: bool = False


def copy_tree(value: object) -> Json:
    """Return a copy of plain data that shares no dict and no list with it."""
    if value.__class__ is not dict and value.__class__ is not list:
        return value
    root = value.copy()
    pending = [root]
    while pending:
        node = pending.pop()
        for key, child in node.items() if node.__class__ is dict else enumerate(node):
            if child.__class__ is dict or child.__class__ is list:
                node[key] = child.copy()
                pending.append(node[key])
    return root


def _allowed_ratio(decoded: int) -> float:
    if decoded <= _RATIO_FALLS_FROM:
        return 0.99
    if decoded >= _RATIO_FALLS_TO:
        return 0.10
    return 0.99 - 0.89 * (decoded - _RATIO_FALLS_FROM) / (_RATIO_FALLS_TO - _RATIO_FALLS_FROM)


class Anchors:
    """The anchors found so far in one document."""

    __slots__ = ("_aliased", "_known", "_open")

    def __init__(self) -> None:
        self._known: dict[str, AnchoredNode | None] = {}
        """The nodes by their names; None for a list or map that is not complete."""
        self._open: list[tuple[str, int, int]] = []
        self._aliased = 0

    def add_scalar(self, name: str, value: object, resolved: object) -> None:
        """Record an anchored scalar."""
        self._known[name] = AnchoredNode(value, 1, resolved, is_scalar=True)

    def open(self, name: str, depth: int, decoded: int) -> None:
        """Record the start of an anchored list or map."""
        self._known[name] = None
        self._open.append((name, depth, decoded))

    def close(self, depth: int, value: object, decoded: int) -> None:
        """Record that the list or map at `depth` is complete, if it is anchored."""
        if not self._open or self._open[-1][1] != depth:
            return
        name, _, start = self._open.pop()
        # The anchor may have been redefined inside.
        if self._known[name] is None:
            self._known[name] = AnchoredNode(value, decoded - start + 1)

    def _find(self, name: str) -> AnchoredNode:
        if name not in self._known:
            raise ScalarError(f"unknown anchor '{name}' referenced")
        found = self._known[name]
        if found is None:
            raise ScalarError(f"anchor '{name}' value contains itself")
        return found

    def expand(self, name: str, decoded: int) -> tuple[Json, int]:
        """Return a copy of the node an alias refers to, and the new count of decoded nodes.

        Raises ScalarError for unknown names, cycles and excessive expansion.
        """
        found = self._find(name)
        decoded += found.cost
        self._aliased += found.cost
        if (
            self._aliased > _FREE_ALIASED
            and decoded > _FREE_DECODED
            and self._aliased / decoded > _allowed_ratio(decoded)
        ):
            raise ScalarError("document contains excessive aliasing")
        if is_too_deep(found.value):  # otherwise aliases of aliases could exceed any depth
            raise ScalarError(TOO_DEEP)
        return copy_tree(found.value), decoded

    def key(self, name: str) -> str:
        """Return the map key that an alias refers to."""
        found = self._find(name)
        if not found.is_scalar:
            raise ScalarError(f"invalid map key: {go_syntax(found.value)}")
        return key_text(found.scalar)


Event: TypeAlias = Any
"""An event of libyaml; the type stubs lack most of its attributes."""

_TYPE_KEYS = frozenset({"apiVersion", "kind"})
_ITEM = object()  # the key inside a list
_NO_KEY = object()  # the next event of the map is a key
_PROPERTY_STARTS = frozenset("&!")
_BARE_TAG = re.compile(r"(?:&\S+\s+)?!\s")


def parse_events(text: str) -> Iterator[Event]:
    """Return libyaml's events for a text; raises YamlError where it is not valid Unicode."""
    from yaml._yaml import CParser

    try:
        events = iter(CParser(text).get_event, None)
        is_odd = "?" in text and ("{" in text or "[" in text)
        return _refuse_question_marks(events) if is_odd else events
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        raise YamlError("invalid Unicode text: a lone surrogate", line, 1) from error


def _refuse_question_marks(events: Iterator[Event]) -> Iterator[Event]:
    """Yield events up to a `?` inside a plain scalar of a flow list or map.

    go-yaml ends the scalar there and reports a missing comma; newer libyaml accepts it.

    upstream: go.yaml.in/yaml/v2 scannerc.go (yaml_parser_scan_plain_scalar)
    """
    from yaml.events import (
        MappingEndEvent,
        MappingStartEvent,
        ScalarEvent,
        SequenceEndEvent,
        SequenceStartEvent,
    )

    closing: list[str] = []
    for event in events:
        kind = event.__class__
        if kind is MappingStartEvent or kind is SequenceStartEvent:
            end = "}" if kind is MappingStartEvent else "]"
            closing.append(end if event.flow_style else "")
        elif kind is MappingEndEvent or kind is SequenceEndEvent:
            closing.pop()
        elif kind is ScalarEvent and not event.style and closing and closing[-1]:
            at = event.value.find("?")
            if at >= 0:
                mark = event.start_mark
                message = f"did not find expected ',' or '{closing[-1]}'"
                raise YamlError(message, mark.line + 1, mark.column + 1 + at, go_line=mark.line)
        yield event


def _is_plain(event: Event, source: str) -> bool:
    """Return whether a scalar has neither tag nor anchor."""
    index = event.start_mark.index
    return index >= len(source) or source[index] not in _PROPERTY_STARTS


def _resolve_fallback(event: Event, source: str) -> Json:
    """Return the Go value of a scalar that has a tag or an anchor."""
    if event.tag is not None:
        return tagged_value(event.tag, event.value)
    # libyaml does not report the tag `!`, with which go-yaml leaves the text unchanged.
    if not event.implicit[0] or _BARE_TAG.match(source, event.start_mark.index):
        return event.value
    return resolve(event.value)


_Merged: TypeAlias = dict[int, set[Json]]
"""Keys of an open map that came from a merge and may be set again, by the depth of the map."""


def _merge(
    target: dict[str, Json], value: Json, merged: set[Json], *, is_list: bool, strict: bool
) -> None:
    """Merge the value of a `<<` key into a map: it overrides the keys before it.

    New keys are added to `merged`. upstream: go-yaml v2 `decode.go` merge.
    """
    sources = value[::-1] if is_list else [value]
    for source in sources:
        if source.__class__ is not dict:
            raise ScalarError("map merge requires map or sequence of maps as the value")
        if strict:
            for key in source:
                _refuse_twice(target, key)
        else:
            merged.update(key for key in source if key not in target)
        target.update(source)


def _refuse_twice(target: dict[str, Json], key: object) -> None:
    if key not in target:
        return
    lost = key in _TYPE_KEYS and target.keys() >= _TYPE_KEYS
    hint = ": is a line `---` missing before it?" if lost else ""
    raise ScalarError(f'key "{key}" already set in map{hint}')


def _is_merged(merged: _Merged, depth: int, key: object) -> bool:
    """Return whether a key came from a merge, and forget it: the map sets it now."""
    keys = merged.get(depth)
    if keys is None or key not in keys:
        return False
    keys.remove(key)
    return True


def _key_of(event: Event, source: str, anchors: Anchors) -> Json:
    if _is_plain(event, source):
        return plain_key(event.value) if event.implicit[0] else event.value
    resolved = _resolve_fallback(event, source)
    if event.anchor:
        # An infinity is a valid key but not a value: such an anchor stays unknown.
        with contextlib.suppress(ScalarError):
            anchors.add_scalar(event.anchor, json_value(resolved), resolved)
    if event.tag is not None:
        return tagged_key(event.tag, event.value)
    if event.implicit[0] and resolved == "<<":
        return MERGE_KEY
    return key_text(resolved)


def _build(  # noqa: C901, PLR0912, PLR0915 — one pass over events; calls would halve the speed
    events: Iterator[Event], source: str, *, floats: bool, keys: Keys
) -> Json:
    from yaml.events import (
        AliasEvent,
        DocumentEndEvent,
        MappingEndEvent,
        MappingStartEvent,
        ScalarEvent,
        SequenceEndEvent,
        SequenceStartEvent,
    )

    last_wins = keys is Keys.LAST_WINS
    merged: _Merged = {}
    has_odd = "&" in source or "!" in source
    value_of = plain_float_value if floats else plain_value
    anchors = Anchors()
    stack: list[tuple[Json, Json]] = []
    root: list[Json] = []
    container: Json = root
    key: Json = _ITEM
    decoded = 1
    for event in events:
        kind = event.__class__
        if key is _NO_KEY and (kind is ScalarEvent or kind is AliasEvent):
            decoded += 1
            if kind is AliasEvent:
                key = anchors.key(str(event.anchor))
            elif has_odd:
                key = _key_of(event, source, anchors)
            else:
                key = plain_key(event.value) if event.implicit[0] else event.value
            if not last_wins and key in container and not _is_merged(merged, len(stack), key):
                _refuse_twice(container, key)
            continue
        if kind is ScalarEvent:
            decoded += 1
            if has_odd and not _is_plain(event, source):
                resolved = _resolve_fallback(event, source)
                value = json_value(resolved)
                if floats and value.__class__ is int:
                    value = float(value)
                if event.anchor:
                    anchors.add_scalar(event.anchor, value, resolved)
            else:
                value = value_of(event.value) if event.implicit[0] else event.value
        elif kind is MappingStartEvent or kind is SequenceStartEvent:
            decoded += 1
            stack.append((container, key))
            if len(stack) > MAX_DEPTH:
                raise ScalarError(TOO_DEEP)
            if event.anchor:
                anchors.open(event.anchor, len(stack), decoded)
            container, key = ({}, _NO_KEY) if kind is MappingStartEvent else ([], _ITEM)
            continue
        elif kind is MappingEndEvent or kind is SequenceEndEvent:
            value = container
            if merged:
                merged.pop(len(stack), None)
            if has_odd:
                anchors.close(len(stack), value, decoded)
            container, key = stack.pop()
        elif kind is AliasEvent:
            value, decoded = anchors.expand(event.anchor, decoded + 1)
        elif kind is DocumentEndEvent:
            return root[0]
        else:
            continue
        if key is _ITEM:
            container.append(value)
        elif key is MERGE_KEY:
            is_list = kind is SequenceEndEvent
            arrived = merged.setdefault(len(stack), set())
            _merge(container, value, arrived, is_list=is_list, strict=keys is Keys.STRICT)
            key = _NO_KEY
        elif key is _NO_KEY:
            raise ScalarError(f"invalid map key: {go_syntax(value)}")
        else:
            container[key] = value
            key = _NO_KEY
    return None


def read_document(
    events: Iterator[Event], source: str, *, floats: bool = False, keys: Keys = Keys.LAST_WINS
) -> Json:
    """Return the first document of `source`, whose events are given; None where there is none.

    Raises YamlError; libyaml's own errors pass through.
    """
    try:
        return _build(events, source, floats=floats, keys=keys)
    except ScalarError as error:
        last = None

        def remembering() -> Iterator[Event]:
            nonlocal last
            for event in parse_events(source):
                last = event
                yield event

        with contextlib.suppress(ScalarError):  # parsed again to find the position
            _build(remembering(), source, floats=floats, keys=keys)
        mark = last.start_mark if last else None
        line, column = (mark.line + 1, mark.column + 1) if mark else (0, 0)
        raise YamlError(str(error), line, column) from error


def read_one(text: str, *, floats: bool, keys: Keys) -> Json:
    """Return the first document of a text, None where it is empty; raises YamlError."""
    with parser_errors(text):
        return read_document(parse_events(text), text, floats=floats, keys=keys)


class FirstDocument(NamedTuple):
    """The content of one chunk of YAML."""

    data: Json
    ignored_line: int
    """First line of the text that Kubernetes ignores; 0 where there is none."""


def read_first(text: str, *, floats: bool = False, keys: Keys = Keys.LAST_WINS) -> FirstDocument:
    """Return the first document as `read_one` does, and the first line of ignored text."""
    import yaml

    events = parse_events(text)
    with parser_errors(text):
        data = read_document(events, text, floats=floats, keys=keys)
        try:
            event = next(events)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            return FirstDocument(data, mark.line + 1 if mark else 1)
    is_end = isinstance(event, yaml.StreamEndEvent)
    return FirstDocument(data, 0 if is_end else event.start_mark.line + 1)
