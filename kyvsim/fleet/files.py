"""Files of a run, by path or URL: paths are this machine's, URLs are read by `fsspec`.

Credentials are fsspec's business.
"""

from collections.abc import Iterable
from types import ModuleType

from kyvsim.fleet import local_files, remote_files
from kyvsim.fleet.errors import ReadError
from kyvsim.fleet.item import InputFile
from kyvsim.fleet.packing import check_packing, unpacked

_SEPARATOR = b"\n---"
_AHEAD = 1 << 16
"""Bytes that are read at once in search of the next document."""


def is_url(path: str) -> bool:
    """Return whether a path is a URL."""
    return "://" in path


def storage_of(path: str) -> ModuleType:
    """Return the module that finds, reads and writes files of a kind."""
    return remote_files if is_url(path) else local_files


def found_files(paths: Iterable[str]) -> tuple[InputFile, ...]:
    """Return the files that paths, URLs and patterns lead to, each once, in order.

    Raises FleetError where one leads to none, or to what cannot be read here at all.
    """
    found: dict[str, InputFile] = {}
    for path in paths:
        for one in storage_of(path).find(path):
            check_packing(one.name)
            found.setdefault(one.address, one)
    return tuple(found.values())


def joined(folder: str, name: str) -> str:
    """Return the path of a file in a folder."""
    return f"{folder.rstrip('/')}/{name}"


def read_whole(file: InputFile) -> bytes:
    """Return what is in a file, unpacked; raises ReadError."""
    data: bytes = storage_of(file.address).read(file.address, 0, None)
    if len(data) != file.size:
        raise ReadError("it has changed since the run began: its size is another")
    return unpacked(file.name, data)


def read_piece(file: InputFile, first: int, last: int) -> bytes:
    """Return the documents that begin in some bytes of a file; raises ReadError.

    A document begins with its separator, the first one with the file. Those of all pieces are the
    file, to the byte.
    """
    if first == 0 and last == file.size:
        return read_whole(file)
    read = storage_of(file.address).read
    # One byte before: a separator is one where a line ends before it.
    start = max(first - 1, 0)
    data: bytes = read(file.address, start, min(last + len(_SEPARATOR), file.size))
    if len(data) != min(last + len(_SEPARATOR), file.size) - start:
        raise ReadError("it has changed since the run began: its size is another")
    begin = _line_of_separator(data, 0) if first else 0
    if begin < 0 or start + begin >= last:
        return b""
    end = _line_of_separator(data, last - start - 1)
    searched = max(last - start - 1, len(data) - len(_SEPARATOR) + 1)
    while end < 0 and start + len(data) < file.size:
        at = start + len(data)
        # A list may be long: what is read grows with it.
        data += read(file.address, at, min(at + max(_AHEAD, len(data)), file.size))
        end = _line_of_separator(data, searched)
        searched = len(data) - len(_SEPARATOR) + 1
    return data[begin:] if end < 0 else data[begin:end]


def _line_of_separator(data: bytes, start: int) -> int:
    """Return where the next line that separates documents begins, -1 where none does."""
    found = data.find(_SEPARATOR, start)
    return found + 1 if found >= 0 else -1
