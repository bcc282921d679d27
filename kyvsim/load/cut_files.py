"""Resource files as blocks of bytes that are read when their turn comes: nobody holds the whole."""

import errno
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from kyvsim.load.documents import is_list
from kyvsim.load.files import LARGEST, STDIN, STDIN_NAME, TOO_LARGE, Source, decode, without_waiting
from kyvsim.yaml.cuts import Reader, Span, cut_bytes
from kyvsim.yaml.list_items import Frame


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


class Block(NamedTuple):
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


def cut_files(files: Iterable[Origin], size: int, kinds: Iterable[str]) -> Iterator[Block]:
    """Yield the blocks of files, of about `size` bytes each, with a look for some kinds of objects.

    Raises OSError where a file cannot be read any more, or a block is larger than what is read.
    """
    told = _teller(kinds)
    for one in files:
        with _opened(one) as read:
            for span in cut_bytes(read, one.length, size, _is_framed):
                yield Block(one, span, told(read(span.start, span.end - span.start)))


def _teller(kinds: Iterable[str]) -> Callable[[bytes], bool]:
    """Return what tells whether a text may have an object of some kinds."""
    words = tuple(kind.encode("utf-8", "surrogatepass") for kind in kinds)
    names = b"|".join(map(re.escape, words))
    entry = re.compile(rb'kind"?: *["\']?(?:%b)\b' % names)
    # Most texts have none of the words, which is found much quicker.
    return lambda text: any(word in text for word in words) and entry.search(text) is not None


def _is_framed(frame: Frame) -> bool:
    return is_list({**frame.envelope, "items": [{}]})


def source_of(block: Block) -> Source:
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
            raise _changed(origin)

        def read(start: int, size: int) -> bytes:
            if size > LARGEST:
                raise OSError(errno.EFBIG, TOO_LARGE, origin.name)
            file.seek(start)
            data = file.read(size)
            if len(data) < min(size, origin.length - start):
                raise _changed(origin)
            return data

        yield read


def _changed(origin: Origin) -> OSError:
    return OSError(errno.ESTALE, "the file has changed since it was cut", origin.name)
