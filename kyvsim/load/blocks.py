"""Splits resource files into blocks of bytes, and loads the resources of a block."""

import errno
import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

from kyvsim.kubernetes.discovery import KindTable
from kyvsim.load.documents import (
    AS_RESOURCES,
    PlaceFinder,
    holds_others,
    is_list,
    parse_documents,
    typed,
)
from kyvsim.load.files import (
    LARGEST,
    STDIN,
    STDIN_NAME,
    TOO_LARGE,
    Source,
    decode,
    open_without_blocking,
)
from kyvsim.load.recognise import helm_template
from kyvsim.load.resources import LoadedText, resources_among
from kyvsim.model.source import Document
from kyvsim.yaml.blocks import Frame, Reader, Span, cut_bytes, read_items
from kyvsim.yaml.lines import NeedsFullParser
from kyvsim.yaml.text import normal_text

_CHANGED = "the file has changed since it was split"


class Origin(NamedTuple):
    """A file or standard input."""

    name: str
    path: str
    """"" for standard input."""
    data: bytes
    length: int
    mark: tuple[int, int]


class FileBlock(NamedTuple):
    """A part of a file with complete documents, or complete items of one list."""

    origin: Origin
    span: Span
    mentions: bool
    """Whether it may contain objects of the requested kinds."""


def origins(paths: Iterable[str | Source], stdin: bytes | None) -> tuple[Origin, ...] | None:
    """Return the files of `paths`; None if one of them is not a file."""
    known: list[Origin] = []
    for path in paths:
        if isinstance(path, Source):
            return None
        if path == STDIN:
            data = stdin or b""
            known.append(Origin(STDIN_NAME, "", data, len(data), (0, 0)))
            continue
        try:
            status = os.stat(path)
        except (OSError, ValueError):
            return None
        if not stat.S_ISREG(status.st_mode):
            return None
        mark = (status.st_mtime_ns, status.st_ino)
        known.append(Origin(path, path, b"", status.st_size, mark))
    return tuple(known)


def cut_files(files: Iterable[Origin], size: int, kinds: Iterable[str]) -> Iterator[FileBlock]:
    """Yield the blocks of files, of about `size` bytes, and whether they may contain `kinds`.

    Raises OSError if a file can no longer be read, or a block is too large.
    """
    words = tuple(kind.encode("utf-8", "surrogatepass") for kind in kinds if kind)
    entry = re.compile(rb'kind"?: *["\']?(?:%b)\b' % b"|".join(map(re.escape, words)))
    # Most texts contain none of the words, which is a much faster check.
    for origin in files:
        with _opened(origin) as read:
            for span in cut_bytes(
                read, origin.length, size, lambda frame: is_list({**frame.envelope, "items": [{}]})
            ):
                text = read(span.start, span.end - span.start)
                mentions = any(word in text for word in words) and bool(entry.search(text))
                yield FileBlock(origin, span, mentions)


_NEXT: Final = re.compile(rb"^---", re.MULTILINE)


def kinds_in(block: FileBlock) -> Iterator[tuple[str, str]]:
    """Yield the probable apiVersion and kind of each object in a block, without parsing it.

    Raises OSError if the file can no longer be read.
    """
    span, frame = block.span, block.span.frame
    with _opened(block.origin) as read:
        text = read(span.start, span.end - span.start)
    margin = rb'[ -]*"?' if frame else b""
    fields = [
        re.compile(rb"^%b%b\"?: *[\"']?([\w./-]+)" % (margin, name), re.MULTILINE)
        for name in (b"apiVersion", b"kind")
    ]
    for document in text.split(frame.sign) if frame else _NEXT.split(text):
        api_version, kind = (field.search(document) for field in fields)
        if api_version and kind:
            yield api_version[1].decode(), kind[1].decode()


def source_of(block: FileBlock) -> Source:
    """Return the text of a block; raises OSError, and ValueError if it is not UTF-8."""
    span = block.span
    with _opened(block.origin) as read:
        source = decode(block.origin.name, read(span.start, span.end - span.start))
    if not isinstance(source, Source):
        raise ValueError(source.message)  # noqa: TRY004 — about a text, not a type
    return source._replace(line=span.line)


@contextmanager
def _opened(origin: Origin) -> Iterator[Reader]:
    """Open a file for random access; raises OSError if it has changed."""
    if not origin.path:
        yield lambda start, size: origin.data[start : start + size]
        return
    with open(origin.path, "rb", buffering=0, opener=open_without_blocking) as file:
        status = os.fstat(file.fileno())
        found = (status.st_size, (status.st_mtime_ns, status.st_ino))
        if found != (origin.length, origin.mark):
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


class Indivisible(Exception):  # noqa: N818 — not an error: the caller reads the whole file
    """The file has to be read as a whole, or has changed since it was split."""


def load_block(block: FileBlock, kinds: KindTable) -> LoadedText:
    """Return the resources of a block, given the kinds of CRDs; raises Indivisible."""
    try:
        source = source_of(block)
        if block.span.frame is None:
            documents = tuple(parse_documents(source, AS_RESOURCES))
        else:
            documents = tuple(_items(source, block.span.frame))
    except (OSError, ValueError, RecursionError, NeedsFullParser) as error:
        raise Indivisible from error
    return resources_among(documents, kinds)


def _items(source: Source, frame: Frame) -> Iterator[Document]:
    """Yield the items of a list in a block, like `parse_documents` for the whole.

    Raises ValueError, RecursionError or NeedsFullParser if they cannot be read separately.
    """
    text = normal_text(source.text)
    if helm_template(text):
        raise NeedsFullParser
    for number, item in enumerate(read_items(text, frame, floats=AS_RESOURCES.floats)):
        data = typed(item.data, frame.envelope)
        if holds_others(data):
            raise NeedsFullParser
        place = item.place._replace(line=item.place.line + source.line - 1)
        locate = PlaceFinder(source.name, place, is_plain=item.is_plain)
        yield Document(
            data, source.name, number, locate, has_no_null_maps=item.is_plain, line=locate.line
        )
