"""The output of a part in an unnamed file: its text, what follows on it, and its PartResult."""

import pickle
import struct
import tempfile
from collections.abc import Iterable, Iterator
from typing import Final

from kyvsim.api.apply_parts import PartResult

_TOGETHER: Final = 1 << 16
"""Characters that are written together, unless one piece is longer."""
_ERRORS: Final = "surrogatepass"
"""Whatever texts hold comes back as it was."""
_HEAD: Final = struct.Struct(">BI")
"""Stands before each record of the file: the bytes of its name, and of what it holds."""
_PLACE: Final = struct.Struct(">Q")
"""Ends the file: where in it the PartResult begins."""
_TEXT: Final = ""


class PartText:
    """A file that one process writes and, when that is done, another one may read.

    It consists of records, each of which has a part of the text in the format of some number, or of
    a list that follows on it.
    """

    __slots__ = ("_file", "_sizes", "_waiting")

    def __init__(self) -> None:
        """Raise OSError where there can be no file."""
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 — it is closed when nobody has it
        self._waiting: dict[str, list[str]] = {}
        self._sizes: dict[str, int] = {}

    def __del__(self) -> None:
        """Let go of the file, of which nothing is left then."""
        if hasattr(self, "_file"):
            self._file.close()

    def write(self, number: int, piece: str) -> None:
        """Take the next piece of the text in the format of a number."""
        self._put(_label(number, _TEXT), piece)

    def note(self, number: int, name: str, entries: Iterable[str]) -> None:
        """Take the next entries of a list of that format, which are texts of one line."""
        label = _label(number, name)
        for entry in entries:
            self._put(label, f"{entry}\n")

    def _put(self, name: str, piece: str) -> None:
        self._waiting.setdefault(name, []).append(piece)
        size = self._sizes[name] = self._sizes.get(name, 0) + len(piece)
        if size >= _TOGETHER:
            self._flush(name)

    def _flush(self, name: str) -> None:
        data = "".join(self._waiting[name]).encode("utf-8", _ERRORS)
        self._waiting[name], self._sizes[name] = [], 0
        label = name.encode()
        self._file.write(_HEAD.pack(len(label), len(data)) + label)
        self._file.write(data)

    def end(self, partial: PartResult) -> None:
        """Take the PartResult: now the file can be read."""
        for name in self._waiting:
            self._flush(name)
        place = self._file.tell()
        self._file.write(pickle.dumps(partial) + _PLACE.pack(place))
        self._file.flush()

    def partial(self) -> PartResult:
        """Return what `end` took."""
        self._file.seek(self._end())
        partial: PartResult = pickle.load(self._file)  # noqa: S301 — nobody else can write to it
        return partial

    def pieces(self, number: int) -> Iterator[str]:
        """Yield the text in a format, some thousands of characters at a time."""
        return self._records(_label(number, _TEXT))

    def entries(self, number: int, name: str) -> Iterator[str]:
        """Yield the entries of a list of that format."""
        for some in self._records(_label(number, name)):
            yield from some.split("\n")[:-1]

    def _end(self) -> int:
        self._file.seek(-_PLACE.size, 2)
        place: int = _PLACE.unpack(self._file.read(_PLACE.size))[0]
        return place

    def _records(self, name: str) -> Iterator[str]:
        at, end, wanted = 0, self._end(), name.encode()
        while at < end:
            self._file.seek(at)
            label_size, size = _HEAD.unpack(self._file.read(_HEAD.size))
            if self._file.read(label_size) == wanted:
                yield self._file.read(size).decode("utf-8", _ERRORS)
            at += _HEAD.size + label_size + size


def _label(number: int, name: str) -> str:
    return f"{number} {name}"
