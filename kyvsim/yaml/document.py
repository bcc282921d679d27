"""One YAML document: from libyaml's events to plain data, without recursion.

PyYAML is imported in functions: it takes a tenth of a start to load, and the texts that most runs
read are plain, so that `yaml_text` and `yaml_lines` do without it.
"""

import contextlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from kyvsim.kubernetes.go_text import go_syntax
from kyvsim.kubernetes.objects import MAX_DEPTH, TOO_DEEP, Json, is_too_deep
from kyvsim.yaml.scalars import (
    MERGE_KEY,
    ScalarError,
    json_value,
    key_text,
    plain_float_value,
    plain_key,
    plain_value,
    resolve,
    tagged_key,
    tagged_value,
)

if TYPE_CHECKING:
    import yaml

_TOO_DEEP_FOR_LIBYAML = "exceeded maximum nesting depth"
"""libyaml's message, from the release in PyYAML 6.0.4 on, of lists in lists beyond a thousand: it
may look ahead so far before it gives the first of them. Our own bound is lower."""


class YamlError(ValueError):
    """A text that is no YAML as Kubernetes reads it; line and column count from 1."""

    def __init__(self, message: str, line: int = 0, column: int = 0, go_line: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column
        self.go_line = go_line
        """The line that go-yaml names, which is often the one before; 0 where it names none."""

    @property
    def go_text(self) -> str:
        """The error as sigs.k8s.io/yaml words it: `yaml: line 1: did not find …`."""
        if self.message.startswith("json: "):  # YAML that no JSON can be made of
            return self.message
        where = f"line {self.go_line}: " if self.go_line else ""
        return f"yaml: {where}{self.message}"


@contextmanager
def parser_errors(text: str | bytes) -> Iterator[None]:
    """Raise errors of libyaml, which reads `text`, as YamlError."""
    import yaml

    try:
        yield
    except yaml.YAMLError as error:
        raise from_parser_error(error, text) from error


def from_parser_error(error: "yaml.YAMLError", text: str | bytes) -> YamlError:
    """Return the error that libyaml raised for `text` as a YamlError."""
    import yaml

    if isinstance(error, yaml.MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
        message = error.problem or error.context or "malformed YAML"
        if message == _TOO_DEEP_FOR_LIBYAML:
            message = TOO_DEEP
        if mark is None:
            return YamlError(message)
        # The line that go-yaml names: its marks count from 0, and only errors of its scanner have
        # one added. upstream: go.yaml.in/yaml/v2 decode.go `fail`
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
    """What becomes of a key that is in one map twice."""

    LAST_WINS = 0
    ONCE = 1
    """It is refused, unless one of the two came by a merge (`<<`), which a map may override."""
    STRICT = 2
    """It is refused, one that came by a merge too."""


# Anchors and aliases of one YAML document, under go-yaml's limit on expansion.
#
# upstream: go-yaml v2 `decode.go` counts every decoded node and those that were reached through an
# alias, and refuses a document in which the second kind outweighs the rest.

_FREE_ALIASED = 100
_FREE_DECODED = 1_000
_RATIO_FALLS_FROM = 400_000
_RATIO_FALLS_TO = 4_000_000


class AnchoredNode(NamedTuple):
    """A finished node that aliases may name."""

    value: Json
    cost: int
    """Nodes that decoding it takes."""
    scalar: Json = None
    """The Go value of a scalar, from which a key is made."""
    is_scalar: bool = False


class _OpenNode(NamedTuple):
    name: str
    depth: int
    start: int


def copy_tree(value: Json) -> Json:
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
    """The anchors met so far in one document."""

    __slots__ = ("_aliased", "_known", "_open")

    def __init__(self) -> None:
        self._known: dict[str, AnchoredNode | _OpenNode] = {}
        self._open: list[_OpenNode] = []
        self._aliased = 0

    def add_scalar(self, name: str, value: Json, resolved: Json) -> None:
        """Record an anchored scalar."""
        self._known[name] = AnchoredNode(value, 1, resolved, is_scalar=True)

    def open(self, name: str, depth: int, decoded: int) -> None:
        """Record that an anchored list or map begins."""
        entry = _OpenNode(name, depth, decoded)
        self._known[name] = entry
        self._open.append(entry)

    def close(self, depth: int, value: Json, decoded: int) -> None:
        """Record that the list or map at `depth` is complete, if it is anchored."""
        if not self._open or self._open[-1].depth != depth:
            return
        entry = self._open.pop()
        # The name may have been given to another node meanwhile.
        if self._known[entry.name] is entry:
            self._known[entry.name] = AnchoredNode(value, decoded - entry.start + 1)

    def _find(self, name: str) -> AnchoredNode:
        found = self._known.get(name)
        if found is None:
            raise ScalarError(f"unknown anchor '{name}' referenced")
        if isinstance(found, _OpenNode):
            raise ScalarError(f"anchor '{name}' value contains itself")
        return found

    def expand(self, name: str, decoded: int) -> tuple[Json, int]:
        """Return a copy of what an alias names, and the new count of decoded nodes.

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
        if is_too_deep(found.value):  # else aliases of aliases could lead to any depth
            raise ScalarError(TOO_DEEP)
        return copy_tree(found.value), decoded

    def key(self, name: str) -> str:
        """Return the map key that an alias makes."""
        found = self._find(name)
        if not found.is_scalar:
            raise ScalarError(f"invalid map key: {go_syntax(found.value)}")
        return key_text(found.scalar)


Event: TypeAlias = Any
"""An event of libyaml; the stubs know too little of them."""

_TYPE_KEYS = frozenset({"apiVersion", "kind"})
_ITEM = object()  # the key inside a list
_NO_KEY = object()  # a map waits for its next key
_PROPERTY_STARTS = frozenset("&!")
_BARE_TAG = re.compile(r"(?:&\S+\s+)?!\s")


def parse_events(text: str) -> Iterator[Event]:
    """Return libyaml's events for a text; raises YamlError where it is no proper Unicode."""
    from yaml._yaml import CParser

    try:
        events = iter(CParser(text).get_event, None)
        is_odd = "?" in text and ("{" in text or "[" in text)
        return _refuse_question_marks(events) if is_odd else events
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        raise YamlError("invalid Unicode text: a lone surrogate", line, 1) from error


def _refuse_question_marks(events: Iterator[Event]) -> Iterator[Event]:
    """Yield events up to a `?` inside a plain scalar of a list or map in brackets.

    go-yaml ends the scalar there as libyaml did once, and finds no comma; libyaml takes it now.
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
    # libyaml does not report the tag `!`, which makes go-yaml leave the text as it is.
    if not event.implicit[0] or _BARE_TAG.match(source, event.start_mark.index):
        return event.value
    return resolve(event.value)


_Merged: TypeAlias = dict[int, set[Json]]
"""Keys that came into an open map by a merge and may be set again, by the depth of the map."""


def _merge(
    target: dict[str, Json], value: Json, merged: set[Json], *, is_list: bool, strict: bool
) -> None:
    """Put what a `<<` key brings into a map: it overrides the keys before it.

    What is new by it is put into `merged`. upstream: go-yaml v2 `decode.go` merge.
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


def _refuse_twice(target: dict[str, Json], key: Json) -> None:
    if key not in target:
        return
    lost = key in _TYPE_KEYS and target.keys() >= _TYPE_KEYS
    hint = ": is a line `---` missing before it?" if lost else ""
    raise ScalarError(f'key "{key}" already set in map{hint}')


def _is_merged(merged: _Merged, depth: int, key: Json) -> bool:
    """Return whether a key came by a merge, and forget it: the map sets it now."""
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
        # An infinity makes a key but no value: such an anchor stays unknown.
        with contextlib.suppress(ScalarError):
            anchors.add_scalar(event.anchor, json_value(resolved), resolved)
    if event.tag is not None:
        return tagged_key(event.tag, event.value)
    if event.implicit[0] and resolved == "<<":
        return MERGE_KEY
    return key_text(resolved)


def _build(  # noqa: C901, PLR0912, PLR0915 — one pass over events; calls would halve its speed
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
    """Return the data of the first document of `source`, whose events are given; None for none.

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

        with contextlib.suppress(ScalarError):  # once more, for its position
            _build(remembering(), source, floats=floats, keys=keys)
        mark = last.start_mark if last else None
        line, column = (mark.line + 1, mark.column + 1) if mark else (0, 0)
        raise YamlError(str(error), line, column) from error


def read_one(text: str, *, floats: bool, keys: Keys) -> Json:
    """Return the first document of a text, None where it is empty; raises YamlError."""
    with parser_errors(text):
        return read_document(parse_events(text), text, floats=floats, keys=keys)


class FirstDocument(NamedTuple):
    """What one chunk of YAML holds."""

    data: Json
    ignored_line: int
    """Line at which text begins that Kubernetes does not read any more; 0 where there is none."""


def read_first(text: str, *, floats: bool = False, keys: Keys = Keys.LAST_WINS) -> FirstDocument:
    """Return the first document as `read_one` does, and where text begins that is ignored."""
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
