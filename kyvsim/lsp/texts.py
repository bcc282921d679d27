"""A text with what its lines tell: its documents, and what stands at a position."""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from kyvsim.lsp.outline import Entry, entries, place_at
from kyvsim.model.source import Path

_WORD: Final = re.compile(r"[A-Za-z_][\w.-]*")
_TYPED: Final = re.compile(r"[\w.$-]*")
_KEY: Final = re.compile(r'[ ]*(?:- +)*(?P<key>[^\s:#{\["\'][^:#]*?) *:\s(?P<value>.*)$')
_CEL_KEYS: Final = frozenset({"expression", "messageExpression", "valueExpression"})


class Cursor(NamedTuple):
    """Where somebody types; lines and columns count from 0."""

    document: int
    path: Path
    """In what: of a value, its key is last."""
    in_value: bool
    typed: str
    """The word before the position."""
    before: str
    """All of the line before it."""
    line: int
    column: int


class Text(NamedTuple):
    """A text, and its entries."""

    text: str
    entries: tuple[Entry, ...]

    def of(self, document: int) -> Iterator[Entry]:
        """Yield the entries of one of its documents."""
        return (one for one in self.entries if one.document == document)

    def kind(self, document: int) -> str:
        """Return the apiVersion/kind of a document, with empty parts where they are missing."""
        return f"{self.value(document, 'apiVersion')}/{self.value(document, 'kind')}"

    def value(self, document: int, *path: str | int) -> str:
        """Return the scalar at a path, "" where there is none."""
        return next((one.value for one in self.of(document) if one.path == path), "")

    def entry_at(self, line: int, column: int) -> Entry | None:
        """Return the entry whose line that is, where the position is in its key or value."""
        found = [one for one in self.entries if one.line == line and one.column <= column]
        return found[-1] if found else None

    def cursor(self, line: int, column: int) -> Cursor:
        """Return where a position is, before which somebody has typed."""
        lines = self.text.split("\n")
        before = lines[line][:column] if line < len(lines) else ""
        place = place_at(self.text, line, len(before))
        own = _KEY.match(before)
        path = (*place.path, own["key"].strip("\"'")) if own else place.path
        above = self._text_above(line, len(before) - len(before.lstrip()))
        if above is not None:
            path, own = above.path, _KEY.match("key: x")
        return Cursor(
            document=place.document,
            path=path,
            in_value=own is not None,
            typed=_last_word(before),
            before=before,
            line=line,
            column=len(before),
        )

    def _text_above(self, line: int, indent: int) -> Entry | None:
        """Return the entry whose text of several lines a line is part of."""
        last = [one for one in self.entries if one.line < line]
        if last and last[-1].value[:1] in {"|", ">"} and last[-1].column < indent:
            return last[-1]
        return None


def _last_word(before: str) -> str:
    """Return the word with which a text ends; looked for from there, since a line may be long."""
    found = _TYPED.match(before[::-1])
    return found[0][::-1] if found else ""


def read_text(text: str) -> Text:
    """Return a text with its entries."""
    return Text(text, entries(text))


def word_at(text: str, line: int, column: int) -> tuple[str, int]:
    """Return the word at a position and where it begins, "" for none."""
    lines = text.split("\n")
    for found in _WORD.finditer(lines[line] if line < len(lines) else ""):
        if found.start() <= column <= found.end():
            return found[0], found.start()
    return "", column


def in_template(cursor: Cursor) -> bool:
    """Return whether a position is between `{{` and `}}` of its line."""
    return cursor.before.rfind("{{") > cursor.before.rfind("}}")


def in_cel(cursor: Cursor, kind: str) -> bool:
    """Return whether a position is in an expression in CEL, in a document of a kind."""
    if not (cursor.in_value and cursor.path and cursor.path[-1] in _CEL_KEYS):
        return False
    others = ("policies.kyverno.io/", "admissionregistration.k8s.io/")
    return kind.startswith(others) or "cel" in cursor.path
