"""One YAML document: from libyaml's events to plain data, without recursion.

PyYAML is imported in functions: it takes a tenth of a start to load, and the texts that most runs
read are plain, so that `yaml_text` and `yaml_lines` do without it.
"""

import contextlib
import re
from collections.abc import Iterator
from typing import Any, TypeAlias

from kyvsim.kube.depth import MAX_DEPTH, TOO_DEEP
from kyvsim.kube.go_text import go_syntax
from kyvsim.kube.objects import Json
from kyvsim.kube.yaml_anchors import Anchors
from kyvsim.kube.yaml_errors import YamlError, parser_errors
from kyvsim.kube.yaml_keys import Keys
from kyvsim.kube.yaml_scalars import (
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

Event: TypeAlias = Any
"""An event of libyaml; the stubs know too little of them."""

_TYPE_KEYS = frozenset({"apiVersion", "kind"})
_ITEM = object()  # stands for the key inside a list
_NO_KEY = object()  # a map waits for its next key
_PROPERTY_STARTS = frozenset("&!")
_BARE_TAG = re.compile(r"(?:&\S+\s+)?!\s")


def parse_events(text: str) -> Iterator[Event]:
    """Return libyaml's events for a text; raises YamlError where it is no proper Unicode."""
    from yaml._yaml import CParser

    try:
        events = iter(CParser(text).get_event, None)
        asks = "?" in text and ("{" in text or "[" in text)
        return _without_open_questions(events) if asks else events
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        raise YamlError("invalid Unicode text: a lone surrogate", line, 1) from error


def _without_open_questions(events: Iterator[Event]) -> Iterator[Event]:
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


def _resolve_odd(event: Event, source: str) -> Json:
    """Return the Go value of a scalar that has a tag or an anchor."""
    if event.tag is not None:
        return tagged_value(event.tag, event.value)
    # libyaml does not report the tag `!`, which makes go-yaml leave the text as it is.
    if not event.implicit[0] or _BARE_TAG.match(source, event.start_mark.index):
        return event.value
    return resolve(event.value)


def _odd_key(event: Event, resolved: Json) -> Json:
    if event.tag is not None:
        return tagged_key(event.tag, event.value)
    if event.implicit[0] and resolved == "<<":
        return MERGE_KEY
    return key_text(resolved)


_Merged: TypeAlias = set[tuple[int, Json]]
"""Keys that came into a map by a merge and may be set again; the map is told by its identity."""


def _merge(
    target: dict[str, Json], value: Json, merged: _Merged | None, *, is_list: bool, strict: bool
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
        elif merged is not None:
            merged.update((id(target), key) for key in source if key not in target)
        target.update(source)


def _refuse_twice(target: dict[str, Json], key: Json) -> None:
    if key not in target:
        return
    lost = key in _TYPE_KEYS and target.keys() >= _TYPE_KEYS
    hint = ": is a line `---` missing before it?" if lost else ""
    raise ScalarError(f'key "{key}" already set in map{hint}')


def _is_merged(merged: _Merged, target: dict[str, Json], key: Json) -> bool:
    """Return whether a key came by a merge, and forget it: the map sets it now."""
    if (id(target), key) not in merged:
        return False
    merged.remove((id(target), key))
    return True


def _key_of(event: Event, source: str, anchors: Anchors) -> Json:
    if _is_plain(event, source):
        return plain_key(event.value) if event.implicit[0] else event.value
    resolved = _resolve_odd(event, source)
    if event.anchor:
        # An infinity makes a key but no value: such an anchor stays unknown.
        with contextlib.suppress(ScalarError):
            anchors.add_scalar(event.anchor, json_value(resolved), resolved)
    return _odd_key(event, resolved)


def _odd_value(event: Event, source: str, anchors: Anchors, *, floats: bool) -> Json:
    """Return the value of a scalar that may have a tag or an anchor, and record the anchor."""
    resolved = _resolve_odd(event, source)
    value = json_value(resolved)
    if floats and value.__class__ is int:
        value = float(value)
    if event.anchor:
        anchors.add_scalar(event.anchor, value, resolved)
    return value


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

    merged: _Merged | None = None if keys is Keys.LAST_WINS else set()
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
            if merged is not None and key in container and not _is_merged(merged, container, key):
                _refuse_twice(container, key)
            continue
        if kind is ScalarEvent:
            decoded += 1
            if has_odd and not _is_plain(event, source):
                value = _odd_value(event, source, anchors, floats=floats)
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
            _merge(container, value, merged, is_list=is_list, strict=keys is Keys.STRICT)
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
        raise _located(error, source, floats=floats, keys=keys) from error


def _located(error: ScalarError, source: str, *, floats: bool, keys: Keys) -> YamlError:
    """Return the error with its position, found by reading the text once more."""
    last = None

    def remembering() -> Iterator[Event]:
        nonlocal last
        for event in parse_events(source):
            last = event
            yield event

    with contextlib.suppress(ScalarError):
        _build(remembering(), source, floats=floats, keys=keys)
    mark = last.start_mark if last else None
    return YamlError(str(error), mark.line + 1, mark.column + 1) if mark else YamlError(str(error))


def read_one(text: str, *, floats: bool, keys: Keys) -> Json:
    """Return the first document of a text, None where it is empty; raises YamlError."""
    with parser_errors(text):
        return read_document(parse_events(text), text, floats=floats, keys=keys)


def read_first(text: str, *, floats: bool, keys: Keys) -> tuple[Json, int]:
    """Return the first document as `read_one` does, and the line of what follows it, 0 for none."""
    events = parse_events(text)
    with parser_errors(text):
        data = read_document(events, text, floats=floats, keys=keys)
        return data, _line_after(events)


def _line_after(events: Iterator[Event]) -> int:
    """Return the line of what follows a document, 0 at the end of the stream."""
    import yaml

    try:
        event = next(events)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        return mark.line + 1 if mark else 1
    return 0 if isinstance(event, yaml.StreamEndEvent) else event.start_mark.line + 1
