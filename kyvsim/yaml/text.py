"""YAML text to plain data with Go's and Kubernetes' types: documents, list items, positions."""

import re
from bisect import bisect_right
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
    plain_lines,
    read_block,
    read_fast,
    text_below,
)

# Positions of the nodes of a YAML document, found by libyaml's events.

_MAP, _LIST, _END, _SCALAR, _ALIAS = range(5)
_FINE = 1 << 14
"""Lists and maps of up to this many characters are indexed when something in them is looked up."""

_Path: TypeAlias = tuple[object, ...]


class _Span(NamedTuple):
    """The range of a text that holds one list or map, and its start position, counted from 0."""

    start: int
    end: int
    line: int
    column: int
    is_flow: bool
    """Whether it is in flow style: then its first column makes no difference."""


class _NodePlace(NamedTuple):
    """The position of a node: its path, and line and column from 1."""

    path: _Path
    position: tuple[int, int]
    folded: _Span | None = None
    """For a list or map whose children are not in the index: the range to search for them."""


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
    """Yield the events of the first document, up to the first error."""
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


def find_comments(text: str, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
    """Yield the matches of a pattern for comments that are not inside of a scalar of a document."""
    matches = [*pattern.finditer(text)]
    scalars: list[tuple[int, int]] = []
    for kind, event in _node_events(text) if matches else ():
        if kind == _SCALAR:
            start = event.start_mark.index
            if event.style in {"|", ">"}:  # a comment may follow the sign
                start = text.find("\n", start)
            scalars.append((start, event.end_mark.index))
    for match in matches:
        at = bisect_right(scalars, (match.start(), len(text))) - 1
        if at < 0 or match.start() >= scalars[at][1]:
            yield match


def position_by_events(text: str, path: Sequence[str | int]) -> tuple[int, int]:
    """Return line and column of a node as `find_position` does, for any text."""
    full_path = tuple(path)
    place = _nearest(_outline(text), full_path)
    if place.folded is None or len(place.path) == len(full_path):
        return place.position
    span = place.folded
    # A list or map in block style starts in its own column; a flow collection may be preceded on
    # its line by as much text as a file has.
    margin = " " * (0 if span.is_flow else span.column)
    details = _details(margin + text[span.start : span.end])
    inner = _nearest(details, full_path[len(place.path) :])
    line, column = inner.position
    if span.is_flow and line == 1:
        column += span.column
    return (line + span.line, column) if inner.path else place.position


_Index: TypeAlias = Mapping[_Path, tuple[int, _NodePlace]]
"""Positions by path, numbered in the order of the text."""


@lru_cache(maxsize=4)
def _outline(text: str) -> _Index:
    """Return the positions of a text by path, without the contents of short lists and maps.

    It is cached, since callers rarely need only one position. A full index takes about fifty times
    the memory of the text; this one has an entry per element of long lists and maps.
    """
    return _by_path(_places(text, _FINE))


@lru_cache(maxsize=16)
def _details(text: str) -> _Index:
    return _by_path(_places(text, -1))


def _by_path(places: Sequence[_NodePlace]) -> _Index:
    return {place.path: (number, place) for number, place in enumerate(places)}


def _nearest(index: _Index, path: _Path) -> _NodePlace:
    """Return the position of a node, or of its nearest ancestor that exists."""
    best, latest = _NodePlace((), (1, 1)), -1
    for length in range(len(path) + 1):
        number, place = index.get(path[:length], (-1, None))
        # A node before its parent belongs to a duplicate of the parent that is overridden.
        if place is None or number < latest:
            break
        best, latest = place, number
    return best


def _places(text: str, fold: int) -> list[_NodePlace]:
    """Return the position of each node that a path can lead to, in order.

    Children of lists and maps of up to `fold` characters are left out.
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


# Positions of the nodes of plain block YAML, found by its lines, without libyaml.

_LONGEST = 1 << 14
"""Longer texts are not indexed, to limit memory."""

_PlainIndex: TypeAlias = tuple[Mapping[_Path, tuple[int, int]], frozenset[_Path]]
"""Line and column from 1 of each node, and the lists and maps written on one line, whose children
are not among the nodes."""


def plain_position(text: str, path: _Path, *, is_plain: bool = False) -> tuple[int, int] | None:
    """Return line and column as `find_position` does; None where a text is not simple enough."""
    if len(text) > _LONGEST:
        return None
    index = _plain_index(text, is_plain=is_plain)
    if index is None:
        return None
    positions, closed = index
    found = next(path[:length] for length in range(len(path), -1, -1) if path[:length] in positions)
    return None if found in closed and len(found) < len(path) else positions[found]


@lru_cache(maxsize=16)
def _plain_index(text: str, *, is_plain: bool) -> _PlainIndex | None:
    """Return the positions of a text, or None."""
    text = text if text.endswith("\n") else f"{text}\n"
    is_plain = is_plain and not text.lstrip(" \n").startswith("{")  # that may be JSON
    if not is_plain and read_fast(text, floats=True) is None:
        return None
    positions: dict[_Path, tuple[int, int]] = {}
    counts: dict[_Path, int] = {}
    closed: list[_Path] = []
    levels: list[tuple[int, _Path]] = [(-1, ())]
    depth, owner = levels[0]
    pending: _Path = ()
    for number, (_, level, key, value, inner) in _described(text):
        if level != depth:
            while levels[-1][0] > level:
                levels.pop()
            if levels[-1][0] < level:
                levels.append((level, pending))
                positions.setdefault(pending, (number, level // 2 + 1))
            depth, owner = levels[-1]
        column, pending = level // 2 + 1, owner
        if inner:
            column = inner // 2 + 1
            counts[owner] = index = counts.get(owner, -1) + 1
            pending = (*owner, index)
            positions[pending] = number, column
            if key is not None:
                levels.append((inner, pending))
                depth, owner = levels[-1]
        if key is not None:
            pending = (*pending, key)
            positions[pending] = number, column
        if value.__class__ is dict or value.__class__ is list:
            closed.append(pending)
    return positions, frozenset(closed)


def _described(text: str) -> Iterator[tuple[int, Line]]:
    """Yield the parsed lines, numbered from 1, without blank lines and the lines of block texts."""
    lines, text_end, read_line = text.split("\n"), 0, plain_lines(text)
    for number, one in enumerate(lines, 1):
        line = SKIPPED if number <= text_end else read_line(one)
        if line is SKIPPED or line[0] == TEXT:
            continue
        if line[0] >= BLOCK:
            text_end = number + text_below(lines, number, line)[1]
        yield number, line


# A YAML stream split into the texts of its documents, as Kubernetes' readers split it.

_CONTENT = re.compile(r"^[^\S\n]*[^\s#]", re.MULTILINE)
_ODD_BREAK = r"[\r\x85\u2028\u2029]\s*[^\s#]"
"""Content after a line break that YAML recognizes and Kubernetes' readers do not."""


class TextRange(NamedTuple):
    """A range of a text that is copied only when it is used, so that many take little memory."""

    whole: str
    start: int
    end: int
    line: int
    """Line on which it starts, counted from 1."""
    margin: int = 0
    """The number of its first characters that count as blanks, as an indentation."""
    shift: int = 0
    """The number of characters before it on its first line, where they make no difference to it.

    There may be as many of them as a file has, so they are not part of the text.
    """

    @property
    def text(self) -> str:
        """The text of the range, in its original columns."""
        return " " * self.margin + self.whole[self.start + self.margin : self.end]

    def line_of_whole(self, number: int, first: int = 0, last: int | None = None) -> str:
        """Return the line with a number as written; "" for a line outside the range.

        Of a very long line, only the text between two columns, counted from 0, is copied.
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
    """The text of one document in a stream."""

    text: str
    line: int
    """Line of the stream on which the text starts, counted from 1."""
    bad_separator: str = ""
    """The line that ended the stream early: `---` followed by something other than a comment."""
    hidden: bool = False
    """Whether a comment hides a document, as it ends in a line break that only YAML recognizes."""
    stream: str = ""
    """The normalized stream that contains the text."""
    start: int = 0
    """Start offset of the text in the stream."""

    def excerpt(self) -> TextRange:
        """Return the range to keep for finding positions in the text."""
        return TextRange(self.stream, self.start, self.start + len(self.text), self.line)


def is_separator(line: str) -> bool:
    """Return whether a line that starts with `---` is only a document separator."""
    rest = line[3:].strip()
    return not rest or (rest.startswith("#") and not re.search(_ODD_BREAK, rest))


def split_chunks(text: str, line: int = 1) -> Iterator[DocumentText]:
    r"""Yield the documents of a stream, except those with only comments.

    `line` is the line on which the stream starts.

    A line that starts with `---` ends a document; where more than a comment follows on it,
    Kubernetes stops reading: the last chunk has that line as `bad_separator`. CRLF becomes LF, and
    the last line gets a line end.

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
    """Return a text with LF at the end of every line and no byte order mark."""
    text = text.replace("\r\n", "\n").removeprefix("\ufeff")
    return text if text.endswith("\n") else f"{text}\n"


# YAML text to plain data, typed as Go and Kubernetes type it.
# upstream: sigs.k8s.io/yaml over go-yaml v2, apimachinery's YAMLReader. libyaml, of which go-yaml
# is a port, does the parsing; everything above its events is implemented here.


def _as_text(source: str | bytes) -> str:
    if isinstance(source, str):
        return source
    try:
        return source.decode()
    except UnicodeDecodeError as error:
        raise YamlError("invalid UTF-8", source.count(b"\n", 0, error.start) + 1, 1) from error


def load_one(source: str | bytes, *, floats: bool = False, keys: Keys = Keys.LAST_WINS) -> Json:
    """Return the first document of a text, None where it is empty; the rest is not read.

    `floats` makes every number a float, as Kyverno does with resources; `keys` says how duplicate
    keys are handled. Raises YamlError.
    """
    text = _as_text(source).removeprefix("\ufeff")
    # Whether the last line of a block scalar has a line end makes a difference.
    whole = text.endswith("\n")
    if whole or not ("|" in text or ">" in text):
        found = read_block(text if whole else f"{text}\n", floats=floats)
        if found is not None:
            return found
    return read_one(text, floats=floats, keys=keys)


def load_all(
    source: str | bytes, *, floats: bool = False, keys: Keys = Keys.LAST_WINS
) -> Iterator[Json]:
    """Yield the documents of a stream except empty ones; options and errors as for `load_one`.

    A line such as `--- junk`, at which Kubernetes silently stops reading, raises YamlError.
    """
    for chunk in split_chunks(_as_text(source)):
        if chunk.bad_separator:
            raise YamlError(f"invalid document separator `{chunk.bad_separator}`", chunk.line, 1)
        if chunk.hidden:
            raise YamlError("a comment hides a document: its line ends in CR or NEL", chunk.line, 1)
        try:
            yield load_one(chunk.text, floats=floats, keys=keys)
        except YamlError as error:
            line = error.line + chunk.line - 1 if error.line else 0
            raise YamlError(error.message, line, error.column) from error


# The usual start of a document: comments, then a word or JSON. Its position can be found without
# parsing.
_PLAIN_START = r"(?:[ \t]*(?:#[^\n]*)?\r?\n)*( *)[A-Za-z{]"


def find_position(
    text: str, path: Sequence[str | int], *, is_plain: bool = False
) -> tuple[int, int]:
    """Return line and column, counted from 1, of the node at `path` in the first document.

    For a map entry this is the position of its key; for a node that does not exist, that of its
    nearest existing ancestor; of duplicate keys the last one counts. `is_plain` says that
    `read_text` has read the text, so that this is not tested again.
    """
    text = text.removeprefix("\ufeff")
    if not path and text[:1].isalpha() and text[0].isascii():
        return 1, 1
    if not path and (first := re.match(_PLAIN_START, text)):
        return text.count("\n", 0, first.start(1)) + 1, len(first[1]) + 1
    place = plain_position(text, tuple(path), is_plain=is_plain)
    if place is not None:
        return place
    return position_by_events(text, path)


def folded_yaml(data: object) -> str:
    """Return `data` as YAML as in Kyverno's denial messages, folded at column 80.

    upstream: go.yaml.in/yaml/v3's encoder, whose choice of quotes and folds PyYAML shares.
    """
    import yaml

    return yaml.safe_dump(data, width=80, indent=2, allow_unicode=True, default_flow_style=False)


# Lists of objects split into their items.
# Output of `kubectl get` is split where the bounds of its items are certain, in YAML and in JSON;
# otherwise it is parsed as a whole.

_DEEPER = ("\n", "- ", "[", "{")
_DEEPEST = 9_000


class ListItem(NamedTuple):
    """One item of a list."""

    data: Json
    place: TextRange
    """Its source text, in its original columns."""
    is_plain: bool
    """Whether it meets the conditions of `read_fast`."""


class CutList(NamedTuple):
    """A list and its items, which are maps."""

    envelope: dict[str, Json]
    """The list object with empty `items`."""
    items: list[ListItem]


def item_fallback(text: str, *, floats: bool) -> Json:
    """Return an item as libyaml reads it on its own; raises ValueError.

    An unclosed construct at its end, or an anchor defined elsewhere, is an error. Limits that apply
    to the whole document, depth and alias expansion, are left to the full parser.
    """
    if "&" in text or "*" in text or sum(map(text.count, _DEEPER)) > _DEEPEST:
        raise NeedsFullParser
    found = read_first(text, floats=floats, keys=Keys.ONCE)
    if found.ignored_line or found.data.__class__ is not dict:
        raise NeedsFullParser
    return found.data


# JSON texts parsed by `json`, where the result equals libyaml's: it is five times as fast.

_ODD_ESCAPE = r"\\(?:/|u[dD][89a-fA-F])"
_BLANK_BEFORE_COLON = re.compile(r":(?<=[ \n]:)")
"""Starts with the colon, which is rarer in a text than blanks: this takes a fifth of the time."""
_MOST_KEYS = 1_000
"""Characters in the keys of a map: libyaml accepts no key of over 1,024."""


def is_like_yaml(text: str) -> bool:
    """Return whether `json` and libyaml agree on the parts of a JSON text that `json` accepts."""
    if "\t" in text or "\r" in text or "\x7f" in text or _BLANK_BEFORE_COLON.search(text):
        return False
    if not text.isascii() and re.search(ODD, text.replace("\n", "")):
        return False
    return "\\" not in text or not re.search(_ODD_ESCAPE, text)


@lru_cache(maxsize=2)
def json_decoder(*, floats: bool) -> "JSONDecoder":
    """Return a decoder for texts that are like YAML; it raises ValueError and NeedsFullParser.

    `floats` is as for `load_one`. Duplicate keys and null values of MAP_FIELDS are rejected.
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
    """Return the keys of a map that must not be null; raises NeedsFullParser for long keys."""
    if len("".join(keys)) > _MOST_KEYS:
        raise NeedsFullParser
    return tuple(MAP_FIELDS.intersection(keys))


def read_json(text: str, *, floats: bool = False) -> dict[str, Json] | None:
    """Return the map of a JSON text as `load_one` does; None where the full parser is needed.

    A map that is returned meets the conditions of `read_fast`.
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


# The items of a list of objects written in JSON, each as a separate text.

ANY_JSON = JSONDecoder()
"""Finds the end of an item, whatever it contains."""
_ITEMS_FIELD = r'"items": ?\[[ \n]*(?=\{)'
_NEXT = r"[ \n]*(?:(,)[ \n]*|\])"


def cut_json(text: str, *, floats: bool) -> CutList | None:
    """Return a JSON list split into its items; raises as `json_item` does."""
    first = re.search(_ITEMS_FIELD, text)
    if first is None:
        return None
    find_next = re.compile(_NEXT)
    items, at, start = [], first.end(), FIRST_LINE
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


LineStart: TypeAlias = tuple[int, int, int]
"""The number of a line, the offset of its start, and the offset up to which the text is scanned."""
FIRST_LINE: LineStart = 1, 0, 0


def line_start(text: str, at: int, before: LineStart) -> LineStart:
    """Return the line of an offset, counted from that of an earlier one."""
    number, start, known = before
    breaks = text.count("\n", known, at)
    return number + breaks, text.rfind("\n", known, at) + 1 if breaks else start, at


def json_item(text: str, start: int, line: LineStart, *, floats: bool) -> tuple[ListItem, int]:
    """Return the item at `start` and its end; raises ValueError and NeedsFullParser."""
    try:
        data, end = json_decoder(floats=floats).raw_decode(text, start)
    except NeedsFullParser:
        data, end = None, ANY_JSON.raw_decode(text, start)[1]
    place = TextRange(text, start, end, line[0], shift=start - line[1])
    own = place.text
    if may_be_too_deep(own.count("{") + own.count("[")) and is_too_deep(data):
        raise NeedsFullParser
    is_plain = data.__class__ is dict and is_like_yaml(own)
    return ListItem(data if is_plain else item_fallback(own, floats=floats), place, is_plain), end


_ITEMS = "items:\n"
_FIRST_ITEM = _ITEMS + r"( *)- "
_AFTER_ITEMS = r"(?m)^[^ #\n-]"


def cut_list(text: str, *, floats: bool = False) -> CutList | None:
    """Return a list in a text of one document split into its items, or None."""
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
    """Return the map of a text of one document, by the reader that fits; None for neither."""
    if not text.lstrip(" \n").startswith("{"):
        return read_fast(text, floats=floats)
    return read_json(text, floats=floats)


def yaml_items(
    text: str, pieces: Iterator[tuple[int, int]], place: tuple[int, int], *, floats: bool
) -> Iterator[ListItem]:
    """Yield the items of the pieces of a text; `place` is their column and the first line."""
    column, line = place
    for begin, stop in pieces:
        excerpt = TextRange(text, begin, stop, line, column + 2)
        own = excerpt.text
        data = read_fast(own, floats=floats, column=column + 2)
        is_plain = data is not None
        yield ListItem(data if is_plain else item_fallback(own, floats=floats), excerpt, is_plain)
        line += own.count("\n")


def pieces_between(text: str, start: int, end: int, sign: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of the pieces of a text that is split before each `sign`."""
    while start < end:
        following = text.find(sign, start, end)
        following = end if following < 0 else following + 1
        yield start, following
        start = following
