"""Plain block YAML parsed line by line, with each distinct line parsed only once.

It reads the YAML of typical manifests: anything else raises NeedsFullParser and is left to libyaml.
The data are the same, and repetitive texts are read faster.
"""

import json
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import islice
from operator import length_hint
from typing import NamedTuple, TypeAlias

from kyvsim.kubernetes.objects import MAP_FIELDS, MAX_DEPTH, Json
from kyvsim.yaml.document import (
    MEANINGS,
    NUMBER_ENDS,
    Keys,
    ScalarError,
    YamlError,
    plain_float_value,
    plain_key,
    plain_value,
    read_first,
)


class NeedsFullParser(Exception):  # noqa: N818 — not an error: another reader takes over
    """A text has syntax that this reader does not support."""


Line: TypeAlias = tuple[int, int, str | None, Json, int]
"""A parsed line: what follows it, its level, its key, its value, and, after a dash, twice the
column of its content, otherwise 0.

The level of a map entry is twice its column, that of a list item is one more: nested elements have
a greater level.
"""

NOTHING, PARTS, MAP_PARTS, TEXT, BLOCK, QUOTED = range(6)
"""What may follow a line: nothing, its children, children where null is not allowed, a continued
plain text, a block scalar, the rest of a quoted text.
"""

SKIPPED: Line = (NOTHING, -2, None, None, 0)
"""A blank line or a comment."""

_LONGEST_KEY = 500
"""libyaml accepts no key of over 1,024 characters."""

# Repeated groups are possessive: with backtracking, a repetition takes fifty bytes per character,
# and a line may be as long as a file.
_LINE = re.compile(
    r"( *)(- +)?(?:((?:[A-Za-z0-9_./$(]|[=+^<]\()(?:[^\s:#]++|:(?=\S))*+|\"[^\"\\]*\"|'[^']*')"
    r" *:(?: +|\Z))?(.*)\Z"
)
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9/._@-]*+(?::[A-Za-z0-9/._@-]++)*+\Z")
_END = r"(?: +#.*)? *\Z"
_DOUBLE_QUOTED = re.compile(r'"((?:[^"\\]++|\\(?:["\\nrt]|u[0-9a-fA-F]{4}))*+)"' + _END)
_SINGLE_QUOTED = re.compile(r"'((?:[^']++|'')*+)'" + _END)
_ITEM = r"""(?:[A-Za-z0-9/][A-Za-z0-9/._-]*|"[^"\\,]*"|'[^',]*')"""
_ENTRY = rf"[A-Za-z][A-Za-z0-9/._-]*: {_ITEM}"
_EMPTY = re.compile(r"(?:(\{)\}|\[\])" + _END)
# Each element is followed by another one or by the end; one pattern compiles once.
_ITEMS = rf"\[ *((?:{_ITEM}(?:, (?! *\])|(?= *\])))++) *\]" + _END
_ENTRIES = rf"\{{ *((?:{_ENTRY}(?:, (?! *\}})|(?= *\}})))++) *\}}" + _END
_HEADER = re.compile(r"([|>][+-]?)" + _END)
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_NO_PLAIN_START = frozenset("&*!%@`,]}")
_INDICATORS = ("- ", ": ", "? ")
_TEXT = r" *[A-Za-z0-9`'\"(](?:[^:#]++|:(?=\S)|(?<=\S)#)*+\Z"
"""A line that is only possible as the continuation of a plain text."""
_UNEVEN = re.compile(r"\A\n|\n[ \t\n]")
"""Lines that are not simply folded: blank or indented ones."""

ODD = "[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]"
"""Characters that do not occur in single-line texts."""
_ODD_IN_BLOCK = "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]"


def _needs_full_parser(text: str) -> bool:
    return not (text.isascii() and text.isprintable()) and re.search(ODD, text) is not None


def line_reader(*, floats: bool) -> Callable[[str], Line]:
    """Return a reader for lines that raises NeedsFullParser. `floats` is as for `load_one`."""
    value_of = plain_float_value if floats else plain_value

    @lru_cache(maxsize=1 << 12)
    def head(text: str) -> Line:
        return _line(text + ":", floats=floats)

    def read(text: str) -> Line:
        # Most new lines have a known key and a single word.
        start, colon, word = text.partition(": ")
        if colon and _WORD.match(word) and len(text) < _LONGEST_KEY:
            follows, level, key, _, inner = head(start)
            if follows == PARTS:
                # Most words are distinct texts: names, and quantities such as `64Mi`.
                is_text = word[0] > "9" or word[-1] not in NUMBER_ENDS
                if is_text and word not in MEANINGS:
                    return NOTHING, level, key, word, inner
                try:
                    return NOTHING, level, key, value_of(word), inner
                except ScalarError as error:
                    raise NeedsFullParser from error
        return _line(text, floats=floats)

    return read


def _line(text: str, *, floats: bool) -> Line:
    if _needs_full_parser(text):
        raise NeedsFullParser
    bare = text.lstrip(" ")
    if not bare or bare[0] == "#":
        return SKIPPED
    found = _LINE.match(text)
    if found is None or len(found[3] or "") > _LONGEST_KEY:
        raise NeedsFullParser
    column, dash = len(found[1]), found[2] or ""
    if not (dash or found[3]):
        if not re.match(_TEXT, text):
            raise NeedsFullParser
        return TEXT, 2 * column, None, None, 0
    inner = 2 * (column + len(dash)) if dash else 0
    key = None if found[3] is None else _key(found[3])
    follows, value = _value(found[4], floats=floats)
    if key in MAP_FIELDS and value is None:
        if follows != PARTS:
            raise NeedsFullParser
        follows = MAP_PARTS
    if key is None and follows == PARTS:
        raise NeedsFullParser
    return follows, 2 * column + (1 if dash else 0), key, value, inner


def _key(text: str) -> str:
    if text[0] in "\"'":
        return text[1:-1]
    try:
        return str(plain_key(text))
    except ScalarError as error:
        raise NeedsFullParser from error


def _value(text: str, *, floats: bool) -> tuple[int, Json]:
    """Return what follows, and the value after a key or dash."""
    first = text[:1]
    if not first or first == "#":
        return PARTS, None
    if first in "\"'":
        return (NOTHING, _quoted(text)) if _ends(text[1:], first) else (QUOTED, text)
    if first in "|>":
        found = _HEADER.match(text)
        if found is None:
            raise NeedsFullParser
        return BLOCK, found[1]
    if first in "[{":
        return NOTHING, _flow(text, floats=floats)
    return NOTHING, _plain(text, floats=floats)


def _quoted(text: str) -> str:
    if text[0] == "'":
        single = _SINGLE_QUOTED.match(text)
        if single is None:
            raise NeedsFullParser
        return single[1].replace("''", "'")
    found = _DOUBLE_QUOTED.match(text)
    if found is None or _SURROGATE.search(found[1]):
        raise NeedsFullParser
    return str(json.loads(f'"{found[1]}"')) if "\\" in found[1] else found[1]


def _flow(text: str, *, floats: bool) -> Json:
    """Return a list or map written on one line, as libyaml reads it."""
    if "&" in text or "<<" in text or len(text) > _LONGEST_KEY:
        # Anchors may be used elsewhere; merges are read in several ways.
        raise NeedsFullParser
    empty = _EMPTY.match(text)
    if empty:
        return {} if empty[1] else []
    ignored_line = 0
    try:
        if items := re.match(_ITEMS, text):
            return [_item(word, floats=floats) for word in items[1].split(", ")]
        if entries := re.match(_ENTRIES, text):
            pairs = [one.split(": ", 1) for one in entries[1].split(", ")]
            data = {_key(key): _item(word, floats=floats) for key, word in pairs}
            if len(data) != len(pairs):
                raise NeedsFullParser
        else:
            data, ignored_line = read_first(text, floats=floats, keys=Keys.ONCE)
    except (ScalarError, YamlError) as error:
        raise NeedsFullParser from error
    if ignored_line or _has_null_map(data):
        raise NeedsFullParser
    return data


def _item(word: str, *, floats: bool) -> Json:
    if word[0] in "\"'":
        return word[1:-1]
    return plain_float_value(word) if floats else plain_value(word)


def _has_null_map(data: object) -> bool:
    if data.__class__ is list:
        return any(map(_has_null_map, data))
    return data.__class__ is dict and any(
        (value is None and key in MAP_FIELDS) or _has_null_map(value) for key, value in data.items()
    )


def _plain(text: str, *, floats: bool) -> Json:
    comment = text.find(" #")
    word = (text if comment < 0 else text[:comment]).rstrip(" ")
    if word[0] in _NO_PLAIN_START or word[0:2] in _INDICATORS or word in {"-", "?"}:
        raise NeedsFullParser
    if ": " in word or word[-1] == ":":
        raise NeedsFullParser
    try:
        return plain_float_value(word) if floats else plain_value(word)
    except ScalarError as error:
        raise NeedsFullParser from error


def has_deeper(lines: Sequence[str], start: int, depth: int) -> bool:
    """Return whether the next line is nested in a key whose map has the level `depth`."""
    text = lines[start] if start < len(lines) else ""
    bare = text.lstrip(" ")
    level = 2 * (len(text) - len(bare)) + bare.startswith("- ")
    return level > depth and bare[:1] not in {"", "#"}


def text_below(lines: Sequence[str], start: int, line: Line) -> tuple[str, int]:
    """Return the text below a line, and its number of lines.

    They start at line `start`. `line` has BLOCK or QUOTED. Raises NeedsFullParser.
    """
    follows, level, key, begun, inner = line
    column = (inner if key is not None and inner else level) // 2
    if follows == QUOTED:
        return _quoted_below(lines, start, column, begun)
    indent, before = _indent(lines, start)
    if indent <= column or before > indent:
        raise NeedsFullParser
    margin, found = " " * indent, []
    end = start
    for end in range(start, len(lines)):
        text = lines[end]
        if text.startswith(margin):
            found.append(text[indent:])
        elif not text.strip(" "):
            found.append("")
        else:
            break
    else:
        if begun[1:] == "+":
            raise NeedsFullParser
        end = len(lines)
    text = "\n".join(found)
    # Most texts are ASCII, and the expression takes long to compile.
    is_plain = text.isascii() and text.replace("\n", "").isprintable()
    if not is_plain and re.search(_ODD_IN_BLOCK, text):
        raise NeedsFullParser
    return _chomped(text, begun), end - start


def text_going_on(lines: Sequence[str], start: int, text: str, level: int) -> tuple[str, int]:
    """Return a text from the previous line with its continuation lines, and their number.

    They start at line `start` and are nested below `level`. Raises NeedsFullParser.
    """
    head = _LINE.match(lines[start - 1])
    # A quoted text, a text before a comment and a block scalar cannot continue.
    if head is None or not (head[2] or head[3]) or head[4].rstrip(" ") != text:
        raise NeedsFullParser
    found = [text]
    for at in range(start, len(lines)):
        line = lines[at]
        bare = line.lstrip(" ")
        if 2 * (len(line) - len(bare)) <= level or not bare:
            break
        if not re.match(_TEXT, line) or _needs_full_parser(line):
            raise NeedsFullParser
        found.append(bare.rstrip(" "))
    whole = " ".join(found)
    if plain_value(whole) != whole:
        raise NeedsFullParser
    return whole, len(found) - 1


def _quoted_below(lines: Sequence[str], start: int, column: int, begun: str) -> tuple[str, int]:
    """Return a quoted text that ends on one of the next lines."""
    mark, found = begun[0], [begun.rstrip(" ")]
    for end in range(start, len(lines)):
        line = lines[end]
        bare = line.strip(" ")
        if not bare or not line.startswith(" " * (column + 1)) or _needs_full_parser(line):
            raise NeedsFullParser
        found.append(bare)
        if _ends(bare, mark):
            text = " ".join(found)
            if mark == '"' and "\\" in text:
                raise NeedsFullParser  # the meaning of a line end depends on what precedes it
            return _quoted(text), len(found) - 1
    raise NeedsFullParser


def _ends(text: str, mark: str) -> bool:
    """Return whether a quoted text ends in this part of it, if nothing is escaped."""
    return mark in (text.replace("''", "") if mark == "'" else text)


def _indent(lines: Sequence[str], start: int) -> tuple[int, int]:
    """Return the indent of the first line that is not blank, and the greatest of those before."""
    before = 0
    for line in lines[start:]:
        bare = line.lstrip(" ")
        if bare:
            return (0 if bare[0] == "\t" else len(line) - len(bare)), before
        before = max(before, len(line))
    return 0, before


def _chomped(text: str, header: str) -> str:
    body = text.rstrip("\n")
    if header[0] == ">":
        if header[1:] == "+" or not body:
            raise NeedsFullParser
        body = _folded(body) if _UNEVEN.search(body) else body.replace("\n", " ")
    if header[1:] == "-":
        return body
    return f"{text}\n" if header[1:] == "+" else f"{body}\n"


def _folded(text: str) -> str:
    """Return the lines of a text joined by spaces, except next to indented lines.

    Indented lines keep their line ends; a blank line is a line end.
    """
    folded, blank_lines, kept = "", 0, True
    for line in text.split("\n"):
        if not line:
            blank_lines += 1
            continue
        indented = line[0] in " \t"
        if folded:
            folded += "\n" * (blank_lines + 1) if kept or indented else "\n" * blank_lines or " "
        else:
            folded = "\n" * blank_lines
        folded += line
        blank_lines, kept = 0, indented
    return folded


_SHALLOW = 4
_FOLD = "\x01"
"""Replaces a line end and the blanks after it, where the line is indented by over four columns: it
is read together with the preceding line that is indented less.
"""
_DEEP = " " * (MAX_DEPTH // 2)
"""The indentation at which data has half the maximum depth: from there on libyaml counts."""

_TRIED, _RESTED = 64, 1024
"""The number of texts read with folding before its cost is compared, and the number read without it
afterwards where it does not pay off.
"""
_BEGINNING = 8
"""Starting to read the lines below a line costs as much as this many additional lines."""
_KEPT = 1 << 13
"""The number of cached lines: more do not make reading dumps faster."""
_LONGEST_KEPT = 1_500
"""The length of the longest cached lines: it limits the memory of the cache."""


class _Folding:
    """Whether lines are read together with deeper ones: it pays off where most of these repeat.

    It is tried on a series of texts, and the lines saved are compared with the cost.
    """

    __slots__ = ("_rest", "_tried", "cost", "spared")

    def __init__(self) -> None:
        self.spared = 0
        """Number of nested lines."""
        self.cost = 0
        """Number of those that were read anyway, plus the cost of starting to read them."""
        self._tried = self._rest = 0

    def pays(self) -> bool:
        """Return whether to fold the lines of the next text."""
        if self._rest:
            self._rest -= 1
            return False
        if self._tried == _TRIED:
            self._rest = _RESTED if self.cost > self.spared else 0
            self._tried = self.cost = self.spared = 0
        self._tried += 1
        return True


def read_fast(text: str, *, floats: bool = False, column: int = 0) -> dict[str, Json] | None:
    """Return the map of a text, as `load_one` does; None where the full parser is needed.

    In a map that is returned, nothing follows it, keys are unique, and none of MAP_FIELDS is null.
    The text must end with a line end. Identical parts may be one shared object, which must not be
    modified. `column` is where the map is expected to start, counted from 0.
    """
    found = read_block(text, floats=floats, column=column)
    return found if found.__class__ is dict else None


def read_block(text: str, *, floats: bool = False, column: int = 0) -> Json:
    """Return the map or list of a text, as `read_fast` does."""
    if _FOLD in text or _DEEP in text:
        return None
    readers = _readers(column, floats=floats)
    read_line = readers.single(text)
    if read_line is readers.cached and readers.folding.pays():
        together = text.replace(readers.deep, _FOLD)
        readers.folding.spared += (len(text) - len(together)) // (len(readers.deep) - 1)
        with suppress(NeedsFullParser):
            return _read(together.split("\n"), readers.folded)
    with suppress(NeedsFullParser):
        return _read(text.split("\n"), read_line)
    return None


def plain_lines(text: str) -> Callable[[str], Line]:
    """Return the reader of the lines of a resource; it raises NeedsFullParser."""
    return _readers(0, floats=True).single(text)


class _Readers(NamedTuple):
    """The readers of the lines of maps that start in the same column."""

    read: Callable[[str], Line]
    """Reads a line."""
    cached: Callable[[str], Line]
    """Reads a line once."""
    folded: Callable[[str], Line]
    """Reads a line together with the deeper ones below it once."""
    deep: str
    """The line end and the blanks between them."""
    folding: _Folding

    def single(self, text: str) -> Callable[[str], Line]:
        """Return the reader of the lines of a text, which caches them unless some are long."""
        return self.read if _has_long_line(text) else self.cached


def _has_long_line(text: str) -> bool:
    start = 0
    while len(text) - start > _LONGEST_KEPT:
        start = text.rfind("\n", start, start + _LONGEST_KEPT) + 1
        if not start:
            return True
    return False


@lru_cache(maxsize=8)
def _readers(column: int, *, floats: bool) -> _Readers:
    read = line_reader(floats=floats)
    cached = lru_cache(maxsize=_KEPT)(read)
    shallow = column + _SHALLOW
    deep = "\n" + " " * (shallow + 1)
    folding = _Folding()

    @lru_cache(maxsize=_KEPT)
    def folded(text: str) -> Line:
        if _FOLD in text:
            lines = text.replace(_FOLD, deep).split("\n")
            folding.cost += len(lines) + _BEGINNING
            if len(text) > _LONGEST_KEPT:
                raise NeedsFullParser
            line = _with_deeper(lines, cached, shallow)
        else:
            line = read(text)
        if line[0] >= BLOCK:
            raise NeedsFullParser  # lines with less indentation may belong to it
        return line

    return _Readers(read, cached, folded, deep, folding)


def _with_deeper(lines: list[str], read: Callable[[str], Line], shallow: int) -> Line:
    """Return a line together with the deeper ones below it."""
    _, level, key, _, inner = read(lines[0])
    if key is None or level > 2 * shallow + 1:
        raise NeedsFullParser
    found = _read([*lines, ""], read)
    if inner > 2 * shallow:
        return NOTHING, level, None, found[0], inner  # the whole item: nothing is added to it
    return NOTHING, level, key, (found[0] if inner else found)[key], inner


def _read(  # noqa: C901, PLR0912 — one pass over lines; calls would halve the speed
    lines: list[str], known: Callable[[str], Line]
) -> Json:
    """Return the data of lines, the last of which is empty."""
    root: dict[str, Json] = {}
    stack: list[tuple[Json, int]] = []
    container: Json = root
    depth = -1
    pending: str | None = ""
    rest = iter(lines)
    for text in rest:
        follows, level, key, value, inner = known(text)
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
                raise NeedsFullParser
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
            raise NeedsFullParser
        container[key] = value
        if not follows or follows >= BLOCK:
            pending = None
            continue
        if follows == TEXT:
            raise NeedsFullParser
        pending = key
        if follows == MAP_PARTS and not has_deeper(lines, len(lines) - length_hint(rest), depth):
            raise NeedsFullParser
    return root.get("")


def _last_text(follows: int, container: Json) -> tuple[str | int, str]:
    """Return the key or index of the last text of a container, and it; raises NeedsFullParser."""
    last = next(reversed(container)) if container.__class__ is dict else -1
    text = container[last]
    if follows != TEXT or text.__class__ is not str:
        raise NeedsFullParser
    return last, text
