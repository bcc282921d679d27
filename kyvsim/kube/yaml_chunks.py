"""A YAML stream cut into the texts of its documents, as Kubernetes' readers cut it."""

import re
from collections.abc import Iterator
from typing import NamedTuple

_SEPARATOR = re.compile(r"^---.*$", re.MULTILINE)


class Chunk(NamedTuple):
    """The text of one document inside a stream."""

    text: str
    line: int
    """Line of the stream at which the text begins, counted from 1."""
    bad_separator: str = ""
    """The line that ended the stream early: `---` followed by something that is no comment."""


def is_empty(text: str) -> bool:
    """Return whether a text holds nothing but comments and blank lines."""
    return all(not line or line.startswith("#") for line in map(str.strip, text.split("\n")))


def _is_separator(line: str) -> bool:
    rest = line[3:].strip()
    return not rest or rest.startswith("#")


def split_chunks(text: str) -> Iterator[Chunk]:
    r"""Yield the documents of a stream, those without content left out.

    A line that begins with `---` ends a document; where more than a comment follows on it,
    Kubernetes stops reading: the last chunk then holds that line as `bad_separator`. CRLF becomes
    LF.
    upstream: apimachinery `util/yaml` YAMLReader.
    """
    text = text.replace("\r\n", "\n").removeprefix("\ufeff")
    start, line = 0, 1
    for found in _SEPARATOR.finditer(text):
        if found.start() > start:
            body = text[start : found.start()]
            if not is_empty(body):
                yield Chunk(body, line)
            line += body.count("\n")
        if not _is_separator(found[0]):
            yield Chunk("", line, found[0])
            return
        start, line = found.end() + 1, line + 1
    body = text[start:]
    if not is_empty(body):
        yield Chunk(body, line)
