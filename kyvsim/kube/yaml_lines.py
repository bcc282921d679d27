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
from typing import NamedTuple, TypeAlias

from kyvsim.kube.depth import MAX_DEPTH
from kyvsim.kube.objects import Json
from kyvsim.kube.yaml_line import (
    BLOCK,
    MAP_PARTS,
    NOTHING,
    SKIPPED,
    TEXT,
    Line,
    Unusual,
    has_deeper,
    line_reader,
    text_below,
    text_going_on,
)

_LineReader: TypeAlias = Callable[[str], Line]

_SHALLOW = 4
_FOLD = "\x01"
"""Stands for the line end and the blanks before a line that is indented by more than four columns:
such lines are taken together with the one before them, which is indented less."""
_DEEP = " " * (MAX_DEPTH // 2)
"""So far is a line indented where data is half as deep as it may be: libyaml counts then."""

_TRIED, _RESTED = 64, 1024
"""So many texts are read by folds before it is asked whether that pays, and so many without where
it does not."""
_BEGINNING = 8
"""To read what is below a line for the first time takes as long as so many lines more."""
_KEPT = 1 << 13
"""So many lines of each generation are kept: more do not make dumps quicker to read."""
_LONGEST_KEPT = 1_500


class _Lines(dict[str, Line]):
    """What lines say, by their texts: who asks for one that is not kept has it read.

    Those that were asked for lately are kept, as two generations: the older one is forgotten when
    the younger one is full. Who asks a dict pays for no call where it knows the line.
    """

    def __init__(self, read: _LineReader) -> None:
        super().__init__()
        self._read = read
        self._older: dict[str, Line] = {}

    def __missing__(self, text: str) -> Line:
        line = self._older.get(text) or self._read(text)
        if len(text) <= _LONGEST_KEPT:
            if len(self) >= _KEPT:
                self._older = dict(self)
                self.clear()
            self[text] = line
        return line


class _Folding:
    """Whether lines are taken together with deeper ones: it pays where most of these come again.

    Some texts after the other are read so, and what that spared is weighed against what it cost.
    """

    __slots__ = ("_rest", "_tried", "cost", "spared")

    def __init__(self) -> None:
        self.spared = 0
        """Lines that stood below others."""
        self.cost = 0
        """Those that were read all the same, and what it takes to begin with them."""
        self._tried = self._rest = 0

    def pays(self) -> bool:
        """Return whether to take the lines of the next text together."""
        if self._rest:
            self._rest -= 1
            return False
        if self._tried == _TRIED:
            self._rest = _RESTED if self.cost > self.spared else 0
            self._tried = self.cost = self.spared = 0
        self._tried += 1
        return True


class _Readers(NamedTuple):
    """The two ways to read a line."""

    single: _Lines
    folded: _Lines
    """With a line come the deeper ones below it."""
    deep: str
    """What stands for a fold."""
    folding: _Folding


def read_plain(text: str, *, floats: bool = False, column: int = 0) -> dict[str, Json] | None:
    """Return the map that a text is, as `load_one` does; None where that is not plain to see.

    If it is, nothing follows after it, no key is there twice, and none of MAP_FIELDS is null. The
    text ends with a line end. Parts that are written alike may be one object: nobody changes them.
    `column` is where the map is expected to begin, counted from 0.
    """
    found = read_block(text, floats=floats, column=column)
    return found if found.__class__ is dict else None


def read_block(text: str, *, floats: bool = False, column: int = 0) -> Json:
    """Return the map or list that a text is, as `read_plain` does."""
    if _FOLD in text or _DEEP in text:
        return None
    single, folded, deep, folding = _readers(column, floats=floats)
    if folding.pays():
        together = text.replace(deep, _FOLD)
        folding.spared += (len(text) - len(together)) // (len(deep) - 1)
        with suppress(Unusual):
            return _read(together.split("\n"), folded)
    with suppress(Unusual):
        return _read(text.split("\n"), single)
    return None


def read_line(text: str) -> Line:
    """Return what one line of a text that is plain says; raises Unusual."""
    return _readers(0, floats=False).single[text]


@lru_cache(maxsize=8)
def _readers(column: int, *, floats: bool) -> _Readers:
    read = line_reader(floats=floats)
    shallow = column + _SHALLOW
    deep = "\n" + " " * (shallow + 1)
    folding = _Folding()

    single = _Lines(read)

    def with_deeper(text: str) -> Line:
        if _FOLD in text:
            lines = text.replace(_FOLD, deep).split("\n")
            folding.cost += len(lines) + _BEGINNING
            line = _with_deeper(lines, single, shallow)
        else:
            line = read(text)
        if line[0] >= BLOCK:
            raise Unusual  # lines that are indented less may belong to it
        return line

    return _Readers(single, _Lines(with_deeper), deep, folding)


def _with_deeper(lines: list[str], single: _Lines, shallow: int) -> Line:
    """Return what a line says together with the deeper ones below it."""
    _, level, key, _, inner = single[lines[0]]
    if key is None or level > 2 * shallow + 1:
        raise Unusual
    found = _read([*lines, ""], single)
    if inner > 2 * shallow:
        return NOTHING, level, None, found[0], inner  # the whole item: nothing adds to it
    return NOTHING, level, key, (found[0] if inner else found)[key], inner


def _read(  # noqa: C901, PLR0912 — one pass over lines; calls would halve its speed
    lines: list[str], said: _Lines
) -> Json:
    """Return what lines say, the last of which is empty."""
    root: dict[str, Json] = {}
    stack: list[tuple[Json, int]] = []
    container: Json = root
    depth = -1
    pending: str | None = ""
    rest = iter(lines)
    for text in rest:
        follows, level, key, value, inner = said[text]
        if level > depth:
            if pending is None:
                at = len(lines) - length_hint(rest) - 1
                last, begun = _last_text(follows, container)
                container[last], size = text_going_on(lines, at, begun, depth)
                next(islice(rest, size - 1, size - 1), None)
                continue
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
        if follows >= BLOCK:
            line = follows, level, key, value, inner
            value, size = text_below(lines, len(lines) - length_hint(rest), line)
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
        if not follows or follows >= BLOCK:
            pending = None
            continue
        if follows == TEXT:
            raise Unusual
        pending = key
        if follows == MAP_PARTS and not has_deeper(lines, len(lines) - length_hint(rest), depth):
            raise Unusual
    return root.get("")


def _last_text(follows: int, container: Json) -> tuple[str | int, str]:
    """Return where the last text of a list or map stands, and that text; raises Unusual."""
    last = next(reversed(container)) if container.__class__ is dict else -1
    text = container[last]
    if follows != TEXT or text.__class__ is not str:
        raise Unusual
    return last, text
