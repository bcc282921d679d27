"""An open document: keys and positions of its YAML lines, and the context of a cursor."""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from kyvsim.kubernetes.objects import Path
from kyvsim.model.source import Location

# The keys of a YAML text by its lines alone, so that an incomplete document has them, too.
# Nothing is parsed: the parent of a line's key is the less indented line above. Block scalars are
# skipped. Flow collections are read if they end on their line.

_LINE: Final = re.compile(
    r"""(?P<indent>\ *)(?P<dashes>(?:-\ +)*)
    (?:(?P<key>"[^"]*"|'(?:[^']|'')*'|[^\s\#"'{\[&*!|>%@`-][^:\#]*?|-[^\s:][^:\#]*?)\ *:
    (?:\s+(?P<value>.*))?$
    |(?P<rest>.*))""",
    re.VERBOSE,
)
_BLOCK: Final = re.compile(r"[|>][-+0-9]*\s*(#.*)?$")
_TAIL: Final = re.compile(r"\s+#.*$")
_QUOTED: Final = re.compile(r""""(?:[^"\\]|\\.)*"|'(?:[^']|'')*'""")
_FLOW: Final = re.compile(
    r"""(?P<open>[\[{])|(?P<close>[]}])|(?P<comma>,)|(?P<colon>:(?=[\s"'\[{]|$))
    |(?P<text>"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s,\[\]{}"'#:](?:[^,\[\]{}:#]|:(?=\S)|(?<=\S)\#)*)
    |(?P<comment>\s\#.*)""",
    re.VERBOSE,
)
_DEEPEST: Final = 20
"""Maximum nesting of flow collections that are read."""


class YamlEntry(NamedTuple):
    """A key, or a scalar item of a list; lines and columns count from 0."""

    document: int
    path: Path
    """The path to it, with its own key or index last."""
    line: int
    column: int
    value: str
    """The rest of the line, without quotes and comments."""
    value_column: int

    @property
    def name(self) -> str:
        """The key; "" for a list item."""
        last = self.path[-1]
        return last if isinstance(last, str) else ""

    @property
    def names_rule(self) -> bool:
        """Whether it is the name of a policy's rule."""
        return len(self.path) == 4 and self.path[:2] == ("spec", "rules") and self.name == "name"


def place_at(text: str, line: int, column: int) -> tuple[int, Path]:
    """Return the document at a line and column, and the path of text that is typed there.

    Dashes before the column on its line are list items.
    """
    lines = text.split("\n")[: line + 1]
    last = lines[-1][:column] if len(lines) > line else ""
    dashes = re.match(r"( *)((?:- +)*)", last)
    found = _OutlineReader()
    for _ in found.read(lines[:-1]):
        pass
    indent = len(dashes[1]) if dashes else 0
    for dash in re.finditer("-", dashes[2] if dashes else ""):
        found.item(indent + dash.start())
    found.close(column if not last.strip() else (dashes.end() if dashes else column))
    return found.document, found.path


class _OutlineReader:
    """Reads lines and tracks the parents of the next one."""

    __slots__ = ("_block", "_levels", "document")

    def __init__(self) -> None:
        self.document = 0
        self._levels: list[tuple[int, str | int]] = []
        """The columns and path elements of possible parents of later lines."""
        self._block = -1  # lines that are indented more than this belong to a block scalar

    @property
    def path(self) -> Path:
        """The path of the innermost open element."""
        return tuple(part for _, part in self._levels)

    def read(self, lines: Sequence[str]) -> Iterator[YamlEntry]:
        """Yield the entries of lines."""
        for number, line in enumerate(lines):
            line = line.removesuffix("\r")  # noqa: PLW2901 — still the same line
            stripped = line.strip()
            if line.startswith("---") and not line[3:4].strip():
                self.document += 1
                self._levels, self._block = [], -1
                continue
            if not stripped or stripped.startswith("#"):
                continue
            if self._block >= 0 and len(line) - len(line.lstrip(" ")) > self._block:
                continue
            self._block = -1
            yield from self._line(number, line)

    def _line(self, number: int, line: str) -> Iterator[YamlEntry]:
        found = _LINE.match(line)
        if found is None:
            return
        indent = len(found["indent"])
        for dash in re.finditer("-", found["dashes"]):
            self.item(indent + dash.start())
        if found["rest"] == "-":
            self.item(found.start("rest"))
            return
        column = found.end("dashes")
        if found["key"] is None:
            if found["dashes"]:
                value, start = found["rest"], found.start("rest")
                yield self._entry(number, column, value, start)
                if value[:1] in {"[", "{"}:
                    yield from self._flow(number, line, start)
            return
        self.close(column)
        self._levels.append((column, found["key"].strip("\"'")))
        value = found["value"] or ""
        if _BLOCK.match(value):
            self._block = column
        start = found.start("value") if found["value"] is not None else len(line)
        yield self._entry(number, column, value, start)
        if value[:1] in {"[", "{"}:
            yield from self._flow(number, line, start)

    def _flow(self, number: int, line: str, start: int) -> Iterator[YamlEntry]:
        """Yield the entries of a flow collection that begins at a column."""
        path: list[str | int] = [*self.path]
        within: list[str] = []
        key_column = -1  # that of the key whose value comes next
        for token in _FLOW.finditer(line, start):
            sign, column = token[0], token.start()
            if token.lastgroup == "open" and len(within) < _DEEPEST:
                if key_column >= 0:
                    yield self._entry(number, key_column, "", column, path)
                within.append(sign)
                path.append(0 if sign == "[" else "")
                key_column = -1
            elif token.lastgroup == "close":
                within.pop()
                path.pop()
                key_column = -1
            elif token.lastgroup == "comma":
                last = path[-1]
                path[-1] = last + 1 if isinstance(last, int) else ""
                key_column = -1
            elif token.lastgroup == "text" and path[-1] == "":
                path[-1] = sign[1:-1] if _QUOTED.fullmatch(sign) else sign.strip()
                key_column = column
            elif token.lastgroup == "text":
                yield self._entry(number, max(key_column, 0) or column, sign, column, path)
                key_column = -1
            elif token.lastgroup != "colon":
                return  # a comment, or nested too deeply
            if not within:
                return

    def _entry(
        self, number: int, column: int, value: str, start: int, path: Sequence[str | int] = ()
    ) -> YamlEntry:
        whole = _QUOTED.match(value)
        plain = whole[0] if whole else _TAIL.sub("", value).strip()
        quoted = plain[:1] in {'"', "'"} and plain[-1:] == plain[:1] and len(plain) > 1
        return YamlEntry(
            document=self.document,
            path=tuple(path) or self.path,
            line=number,
            column=column,
            value=plain[1:-1] if quoted else plain,
            value_column=start + quoted,
        )

    def close(self, column: int) -> None:
        """Leave the elements that cannot contain a key at a column."""
        while self._levels and self._levels[-1][0] >= column:
            self._levels.pop()

    def item(self, column: int) -> None:
        """Enter the next item of a list whose dashes are at a column."""
        index = 0
        while self._levels and self._levels[-1][0] >= column:
            own, part = self._levels[-1]
            if own == column and isinstance(part, str):
                break  # a list may start at the column of its key
            if own == column and isinstance(part, int):
                index = part + 1
            self._levels.pop()
        self._levels.append((column, index))


_WORD: Final = re.compile(r"[A-Za-z_][\w.-]*")
_TYPED: Final = re.compile(r"[\w.$-]*")
_KEY: Final = re.compile(r'[ ]*(?:- +)*(?P<key>[^\s:#{\["\'][^:#]*?) *:\s(?P<value>.*)$')
_CEL_KEYS: Final = frozenset({"expression", "messageExpression", "valueExpression"})


class EditPosition(NamedTuple):
    """The position of an edit; lines and columns count from 0."""

    document: int
    path: Path
    """Whether it is in a value, whose key is last in the path."""
    in_value: bool
    typed: str
    before: str
    line: int
    column: int


class YamlText(NamedTuple):
    """A text, and its entries."""

    text: str
    entries: tuple[YamlEntry, ...]

    def of(self, document: int) -> Iterator[YamlEntry]:
        """Yield the entries of one of its documents."""
        return (one for one in self.entries if one.document == document)

    def kind(self, document: int) -> str:
        """Return the apiVersion/kind of a document, with empty parts where they are missing."""
        return f"{self.value(document, 'apiVersion')}/{self.value(document, 'kind')}"

    def value(self, document: int, *path: str | int) -> str:
        """Return the scalar at a path, "" if there is none."""
        return next((one.value for one in self.of(document) if one.path == path), "")

    def entry_at(self, line: int, column: int) -> YamlEntry | None:
        """Return the entry on a line whose key or value contains the column."""
        found = [one for one in self.entries if one.line == line and one.column <= column]
        return found[-1] if found else None

    def cursor(self, line: int, column: int) -> EditPosition:
        """Return the structural context of a position."""
        lines = self.text.split("\n")
        before = lines[line][:column] if line < len(lines) else ""
        document, path = place_at(self.text, line, len(before))
        own = _KEY.match(before)
        if own:
            path = (*path, own["key"].strip("\"'"))
        # A line may be part of a multi-line text that belongs to an entry above.
        indent = len(before) - len(before.lstrip())
        above = next((one for one in reversed(self.entries) if one.line < line), None)
        is_text = bool(above and above.value[:1] in {"|", ">"} and above.column < indent)
        if above and is_text:
            path = above.path
        found = _TYPED.match(before[::-1])
        last_word = found[0][::-1] if found else ""
        return EditPosition(
            document=document,
            path=path,
            in_value=is_text or own is not None,
            typed=last_word,
            before=before,
            line=line,
            column=len(before),
        )


def read_text(text: str) -> YamlText:
    """Return a text with the entries of all its documents, in order."""
    return YamlText(text, tuple(_OutlineReader().read(text.split("\n"))))


def word_at(text: str, line: int, column: int) -> tuple[str, int]:
    """Return the word at a position and its start column, "" for none."""
    lines = text.split("\n")
    for found in _WORD.finditer(lines[line] if line < len(lines) else ""):
        if found.start() <= column <= found.end():
            return found[0], found.start()
    return "", column


def in_template(cursor: EditPosition) -> bool:
    """Return whether a position is between `{{` and `}}` of its line."""
    return cursor.before.rfind("{{") > cursor.before.rfind("}}")


def in_cel(cursor: EditPosition, kind: str) -> bool:
    """Return whether a position is in a CEL expression, in a document of a kind."""
    if not (cursor.in_value and cursor.path and cursor.path[-1] in _CEL_KEYS):
        return False
    others = ("policies.kyverno.io/", "admissionregistration.k8s.io/")
    return kind.startswith(others) or "cel" in cursor.path


def in_jmespath(cursor: EditPosition, kind: str) -> bool:
    """Return whether a position is in a JMESPath expression without braces."""
    if not (cursor.in_value and cursor.path and kind.startswith("kyverno.io/")):
        return False
    name = cursor.path[-1]
    return name == "jmesPath" or (name == "list" and "foreach" in cursor.path)


_STEPS_BACKWARDS: Final = re.compile(r"(?:[\w$@-]+|\][^\[\]]{0,40}\[|\?\.|\.)*")
_LONGEST_PATH: Final = 500
_STEP: Final = re.compile(r"[\w$@-]+|\[[^\]]*")


def steps_before(cursor: EditPosition) -> tuple[str, ...]:
    """Return the names before the last dot of the expression at a position; `[]` for an element.

    () if nothing before it is a path.
    """
    found = _STEPS_BACKWARDS.match(cursor.before[-_LONGEST_PATH:][::-1])
    path, dot, _ = (found[0][::-1] if found else "").rpartition(".")
    return tuple("[]" if one[0] == "[" else one for one in _STEP.findall(path)) if dot else ()


_SPAN_KEY: Final = re.compile(r"""("[^"]*"|'[^']*'|[^\s:#{}\[\],][^:#{}\[\],]*?)(?=\s*:(?:\s|$))""")
_REST: Final = re.compile(r"[^#]*?(?=\s*(?:#.*)?$)")


def span_of(place: Location | None, lines: Sequence[str]) -> tuple[int, int, int]:
    """Return line, column and exclusive end of a diagnostic, from 0.

    It is a key, or a value to the end of its line.
    """
    line = max(0, min((place.line if place else 1) - 1, len(lines) - 1))
    column = min(max(0, (place.column if place else 1) - 1), len(lines[line]))
    rest = lines[line].removesuffix("\r")
    found = _SPAN_KEY.match(rest, column) or _REST.match(rest, column)
    return line, column, max(found.end() if found else column, column)
