"""YAML text to plain data, typed as Go and Kubernetes type it.

upstream: sigs.k8s.io/yaml over go-yaml v2, apimachinery's YAMLReader. libyaml, of
which go-yaml is a port, does the parsing; everything above its events is ours.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kyvsim.kubernetes.objects import Json
from kyvsim.yaml.document import Keys, YamlError, read_first, read_one
from kyvsim.yaml.lines import read_block
from kyvsim.yaml.positions import plain_position, position_by_events

# A YAML stream cut into the texts of its documents, as Kubernetes' readers cut it.


_CONTENT = re.compile(r"^[^\S\n]*[^\s#]", re.MULTILINE)
_ODD_BREAK = r"[\r\x85\u2028\u2029]\s*[^\s#]"
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
    return not rest or (rest.startswith("#") and not re.search(_ODD_BREAK, rest))


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
        elif body and re.search(_ODD_BREAK, body):
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


# YAML text to plain data, typed as Go and Kubernetes type it.
#
# upstream: sigs.k8s.io/yaml over go-yaml v2, apimachinery's YAMLReader. libyaml, of
# which go-yaml is a port, does the parsing; everything above its events is ours.


class FirstDocument(NamedTuple):
    """What one chunk of YAML holds."""

    data: Json
    ignored_line: int
    """Line at which text begins that Kubernetes does not read any more; 0 where there is none."""


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


def load_first(text: str, *, floats: bool = False, keys: Keys = Keys.LAST_WINS) -> FirstDocument:
    """Return the first document as `load_one` does, and where text begins that is ignored."""
    return FirstDocument(*read_first(text, floats=floats, keys=keys))


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

    For the entry of a map that is where its key stands. A node that does not exist stands where its
    nearest existing ancestor does; of duplicate keys the last one counts.
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
