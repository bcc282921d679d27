"""YAML text to plain data, typed as Go and Kubernetes type it: documents, list items, positions."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from json import JSONDecoder
from typing import NamedTuple, NoReturn, TypeAlias

from kyvsim.kubernetes.objects import MAP_FIELDS, Json, is_too_deep, may_be_too_deep
from kyvsim.yaml.document import (
    Event,
    Keys,
    ScalarError,
    YamlError,
    parse_events,
    plain_float_value,
    plain_key,
    plain_value,
    read_first,
    read_one,
)
from kyvsim.yaml.lines import (
    BLOCK,
    ODD,
    SKIPPED,
    TEXT,
    Line,
    NeedsFullParser,
    read_block,
    read_fast,
    read_line,
    text_below,
)

# Where a node of a YAML document is in its text: found by libyaml's events.

_MAP, _LIST, _END, _SCALAR, _ALIAS = range(5)
_FINE = 1 << 14
"""Lists and maps of up to so many characters are indexed when something in them is looked up."""

_Path: TypeAlias = tuple[object, ...]


class _Span(NamedTuple):
    """The part of a text that holds one list or map, and where it begins, counted from 0."""

    start: int
    end: int
    line: int
    column: int
    is_flow: bool
    """Whether it is in brackets: then its first column makes no difference to it."""


class _NodePlace(NamedTuple):
    """The place of a node: its path, and line and column from 1."""

    path: _Path
    position: tuple[int, int]
    folded: _Span | None = None
    """Of a list or map whose parts are left out of the index: where to find them."""


class _OpenLevel:
    __slots__ = ("expects_key", "index", "is_flow", "is_map", "key", "mark", "path", "place")

    def __init__(self, path: _Path, kind: int, start: Event, place: int) -> None:
        self.path = path
        self.is_map = kind == _MAP
        self.expects_key = self.is_map
        self.index = -1
        self.key: object = None
        self.mark = start.start_mark
        self.is_flow = bool(start.flow_style)
        self.place = place


def _key_of(kind: int, event: Event) -> object:
    if kind != _SCALAR:
        return None
    if event.tag is not None or not event.implicit[0]:
        return event.value
    try:
        return plain_key(event.value)
    except ScalarError:
        return None


def _node_events(text: str) -> Iterator[tuple[int, Event]]:
    """Yield the events that make up the first document, up to the first error."""
    import yaml

    kinds = {
        yaml.MappingStartEvent: _MAP,
        yaml.SequenceStartEvent: _LIST,
        yaml.MappingEndEvent: _END,
        yaml.SequenceEndEvent: _END,
        yaml.ScalarEvent: _SCALAR,
        yaml.AliasEvent: _ALIAS,
    }
    try:
        for event in parse_events(text):
            if event.__class__ is yaml.DocumentEndEvent:
                return
            kind = kinds.get(event.__class__)
            if kind is not None:
                yield kind, event
    except (yaml.YAMLError, YamlError):
        return


def position_by_events(text: str, path: Sequence[str | int]) -> tuple[int, int]:
    """Return line and column of a node as `find_position` does, whatever the text is."""
    full_path = tuple(path)
    place = _nearest(_outline(text), full_path)
    if place.folded is None or len(place.path) == len(full_path):
        return place.position
    span = place.folded
    # A list or map without brackets begins in its column; before others there may be as much on the
    # line as a file has.
    margin = " " * (0 if span.is_flow else span.column)
    details = _details(margin + text[span.start : span.end])
    inner = _nearest(details, full_path[len(place.path) :])
    line, column = inner.position
    if span.is_flow and line == 1:
        column += span.column
    return (line + span.line, column) if inner.path else place.position


_Index: TypeAlias = Mapping[_Path, tuple[int, _NodePlace]]
"""Places by path, numbered in the order of the text."""


@lru_cache(maxsize=4)
def _outline(text: str) -> _Index:
    """Return the places of a text by path, without what is inside of short lists and maps.

    It is cached, since one place is rarely all. A whole index would take some fifty times the text;
    this one takes a place for each part of the long lists and maps.
    """
    return _by_path(_places(text, _FINE))


@lru_cache(maxsize=16)
def _details(text: str) -> _Index:
    return _by_path(_places(text, -1))


def _by_path(places: Sequence[_NodePlace]) -> _Index:
    return {place.path: (number, place) for number, place in enumerate(places)}


def _nearest(index: _Index, path: _Path) -> _NodePlace:
    """Return the place of a node, or of its nearest ancestor that exists."""
    best, latest = _NodePlace((), (1, 1)), -1
    for length in range(len(path) + 1):
        number, place = index.get(path[:length], (-1, None))
        # What is before its parent was in a duplicate of it that does not count.
        if place is None or number < latest:
            break
        best, latest = place, number
    return best


def _places(text: str, fold: int) -> list[_NodePlace]:
    """Return the place of each node that a path can lead to, in order.

    Lists and maps of up to `fold` characters keep their parts to themselves.
    """
    found: list[_NodePlace] = []
    levels: list[_OpenLevel] = []
    for kind, event in _node_events(text):
        if kind == _END:
            level = levels.pop()
            start, end, inside = level.mark, event.end_mark.index, level.place + 1
            if end - start.index <= fold and len(found) > inside:
                del found[inside:]
                span = _Span(start.index, end, start.line, start.column, level.is_flow)
                found[-1] = found[-1]._replace(folded=span)
            continue
        path: _Path = ()
        leads_here = not levels
        if levels:
            level = levels[-1]
            is_key = level.expects_key
            level.expects_key = level.is_map and not is_key
            if is_key:
                level.key = _key_of(kind, event)
            else:
                level.index += 1
            path = (*level.path, level.key if level.is_map else level.index)
            leads_here = is_key == level.is_map
        if leads_here:
            mark = event.start_mark
            found.append(_NodePlace(path, (mark.line + 1, mark.column + 1)))
        if kind in {_MAP, _LIST}:
            levels.append(_OpenLevel(path, kind, event, len(found) - 1))
    return found


# Where a node of plain block YAML is in its text: found by its lines, without libyaml.

_LONGEST = 1 << 14
"""Of a longer text an index would take much room."""


class _PlainIndex(NamedTuple):
    positions: Mapping[_Path, tuple[int, int]]
    """Line and column from 1 of each node."""
    closed: frozenset[_Path]
    """Lists and maps that are written in one line, whose parts are not among the nodes."""


def plain_position(text: str, path: _Path) -> tuple[int, int] | None:
    """Return line and column as `find_position` does; None where a text is not plain enough."""
    if len(text) > _LONGEST:
        return None
    index = _plain_index(text)
    if index is None:
        return None
    exact = index.positions.get(path)
    if exact is not None:
        return exact
    found = next(
        path[:length] for length in range(len(path) - 1, -1, -1) if path[:length] in index.positions
    )
    if found in index.closed and len(found) < len(path):
        return None
    return index.positions[found]


@lru_cache(maxsize=16)
def _plain_index(text: str) -> _PlainIndex | None:
    """Return the places of a text, or None."""
    text = text if text.endswith("\n") else f"{text}\n"
    if read_fast(text) is None:
        return None
    positions: dict[_Path, tuple[int, int]] = {}
    counts: dict[_Path, int] = {}
    closed: list[_Path] = []
    levels: list[tuple[int, _Path]] = []
    pending: _Path = ()
    for number, (_, level, key, value, inner) in _described(text.split("\n")):
        while levels and levels[-1][0] > level:
            levels.pop()
        if not levels or levels[-1][0] < level:
            levels.append((level, pending))
        column, pending = level // 2 + 1, levels[-1][1]
        positions.setdefault(pending, (number, column))
        if inner:
            column = inner // 2 + 1
            counts[pending] = counts.get(pending, -1) + 1
            pending = (*pending, counts[pending])
            positions[pending] = number, column
            if key is not None:
                levels.append((inner, pending))
        if key is not None:
            pending = (*pending, key)
            positions[pending] = number, column
        if value.__class__ is dict or value.__class__ is list:
            closed.append(pending)
    return _PlainIndex(positions, frozenset(closed))


def _described(lines: list[str]) -> Iterator[tuple[int, Line]]:
    """Yield the parsed lines, numbered from 1, without blank ones and texts below others."""
    text_end = 0
    for number, text in enumerate(lines, 1):
        line = SKIPPED if number <= text_end else read_line(text)
        if line is SKIPPED or line[0] == TEXT:
            continue
        if line[0] >= BLOCK:
            text_end = number + text_below(lines, number, line)[1]
        yield number, line


# A YAML stream cut into the texts of its documents, as Kubernetes' readers cut it.

_CONTENT = re.compile(r"^[^\S\n]*[^\s#]", re.MULTILINE)
_ODD_BREAK = r"[\r\x85\u2028\u2029]\s*[^\s#]"
"""Content after a line end that YAML knows and Kubernetes' readers do not."""


class TextRange(NamedTuple):
    """A part of a text that is copied when it is used: many of them take little room."""

    whole: str
    start: int
    end: int
    line: int
    """Line at which it begins, counted from 1."""
    margin: int = 0
    """So many of its first characters count as blanks: other lines are indented by as much."""
    shift: int = 0
    """So many characters precede it on its first line, where that makes no difference to it.

    There may be as many of these as a file has, so that they are not part of the text.
    """

    @property
    def text(self) -> str:
        """The part, in its columns."""
        return " " * self.margin + self.whole[self.start + self.margin : self.end]

    def line_of_whole(self, number: int, first: int = 0, last: int | None = None) -> str:
        """Return the line with a number as it is written; "" for one that is not of the part.

        Of a line as long as a file only what is between two columns, which count from 0, is copied.
        """
        start = self.start - self.shift
        for _ in range(number - self.line):
            start = self.whole.find("\n", start, self.end) + 1
            if not start:
                return ""
        limit = len(self.whole) if last is None else min(start + last, len(self.whole))
        end = self.whole.find("\n", start + first, limit)
        return self.whole[start + first : end if end >= 0 else limit] if number >= self.line else ""


class DocumentText(NamedTuple):
    """The text of one document inside a stream."""

    text: str
    line: int
    """Line of the stream at which the text begins, counted from 1."""
    bad_separator: str = ""
    """The line that ended the stream early: `---` followed by something that is no comment."""
    hidden: bool = False
    """Whether a comment hides a document, because it ends in a line end that only YAML knows."""
    stream: str = ""
    """The stream as it is cut, of which the text is a part."""
    start: int = 0
    """Where in it the text begins."""

    def excerpt(self) -> TextRange:
        """Return what to keep for finding places in the text."""
        return TextRange(self.stream, self.start, self.start + len(self.text), self.line)


def is_separator(line: str) -> bool:
    """Return whether a line that begins with `---` ends a document, and nothing else."""
    rest = line[3:].strip()
    return not rest or (rest.startswith("#") and not re.search(_ODD_BREAK, rest))


def split_chunks(text: str, line: int = 1) -> Iterator[DocumentText]:
    r"""Yield the documents of a stream; those with nothing but comments are left out.

    `line` is the line at which it begins.

    A line that begins with `---` ends a document; where more than a comment follows on it,
    Kubernetes stops reading: the last chunk then holds that line as `bad_separator`. CRLF becomes
    LF, and the last line has an end, which a block of text keeps.
    upstream: apimachinery `util/yaml` YAMLReader.
    """
    text = normal_text(text)
    start, size = 0, len(text)
    while start < size:
        is_separated = text.startswith("---", start)
        end = start if is_separated else text.find("\n---", start) + 1 or size
        body = text[start:end]
        if _CONTENT.search(body):
            yield DocumentText(body, line, stream=text, start=start)
        elif body and re.search(_ODD_BREAK, body):
            yield DocumentText("", line, hidden=True)
        if end == size:
            return
        line += body.count("\n")
        separator = text[end : text.index("\n", end)]
        if not is_separator(separator):
            yield DocumentText("", line, separator)
            return
        start, line = end + len(separator) + 1, line + 1


def normal_text(text: str) -> str:
    """Return a text with LF at the end of all lines, and without a byte order mark."""
    text = text.replace("\r\n", "\n").removeprefix("\ufeff")
    return text if text.endswith("\n") else f"{text}\n"


# YAML text to plain data, typed as Go and Kubernetes type it.
#
# upstream: sigs.k8s.io/yaml over go-yaml v2, apimachinery's YAMLReader. libyaml, of which go-yaml
# is a port, does the parsing; everything above its events is ours.


def _as_text(source: str | bytes) -> str:
    if isinstance(source, str):
        return source
    try:
        return source.decode()
    except UnicodeDecodeError as error:
        line = source.count(b"\n", 0, error.start) + 1
        raise YamlError("invalid UTF-8", line, 1) from error


def load_one(source: str | bytes, *, floats: bool = False, keys: Keys = Keys.LAST_WINS) -> Json:
    """Return the first document of a text, None where it is empty; the rest is not read.

    `floats` makes every number a float, as Kyverno does with resources; `keys` says what becomes of
    a key that is there twice. Raises YamlError.
    """
    text = _as_text(source).removeprefix("\ufeff")
    # Whether a block's last line ends makes a difference.
    whole = text.endswith("\n")
    if whole or not ("|" in text or ">" in text):
        found = read_block(text if whole else f"{text}\n", floats=floats)
        if found is not None:
            return found
    return read_one(text, floats=floats, keys=keys)


def load_all(
    source: str | bytes, *, floats: bool = False, keys: Keys = Keys.LAST_WINS
) -> Iterator[Json]:
    """Yield the documents of a stream, empty ones left out; options and errors as for `load_one`.

    A line such as `--- junk`, at which Kubernetes silently stops reading, raises YamlError.
    """
    for chunk in split_chunks(_as_text(source)):
        if chunk.bad_separator:
            message = f"invalid document separator `{chunk.bad_separator}`"
            raise YamlError(message, chunk.line, 1)
        if chunk.hidden:
            raise YamlError("a comment hides a document: its line ends in CR or NEL", chunk.line, 1)
        try:
            yield load_one(chunk.text, floats=floats, keys=keys)
        except YamlError as error:
            line = error.line + chunk.line - 1 if error.line else 0
            raise YamlError(error.message, line, error.column) from error


# What most documents begin with: comments, then a word or JSON. There is no need to parse for its
# place.
_PLAIN_START = r"(?:[ \t]*(?:#[^\n]*)?\r?\n)*( *)[A-Za-z{]"


def find_position(text: str, path: Sequence[str | int]) -> tuple[int, int]:
    """Return line and column, counted from 1, of the node at `path` in the first document.

    For the entry of a map that is the place of its key; for a node that does not exist, that of its
    nearest existing ancestor; of duplicate keys the last one counts.
    """
    text = text.removeprefix("\ufeff")
    if not path and text[:1].isalpha() and text[0].isascii():
        return 1, 1
    if not path and (first := re.match(_PLAIN_START, text)):
        return text.count("\n", 0, first.start(1)) + 1, len(first[1]) + 1
    place = plain_position(text, tuple(path))
    if place is not None:
        return place
    return position_by_events(text, path)


def folded_yaml(data: object) -> str:
    """Return `data` as the YAML that Kyverno's denials hold, folded at column 80.

    upstream: go.yaml.in/yaml/v3's encoder, whose choice of quotes and folds PyYAML shares.
    """
    import yaml

    return yaml.safe_dump(data, width=80, indent=2, allow_unicode=True, default_flow_style=False)


# Lists of objects cut at their items.
#
# What `kubectl get` prints is cut where its items are plain to see, in YAML and in JSON; else it is
# read as one.

_DEEPER = ("\n", "- ", "[", "{")
_DEEPEST = 9_000


class ListItem(NamedTuple):
    """One item of a list."""

    data: Json
    place: TextRange
    """What it is written as, in its columns."""
    is_plain: bool
    """Whether it is as `read_fast` says."""


class CutList(NamedTuple):
    """A list and its items, which are maps."""

    envelope: dict[str, Json]
    """The list, its `items` empty."""
    items: list[ListItem]


def item_fallback(text: str, *, floats: bool) -> Json:
    """Return an item as libyaml reads it for itself; raises ValueError.

    Whatever is open at its end, or known from elsewhere, is an error then. What counts in the whole
    document is left to its reader: depth, and how much aliases bring.
    """
    if "&" in text or "*" in text or sum(map(text.count, _DEEPER)) > _DEEPEST:
        raise NeedsFullParser
    found = read_first(text, floats=floats, keys=Keys.ONCE)
    if found.ignored_line or found.data.__class__ is not dict:
        raise NeedsFullParser
    return found.data


# JSON texts read by `json`, where that gives what libyaml gives: it is five times as quick.

_ODD_ESCAPE = r"\\(?:/|u[dD][89a-fA-F])"
_BLANK_BEFORE_COLON = re.compile(r":(?<=[ \n]:)")
"""Begins with the colon, of which a text has fewer than blanks: a fifth of the time."""
_MOST_KEYS = 1_000
"""Characters in the keys of a map: libyaml takes no key of over 1,024."""


def is_like_yaml(text: str) -> bool:
    """Return whether the parts of a JSON text that `json` can read are to libyaml what they are."""
    if "\t" in text or "\r" in text or "\x7f" in text or _BLANK_BEFORE_COLON.search(text):
        return False
    if not text.isascii() and re.search(ODD, text.replace("\n", "")):
        return False
    return "\\" not in text or not re.search(_ODD_ESCAPE, text)


@lru_cache(maxsize=2)
def json_decoder(*, floats: bool) -> "JSONDecoder":
    """Return what decodes texts that are like YAML; it raises ValueError and NeedsFullParser.

    `floats` is as for `load_one`. No key is there twice, and none of MAP_FIELDS is null.
    """
    value_of: Callable[[str], Json] = plain_float_value if floats else plain_value

    def refuse(_constant: str) -> NoReturn:
        raise NeedsFullParser

    return JSONDecoder(
        parse_int=value_of, parse_float=value_of, parse_constant=refuse, object_pairs_hook=_map
    )


def _map(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise NeedsFullParser
    for field in _map_fields(tuple(found)):
        if found[field] is None:
            raise NeedsFullParser
    return found


@lru_cache(maxsize=1 << 10)
def _map_fields(keys: tuple[str, ...]) -> tuple[str, ...]:
    """Return the keys of a map that may not be null; raises NeedsFullParser for long ones."""
    if len("".join(keys)) > _MOST_KEYS:
        raise NeedsFullParser
    return tuple(MAP_FIELDS.intersection(keys))


def read_json(text: str, *, floats: bool = False) -> dict[str, Json] | None:
    """Return the map that a JSON text is, as `load_one` does; None where that is not plain to see.

    If it is, then it is as `read_fast` says.
    """
    if not is_like_yaml(text):
        return None
    try:
        found = json_decoder(floats=floats).decode(text)
    except (ValueError, RecursionError, NeedsFullParser):
        return None
    if may_be_too_deep(text.count("{") + text.count("[")) and is_too_deep(found):
        return None
    return found if found.__class__ is dict else None


# The items of a list of objects that is written in JSON, each a text of its own.

ANY_JSON = JSONDecoder()
"""Finds where an item ends, whatever it holds."""
_ITEMS_FIELD = r'"items": ?\[[ \n]*(?=\{)'
_NEXT = r"[ \n]*(?:(,)[ \n]*|\])"


def cut_json(text: str, *, floats: bool) -> CutList | None:
    """Return a JSON text cut at the items of the list that it is; raises as `json_item` does."""
    first = re.search(_ITEMS_FIELD, text)
    if first is None:
        return None
    find_next = re.compile(_NEXT)
    items, at, start = [], first.end(), LineStart(1, 0, 0)
    while True:
        start = line_start(text, at, start)
        item, at = json_item(text, at, start, floats=floats)
        items.append(item)
        between = find_next.match(text, at)
        if between is None:
            return None
        at = between.end()
        if not between[1]:
            break
    envelope = read_json(f'{text[: first.start()]}"items": []{text[at:]}', floats=floats)
    return CutList(envelope, items) if envelope and envelope.get("items") == [] else None


class LineStart(NamedTuple):
    """The line on which something begins."""

    number: int
    at: int
    """Where the line begins."""
    known: int
    """How much of the text was read for this."""


def line_start(text: str, at: int, before: LineStart) -> LineStart:
    """Return the line of a place, counted from that of an earlier one."""
    breaks = text.count("\n", before.known, at)
    start = text.rfind("\n", before.known, at) + 1 if breaks else before.at
    return LineStart(before.number + breaks, start, at)


def json_item(text: str, start: int, line: LineStart, *, floats: bool) -> tuple[ListItem, int]:
    """Return the item at `start` and its end; raises ValueError and NeedsFullParser."""
    try:
        data, end = json_decoder(floats=floats).raw_decode(text, start)
    except NeedsFullParser:
        data, end = None, ANY_JSON.raw_decode(text, start)[1]
    place = TextRange(text, start, end, line.number, shift=start - line.at)
    own = place.text
    if may_be_too_deep(own.count("{") + own.count("[")) and is_too_deep(data):
        raise NeedsFullParser
    is_plain = data.__class__ is dict and is_like_yaml(own)
    return ListItem(data if is_plain else item_fallback(own, floats=floats), place, is_plain), end


_ITEMS = "items:\n"
_FIRST_ITEM = _ITEMS + r"( *)- "
_AFTER_ITEMS = r"(?m)^[^ #\n-]"


def cut_list(text: str, *, floats: bool = False) -> CutList | None:
    """Return a text of one document cut at the items of the list that it is, or None."""
    try:
        if text.lstrip(" \n").startswith("{"):
            return cut_json(text, floats=floats)
        field = 0 if text.startswith(_ITEMS) else text.find(f"\n{_ITEMS}") + 1
        first = (
            re.compile(_FIRST_ITEM).match(text, field) if text.startswith(_ITEMS, field) else None
        )
        if first is None:
            return None
        column, start = len(first[1]), first.start(1)
        sign = f"\n{first[1]}- "
        last = text.rfind(sign) + 1
        after = re.compile(_AFTER_ITEMS).search(text, last + 1)
        end = after.start() if after else len(text)
        envelope = read_fast(f"{text[: first.start()]}items: []\n{text[end:]}", floats=floats)
        if envelope is None or envelope.get("items") != []:
            return None
        line = text.count("\n", 0, start) + 1
        pieces = pieces_between(text, start, end, sign)
        return CutList(envelope, list(yaml_items(text, pieces, (column, line), floats=floats)))
    except (ValueError, RecursionError, NeedsFullParser):  # YamlError is a ValueError
        return None


def read_text(text: str, *, floats: bool = False) -> dict[str, Json] | None:
    """Return the map that a text of one document is, by the reader that fits; None for neither."""
    if not text.lstrip(" \n").startswith("{"):
        return read_fast(text, floats=floats)
    return read_json(text, floats=floats)


def yaml_items(
    text: str, pieces: Iterator[tuple[int, int]], place: tuple[int, int], *, floats: bool
) -> Iterator[ListItem]:
    """Yield the items that pieces of a text are; `place` is their column, and the first line."""
    column, line = place
    for begin, stop in pieces:
        excerpt = TextRange(text, begin, stop, line, column + 2)
        own = excerpt.text
        data = read_fast(own, floats=floats, column=column + 2)
        is_plain = data is not None
        yield ListItem(data if is_plain else item_fallback(own, floats=floats), excerpt, is_plain)
        line += own.count("\n")


def pieces_between(text: str, start: int, end: int, sign: str) -> Iterator[tuple[int, int]]:
    """Yield where the pieces of a text begin and end that is cut before each sign."""
    while start < end:
        following = text.find(sign, start, end)
        following = end if following < 0 else following + 1
        yield start, following
        start = following
