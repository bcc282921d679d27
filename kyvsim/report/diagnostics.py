"""Diagnostics as text and JSON, positions of results, and lines of files with a marked part."""

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

from kyvsim.kubernetes.objects import Json
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.result import EngineResponse, Excerpt
from kyvsim.model.source import Document, Location
from kyvsim.report.results import Row
from kyvsim.report.style import TextLayout, safe_line, wrapped

_QUOTED: Final = re.compile(r'"(?:[^"\\]|\\.)*"' r"|'(?:[^']|'')*'")
_WORD: Final = re.compile(r"[^\s,\[\]{}]+")
_PLAIN = r"[^,\[\]{}#]+"
_QUOTES: Final = ('"', "'")
_NO_KEY_STARTS: Final = frozenset(":\"'")
_NO_PLAIN_STARTS: Final = frozenset("&!*|>[{#")
_CLOSING: Final[Mapping[str, str]] = MappingProxyType({"{": "}", "[": "]"})
_BEFORE: Final = 16
_CUT: Final = "…"
_KEPT: Final = 200
"""Maximum characters of each part of an excerpt; no view is as wide."""
_LOOKED_AT: Final = 4 * _KEPT
"""Maximum characters that are read from a column on: a line may be as long as a file."""


def window_of(column: int) -> tuple[int, int]:
    """Return first and last column, from 0, of the part of a line that `excerpt_of` needs."""
    return max(column - 1 - _KEPT, 0), column - 1 + _LOOKED_AT


def excerpt_of(source: str, column: int) -> Excerpt | None:
    """Return the part of a line around the entry or value at a column, which counts from 1.

    None if the line has no such column. Of long lines only the part near it is returned.
    """
    start = column - 1
    near = source[start : start + _LOOKED_AT]
    if not near.strip():
        return None
    is_cut = len(source) - start >= _LOOKED_AT
    ends_beyond = is_cut and near[0] in _QUOTES and not _quoted(near, 0)
    meant = near if ends_beyond else _meant(near, 0)
    after = near[len(meant) :].rstrip()
    return Excerpt(source[max(start - _KEPT, 0) : start], meant[:_KEPT], after[:_KEPT])


def excerpt_lines(excerpt: Excerpt, number: int, width: int) -> Iterator[tuple[str, str]]:
    """Yield a line and the line with the mark below it, each as gutter and text.

    A line that is too long for the width is shown in part.
    """
    gutter = f"{number} | "
    room = max(width - len(gutter), _BEFORE * 2)
    texts = [safe_line(text.replace("\t", " ")) for text in excerpt]
    if _cells("".join(texts)) > room:
        texts = _cut(texts, room)
    mark = "^" * max(_cells(texts[1].removesuffix(_CUT)), 1)
    yield gutter, "".join(texts)
    yield " " * (len(gutter) - 2) + "| ", " " * _cells(texts[0]) + mark


def _meant(source: str, start: int) -> str:
    """Return the entry or value that begins at a place."""
    if source[start] in _CLOSING:
        # A map or list in braces as far as it is on the line.
        depth = 0
        for place, character in enumerate(source[start:], start):
            depth += (character in _CLOSING) - (character in _CLOSING.values())
            if depth == 0:
                return source[start : place + 1]
        return source[start:].rstrip()
    # A text in quotes, a key or another word; a key ends before its colon.
    end = start + (_quoted(source, start) or 1)
    word = None if end > start + 1 else _WORD.match(source, start)
    if word:
        end = word.end()
        is_key = source[end - 1] == ":" and source[start] not in _NO_KEY_STARTS
        end -= is_key and not source[end : end + 1].strip()
    behind = source[end:].lstrip()
    if not behind.startswith(":") or behind[1:2].strip():
        return source[start:end]
    # How much of the text behind a key is a scalar, 0 where something else begins there.
    value = behind[1:].lstrip()
    size = _quoted(value, 0)
    plain = None if size or value[:1] in _NO_PLAIN_STARTS else re.match(_PLAIN, value)
    size = len(plain[0].rstrip()) if plain else size
    return source[start : len(source) - len(value) + size if size else end]


def _quoted(text: str, start: int) -> int:
    """Return how long the text in quotes is that begins at a place, 0 where none does."""
    match = _QUOTED.match(text, start) if text[start : start + 1] in _QUOTES else None
    return len(match[0]) if match else 0


def _cut(texts: list[str], room: int) -> list[str]:
    """Return what is before, what is meant and what is after, with as much as there is room for."""
    before, meant, after = texts
    if _cells(before) > _BEFORE and before.strip():
        before = _CUT + before[-_BEFORE:]
    elif _cells(before) > room // 2:
        before = before[: room // 2]
    if _cells(before + meant) > room:
        return [before, _cropped(meant, room - _cells(before) - 1) + _CUT, ""]
    left = room - _cells(before + meant)
    return [before, meant, after if _cells(after) <= left else _cropped(after, left - 1) + _CUT]


def _cropped(text: str, room: int) -> str:
    """Return as much of a text as there are columns for; it takes more."""
    if text.isascii():
        return text[: max(room, 0)]
    from rich.cells import set_cell_size

    return set_cell_size(text, max(room, 0))


def _cells(text: str) -> int:
    """Return how many columns a text takes on a terminal."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


# Positions of the object of a result, of the failed part of it, and of its rule.


_MOST_SLASHES = 8
"""So many pieces of a path are tried as one key; label keys have one slash at most."""


def resource_place(response: EngineResponse) -> Location | None:
    """Return where a response's object is written, or None for one that no manifest holds."""
    return response.document.locate(()) if response.document else None


def rule_place(row: Row) -> Location:
    """Return where the rule of a row is written; that of the one it was derived from, if so."""
    return row.policy.document.locate(row.result.rule.path)


def failed_place(document: Document | None, path: str) -> Location | None:
    """Return the position of the deepest node along `path`; None without its first field."""
    names = path.strip("/").split("/")
    if document is None or _member(document.data, names[0]) is None:
        return None
    steps: list[str | int] = []
    node: Json = document.data
    while names:
        # Keys such as `example.com/team` have slashes of their own, and the path escapes none.
        lengths = range(1, min(len(names), _MOST_SLASHES) + 1) if node.__class__ is dict else ()
        length = next((n for n in lengths if "/".join(names[:n]) in node), 1)
        name = "/".join(names[:length])
        step: str | int = int(name) if node.__class__ is list and name.isdecimal() else name
        steps.append(step)
        node = _member(node, step)
        names = names[length:]
    return document.locate(tuple(steps))


def place_json(place: Location | None) -> Json:
    """Return a place as data; None where there is none."""
    return None if place is None else place._asdict()


def location_json(place: Location | None) -> dict[str, Json]:
    """Return a place as data; for none its file is "" and its line and column are 0."""
    return (place or Location(""))._asdict()


def _member(node: Json, step: str | int) -> Json:
    if node.__class__ is dict:
        return node.get(step)
    in_list = node.__class__ is list and step.__class__ is int
    return node[step] if in_list and int(step) < len(node) else None


def diagnostic_json(entry: Diagnostic) -> Json:
    """Return a diagnostic as a mapping; line and column are 0 where they are unknown."""
    data: dict[str, Json] = {
        "code": entry.code,
        "severity": entry.severity.value,
        "message": entry.message,
        **location_json(entry.location),
    }
    if entry.excerpt:
        data["excerpt"] = list(entry.excerpt)
    if entry.fix and entry.fix.edits:
        edits = [
            {
                "line": edit.line,
                "column": edit.column,
                "endLine": edit.end_line,
                "endColumn": edit.end_column,
                "text": edit.text,
            }
            for edit in entry.fix.edits
        ]
        data["fix"] = {"title": entry.fix.title, "edits": edits}
    return data


_INDENT: Final = "    "


def source_lines(entry: Diagnostic, line: str, layout: TextLayout) -> Iterator[str]:
    """Yield the line of a diagnostic ("" if unknown) and its mark; nothing with an excerpt."""
    place = entry.location
    excerpt = excerpt_of(line, place.column) if place and not entry.excerpt else None
    if place is None or excerpt is None:
        return
    shown, mark = excerpt_lines(excerpt, place.line, layout.width - len(_INDENT))
    style = "error" if entry.severity is Severity.ERROR else "warn"
    yield f"{_INDENT}{layout.paint('dim', shown[0])}{shown[1]}"
    yield f"{_INDENT}{layout.paint('dim', mark[0])}{layout.paint(style, mark[1])}"


def diagnostic_text(entry: Diagnostic, width: int = 0) -> str:
    """Return a diagnostic on one line, safe to show, and its excerpt below.

    It is wrapped to `width`, the width of a terminal; 0 is for programs.
    """
    lines = [safe_line(str(entry))]
    if 0 < width < len(lines[0]):
        lines = [*wrapped(str(entry), width, "    ", "")]
    return "\n".join((*lines, *(f"    {safe_line(line)}" for line in entry.excerpt)))
