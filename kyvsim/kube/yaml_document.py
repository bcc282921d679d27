"""One YAML document: from libyaml's events to plain data, without recursion."""

import re
from collections.abc import Iterator

from yaml.events import (
    AliasEvent,
    DocumentEndEvent,
    Event,
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

MAX_DEPTH = 10_000

_ITEM = object()  # stands for the key inside a list
_NO_KEY = object()  # a map waits for its next key
_BARE_TAG = re.compile(r"(?:&\S+\s+)?!\s")


def _resolve_odd(event: ScalarEvent, source: str) -> Json:
    """Return the Go value of a scalar that has a tag or an anchor."""
    if event.tag is not None:
        return tagged_value(event.tag, event.value)
    # libyaml does not report the tag `!`, which makes go-yaml leave the text as it is.
    if not event.implicit[0] or _BARE_TAG.match(source, event.start_mark.index):
        return event.value
    return resolve(event.value)


def _odd_key(event: ScalarEvent, resolved: Json) -> Json:
    if event.tag is not None:
        return tagged_key(event.tag, event.value)
    if event.implicit[0] and resolved == "<<":
        return MERGE_KEY
    return key_text(resolved)


def _merge(target: dict[str, Json], value: Json, kind: type[Event], strict: bool) -> None:
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


def read_document(  # noqa: C901, PLR0912, PLR0915 — one pass over events; calls would halve its speed
    events: Iterator[Event], source: str, *, floats: bool, strict: bool
) -> Json:
    """Return the data of the next document of an event stream; None where there is none.

    `source` is the text the events come from. Raises YamlError; libyaml's own errors pass through.
    """
    has_odd = "&" in source or "!" in source
    value_of = plain_float_value if floats else plain_value
    anchors = Anchors()
    stack: list[tuple[Json, Json]] = []
    container: Json = []
    root, key = container, _ITEM
    decoded = 1
    event = None
    try:
        for event in events:
            kind = event.__class__
            if kind is ScalarEvent:
                decoded += 1
                if has_odd and source[event.start_mark.index : event.start_mark.index + 1] in "&!":
                    resolved = _resolve_odd(event, source)
                    value = json_value(resolved, event.value)
                    if floats and value.__class__ is int:
                        value = float(value)
                    if event.anchor:
                        anchors.add_scalar(event.anchor, value, resolved)
                    if key is _NO_KEY:
                        key = _odd_key(event, resolved)
                        continue
                elif key is _NO_KEY:
                    key = plain_key(event.value) if event.implicit[0] else event.value
                    if strict:
                        _refuse_twice(container, key)
                    continue
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
                anchors.close(len(stack), value, decoded)
                container, key = stack.pop()
            elif kind is AliasEvent:
                if key is _NO_KEY:
                    key = anchors.key(event.anchor)
                    continue
                value, decoded = anchors.expand(event.anchor, decoded + 1)
            elif kind is DocumentEndEvent:
                return root[0]
            else:
                continue
            if key is _ITEM:
                container.append(value)
            elif key is _NO_KEY:
                raise ScalarError("invalid map key: neither list nor map can be a key")
            else:
                if key is MERGE_KEY:
                    _merge(container, value, kind, strict)
                else:
                    container[key] = value
                key = _NO_KEY
    except ScalarError as error:
        mark = event.start_mark
        raise YamlError(str(error), mark.line + 1, mark.column + 1) from error
    return None
