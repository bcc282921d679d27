"""One YAML document: from libyaml's events to plain data, without recursion."""

import contextlib
import re
from collections.abc import Iterator
from typing import Any, TypeAlias

from yaml._yaml import CParser
from yaml.events import (
    AliasEvent,
    DocumentEndEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from kyvsim.kube.objects import Json
from kyvsim.kube.yaml_anchors import Anchors
from kyvsim.kube.yaml_errors import YamlError
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

MAX_DEPTH = 10_000

_ITEM = object()  # stands for the key inside a list
_NO_KEY = object()  # a map waits for its next key
_PROPERTY_STARTS = frozenset("&!")
_BARE_TAG = re.compile(r"(?:&\S+\s+)?!\s")


def parse_events(text: str) -> Iterator[Event]:
    """Return libyaml's events for a text; raises YamlError where it is no proper Unicode."""
    try:
        return iter(CParser(text).get_event, None)
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        raise YamlError("invalid Unicode text: a lone surrogate", line, 1) from error


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


def _merge(target: dict[str, Json], value: Json, kind: type, *, strict: bool) -> None:
    """Put what a `<<` key brings into a map: it overrides the keys before it.

    upstream: go-yaml v2 `decode.go` merge.
    """
    sources = value[::-1] if kind is SequenceEndEvent else [value]
    for source in sources:
        if source.__class__ is not dict:
            raise ScalarError("map merge requires map or sequence of maps as the value")
        if strict:
            for key in source:
                _refuse_twice(target, key)
        target.update(source)


def _refuse_twice(target: dict[str, Json], key: Json) -> None:
    if key in target:
        raise ScalarError(f'key "{key}" already set in map')


def _key_of(event: Event, source: str, anchors: Anchors) -> Json:
    if event.__class__ is AliasEvent:
        return anchors.key(str(event.anchor))
    if _is_plain(event, source):
        return plain_key(event.value) if event.implicit[0] else event.value
    resolved = _resolve_odd(event, source)
    if event.anchor:
        # An infinity makes a key but no value: such an anchor stays unknown.
        with contextlib.suppress(ScalarError):
            anchors.add_scalar(event.anchor, json_value(resolved, event.value), resolved)
    return _odd_key(event, resolved)


def _odd_value(event: Event, source: str, anchors: Anchors, *, floats: bool) -> Json:
    """Return the value of a scalar that may have a tag or an anchor, and record the anchor."""
    resolved = _resolve_odd(event, source)
    value = json_value(resolved, event.value)
    if floats and value.__class__ is int:
        value = float(value)
    if event.anchor:
        anchors.add_scalar(event.anchor, value, resolved)
    return value


def _build(  # noqa: C901, PLR0912, PLR0915 — one pass over events; calls would halve its speed
    events: Iterator[Event], source: str, *, floats: bool, strict: bool
) -> Json:
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
            if has_odd or kind is AliasEvent:
                key = _key_of(event, source, anchors)
            else:
                key = plain_key(event.value) if event.implicit[0] else event.value
            if strict:
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
                raise ScalarError(f"exceeded max depth of {MAX_DEPTH}")
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
            _merge(container, value, kind, strict=strict)
            key = _NO_KEY
        elif key is _NO_KEY:
            raise ScalarError("invalid map key: neither list nor map can be a key")
        else:
            container[key] = value
            key = _NO_KEY
    return None


def read_document(
    events: Iterator[Event], source: str, *, floats: bool = False, strict: bool = False
) -> Json:
    """Return the data of the first document of `source`, whose events are given; None for none.

    Raises YamlError; libyaml's own errors pass through.
    """
    try:
        return _build(events, source, floats=floats, strict=strict)
    except ScalarError as error:
        raise _located(error, source, floats=floats, strict=strict) from error


def _located(error: ScalarError, source: str, *, floats: bool, strict: bool) -> YamlError:
    """Return the error with its position, found by reading the text once more."""
    last = None

    def remembering() -> Iterator[Event]:
        nonlocal last
        for event in parse_events(source):
            last = event
            yield event

    with contextlib.suppress(ScalarError):
        _build(remembering(), source, floats=floats, strict=strict)
    mark = last.start_mark if last else None
    return YamlError(str(error), mark.line + 1, mark.column + 1) if mark else YamlError(str(error))
