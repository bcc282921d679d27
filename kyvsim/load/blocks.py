"""Resource files cut into blocks of bytes, and the resources of one block."""

import errno
import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from kyvsim.kubernetes.discovery import KindTable
from kyvsim.load.documents import (
    AS_RESOURCES,
    PlaceFinder,
    holds_others,
    is_list,
    parse_documents,
    typed,
)
from kyvsim.load.files import LARGEST, STDIN, STDIN_NAME, TOO_LARGE, Source, decode, without_waiting
from kyvsim.load.recognise import helm_template
from kyvsim.load.resources import LoadedText, resources_among
from kyvsim.model.source import Document
from kyvsim.yaml.blocks import Frame, Reader, Span, cut_bytes, read_items
from kyvsim.yaml.lines import NeedsFullParser
from kyvsim.yaml.text import normal_text

# Resource files as blocks of bytes that are read when their turn comes: nobody holds the whole.

_CHANGED = "the file has changed since it was split"


class Origin(NamedTuple):
    """A file that was named, as it was found, or standard input."""

    name: str
    path: str
    """Where it is; "" for standard input."""
    data: bytes
    """What came by standard input; else nothing."""
    length: int
    """In bytes."""
    mark: tuple[int, int]
    """When a file was changed, and which one it is: another one has another mark."""


class FileBlock(NamedTuple):
    """A part of a file, of whole documents or of whole items of one list."""

    origin: Origin
    span: Span
    mentions: bool
    """Whether a kind that was looked for may be in it."""


def origins(paths: Iterable[str | Source], stdin: bytes | None) -> tuple[Origin, ...] | None:
    """Return the files that `paths` lead to; None where one is not a file that was named."""
    found = [_origin(path, stdin) for path in paths]
    known = tuple(one for one in found if one is not None)
    return known if len(known) == len(found) else None


def _origin(path: str | Source, stdin: bytes | None) -> Origin | None:
    if isinstance(path, Source):
        return None
    if path == STDIN:
        data = stdin or b""
        return Origin(STDIN_NAME, "", data, len(data), (0, 0))
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(found.st_mode):
        return None
    return Origin(path, path, b"", found.st_size, _mark(found))


def _mark(found: os.stat_result) -> tuple[int, int]:
    return found.st_mtime_ns, found.st_ino


def cut_files(files: Iterable[Origin], size: int, kinds: Iterable[str]) -> Iterator[FileBlock]:
    """Yield the blocks of files, of about `size` bytes each, with a look for some kinds of objects.

    Raises OSError where a file cannot be read any more, or a block is larger than what is read.
    """
    words = tuple(kind.encode("utf-8", "surrogatepass") for kind in kinds)
    names = b"|".join(map(re.escape, words))
    entry = re.compile(rb'kind"?: *["\']?(?:%b)\b' % names)
    # Most texts have none of the words, which is found much quicker.
    for one in files:
        with _opened(one) as read:
            for span in cut_bytes(
                read, one.length, size, lambda frame: is_list({**frame.envelope, "items": [{}]})
            ):
                text = read(span.start, span.end - span.start)
                mentions = any(word in text for word in words) and bool(entry.search(text))
                yield FileBlock(one, span, mentions)


def source_of(block: FileBlock) -> Source:
    """Return the text of a block; raises OSError and, where it is no text, ValueError."""
    span = block.span
    with _opened(block.origin) as read:
        found = decode(block.origin.name, read(span.start, span.end - span.start))
    if not isinstance(found, Source):
        raise ValueError(found.message)  # noqa: TRY004 — of a text, not of a type
    return found._replace(line=span.line)


@contextmanager
def _opened(origin: Origin) -> Iterator[Reader]:
    """Open a file to be read from any place; raises OSError where it is not what it was."""
    if not origin.path:
        yield lambda start, size: origin.data[start : start + size]
        return
    with open(origin.path, "rb", buffering=0, opener=without_waiting) as file:
        found = os.fstat(file.fileno())
        if (found.st_size, _mark(found)) != (origin.length, origin.mark):
            raise OSError(errno.ESTALE, _CHANGED, origin.name)

        def read(start: int, size: int) -> bytes:
            if size > LARGEST:
                raise OSError(errno.EFBIG, TOO_LARGE, origin.name)
            file.seek(start)
            data = file.read(size)
            if len(data) < min(size, origin.length - start):
                raise OSError(errno.ESTALE, _CHANGED, origin.name)
            return data

        yield read


# Resources of one block of a file.


class Indivisible(Exception):  # noqa: N818 — no error: it says how to go on
    """What a block is part of has to be read as one, or has changed since it was cut."""


def load_block(block: FileBlock, kinds: KindTable) -> LoadedText:
    """Return the resources of a block; `kinds` are those of the definitions.

    Raises Indivisible.
    """
    try:
        source = source_of(block)
        if block.span.frame is None:
            found = tuple(parse_documents(source, AS_RESOURCES))
        else:
            found = tuple(_items(source, block.span.frame))
    except (OSError, ValueError, RecursionError, NeedsFullParser) as error:
        raise Indivisible from error
    return resources_among(found, kinds)


def _items(source: Source, frame: Frame) -> Iterator[Document]:
    """Yield the items of a list that a block has, as `parse_documents` does of the whole.

    Raises ValueError, RecursionError or NeedsFullParser where they cannot be read by themselves.
    """
    text = normal_text(source.text)
    if helm_template(text):
        raise NeedsFullParser
    for number, item in enumerate(read_items(text, frame, floats=AS_RESOURCES.floats)):
        data = typed(item.data, frame.envelope)
        if holds_others(data):
            raise NeedsFullParser
        place = item.place._replace(line=item.place.line + source.line - 1)
        locate = PlaceFinder(source.name, place)
        yield Document(
            data, source.name, number, locate, has_no_null_maps=item.is_plain, line=locate.line
        )
