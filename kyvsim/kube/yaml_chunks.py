"""A YAML stream cut into the texts of its documents, as Kubernetes' readers cut it."""

import re
from collections.abc import Iterator
from typing import NamedTuple

_CONTENT = re.compile(r"^[^\S\n]*[^\s#]", re.MULTILINE)
_ODD_BREAK = re.compile(r"[\r\x85\u2028\u2029]\s*[^\s#]")
"""Content after a line end that YAML knows and Kubernetes' readers do not."""


class Excerpt(NamedTuple):
    """A part of a text that is written out when it is asked for: many of them take little room."""

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
        """The part, in the columns in which it stands."""
        return " " * self.margin + self.whole[self.start + self.margin : self.end]

    def line_of_whole(self, number: int, first: int = 0, last: int | None = None) -> str:
        """Return the line with a number as it is written; "" for one that is not of the part.

        Of a line as long as a file only what stands between two columns, which count from 0, is
        copied.
        """
        start = self.start - self.shift
        for _ in range(number - self.line):
            start = self.whole.find("\n", start, self.end) + 1
            if not start:
                return ""
        limit = len(self.whole) if last is None else min(start + last, len(self.whole))
        end = self.whole.find("\n", start + first, limit)
        return self.whole[start + first : end if end >= 0 else limit] if number >= self.line else ""


class Chunk(NamedTuple):
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

    def excerpt(self) -> Excerpt:
        """Return what to keep for finding places in the text."""
        return Excerpt(self.stream, self.start, self.start + len(self.text), self.line)


def is_separator(line: str) -> bool:
    """Return whether a line that begins with `---` ends a document, and nothing else."""
    rest = line[3:].strip()
    return not rest or (rest.startswith("#") and not _ODD_BREAK.search(rest))


def split_chunks(text: str, line: int = 1) -> Iterator[Chunk]:
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
        end = _next_separator(text, start)
        body = text[start:end]
        if _CONTENT.search(body):
            yield Chunk(body, line, stream=text, start=start)
        elif body and _ODD_BREAK.search(body):
            yield Chunk("", line, hidden=True)
        if end == size:
            return
        line += body.count("\n")
        separator = text[end : _end_of_line(text, end)]
        if not is_separator(separator):
            yield Chunk("", line, separator)
            return
        start, line = end + len(separator) + 1, line + 1


def normal_text(text: str) -> str:
    """Return a text with LF at the end of all lines, and without a byte order mark."""
    text = text.replace("\r\n", "\n").removeprefix("\ufeff")
    return text if text.endswith("\n") else f"{text}\n"


def _next_separator(text: str, start: int) -> int:
    """Return where the next line that begins with `---` begins, or the end of the text."""
    if text.startswith("---", start):
        return start
    found = text.find("\n---", start)
    return len(text) if found < 0 else found + 1


def _end_of_line(text: str, start: int) -> int:
    end = text.find("\n", start)
    return len(text) if end < 0 else end
