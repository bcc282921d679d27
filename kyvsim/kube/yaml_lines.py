"""Plain block YAML read by lines: what a line says is worked out once for each text of a line.

It reads what manifests are made of, and nothing else: whatever a line may mean besides is Unusual
and left to libyaml. So it gives what `yaml_text` gives, only quicker where texts have much in
common.
"""

from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from itertools import islice
from operator import length_hint
from typing import TypeAlias

from kyvsim.kube.depth import MAX_DEPTH
from kyvsim.kube.objects import Json
from kyvsim.kube.yaml_line import (
    BLOCK,
    MAP_PARTS,
    NOTHING,
    SKIPPED,
    Line,
    Unusual,
    block_text,
    has_deeper,
    line_reader,
)
from kyvsim.light.named_tuple import NamedTuple

_LineReader: TypeAlias = Callable[[str], Line]

_SHALLOW = 4
_FOLD = "\x01"
"""Stands for the line end and the blanks before a line that is indented by more than four columns:
such lines are taken together with the one before them, which is indented less."""
_DEEP = " " * (MAX_DEPTH // 2)
"""So far is a line indented where data is half as deep as it may be: libyaml counts then."""

_KEPT = 1 << 13
_LONGEST_KEPT = 1_500


class _NotKept(Exception):  # noqa: N818 — carries a result past the cache
    """What a long line says."""

    def __init__(self, line: Line) -> None:
        super().__init__()
        self.line = line


class _Readers(NamedTuple):
    """The two ways to read a line; both keep what they gave."""

    single: _LineReader
    folded: _LineReader
    """Of a line that brings the deeper ones below it."""
    deep: str
    """What stands for a fold."""


def read_plain(text: str, *, floats: bool = False, column: int = 0) -> dict[str, Json] | None:
    """Return the map that a text is, as `load_one` does; None where that is not plain to see.

    If it is, nothing follows after it, no key is there twice, and none of MAP_FIELDS is null. The
    text ends with a line end. Parts that are written alike are one object: nobody changes them.
    `column` is where the map is expected to begin, counted from 0.
    """
    if _FOLD in text or _DEEP in text:
        return None
    readers = _readers(column, floats=floats)
    with suppress(Unusual):
        return _map(_read(text.replace(readers.deep, _FOLD).split("\n"), readers.folded))
    with suppress(Unusual):
        return _map(_read(text.split("\n"), readers.single))
    return None


def read_line(text: str) -> Line:
    """Return what one line of a text that is plain says; raises Unusual."""
    return _say(text, _readers(0, floats=False).single)


def _map(found: Json) -> dict[str, Json] | None:
    return found if found.__class__ is dict else None


@lru_cache(maxsize=8)
def _readers(column: int, *, floats: bool) -> _Readers:
    read = line_reader(floats=floats)
    shallow = column + _SHALLOW
    deep = "\n" + " " * (shallow + 1)

    @lru_cache(maxsize=_KEPT)
    def single(text: str) -> Line:
        line = read(text)
        if len(text) > _LONGEST_KEPT:
            raise _NotKept(line)
        return line

    @lru_cache(maxsize=_KEPT)
    def folded(text: str) -> Line:
        line = (
            _with_deeper(text.replace(_FOLD, deep), single, shallow)
            if _FOLD in text
            else read(text)
        )
        if line[0] == BLOCK:
            raise Unusual  # lines that are indented less may belong to it
        if len(text) > _LONGEST_KEPT:
            raise _NotKept(line)
        return line

    return _Readers(single, folded, deep)


def _say(text: str, line_of: _LineReader) -> Line:
    try:
        return line_of(text)
    except _NotKept as long:
        return long.line


def _with_deeper(text: str, single: _LineReader, shallow: int) -> Line:
    """Return what a line says together with the deeper ones below it."""
    lines = text.split("\n")
    _, level, key, _, inner = _say(lines[0], single)
    if key is None or level > 2 * shallow + 1:
        raise Unusual
    found = _read([*lines, ""], single)
    if inner > 2 * shallow:
        return NOTHING, level, None, found[0], inner  # the whole item: nothing adds to it
    return NOTHING, level, key, (found[0] if inner else found)[key], inner


def _read(  # noqa: C901, PLR0912, PLR0915 — one pass over lines; calls would halve its speed
    lines: list[str], line_of: _LineReader
) -> Json:
    """Return what lines say, the last of which is empty."""
    root: dict[str, Json] = {}
    stack: list[tuple[Json, int]] = []
    container: Json = root
    depth = -1
    pending: str | None = ""
    rest = iter(lines)
    for text in rest:
        try:
            follows, level, key, value, inner = line_of(text)
        except _NotKept as long:
            follows, level, key, value, inner = long.line
        if level > depth:
            if pending is None:
                raise Unusual
            stack.append((container, depth))
            part: Json = [] if level & 1 else {}
            container[pending] = part
            container, depth = part, level
        elif level < depth:
            if level == SKIPPED[1]:
                continue
            while depth > level:
                container, depth = stack.pop()
            if depth != level:
                raise Unusual
        if follows == BLOCK:
            column = (inner if key is not None and inner else level) // 2
            value, size = block_text(lines, len(lines) - length_hint(rest), column, value)
            next(islice(rest, size, size), None)
        if inner:
            if key is None:
                container.append(value)
                pending = None
                continue
            stack.append((container, depth))
            container.append({})
            container, depth = container[-1], inner
        elif key in container:
            raise Unusual
        container[key] = value
        if not follows or follows == BLOCK:
            pending = None
            continue
        pending = key
        if follows == MAP_PARTS and not has_deeper(lines, len(lines) - length_hint(rest), depth):
            raise Unusual
    return root.get("")
