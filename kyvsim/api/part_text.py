"""What is told of a part, in a file without a name: its text, then its Partial."""

import codecs
import pickle
import tempfile
from collections.abc import Iterator
from typing import Final

from kyvsim.api.apply_parts import Partial

_TOGETHER: Final = 1 << 16
"""Characters that are written together, and bytes that are read together."""
_ERRORS: Final = "surrogatepass"
"""Whatever texts hold comes back as it was."""


class PartText:
    """A file that one process writes and, when that is done, another one may read."""

    __slots__ = ("_file", "_size", "_waiting")

    def __init__(self) -> None:
        """Raise OSError where there can be no file."""
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 — `close` closes it
        self._waiting: list[str] = []
        self._size = 0

    def write(self, piece: str) -> None:
        """Take the next piece of the text."""
        self._waiting.append(piece)
        self._size += len(piece)
        if self._size >= _TOGETHER:
            self._flush()

    def _flush(self) -> None:
        self._file.write("".join(self._waiting).encode("utf-8", _ERRORS))
        self._waiting.clear()
        self._size = 0

    def end(self, partial: Partial) -> None:
        """Take the Partial: the text is complete."""
        self._flush()
        size = self._file.tell()
        self._file.write(pickle.dumps(partial))
        self._file.write(size.to_bytes(8, "big"))
        self._file.flush()

    def _text_size(self) -> int:
        self._file.seek(-8, 2)
        return int.from_bytes(self._file.read(8), "big")

    def partial(self) -> Partial:
        """Return what `end` took."""
        self._file.seek(self._text_size())
        partial: Partial = pickle.load(self._file)  # noqa: S301 — nobody else can write to it
        return partial

    def pieces(self) -> Iterator[str]:
        """Yield the text, any number of characters at a time."""
        decoder = codecs.getincrementaldecoder("utf-8")(_ERRORS)
        left = self._text_size()
        self._file.seek(0)
        while left:
            data = self._file.read(min(left, _TOGETHER))
            left -= len(data)
            yield decoder.decode(data, final=not left)

    def close(self) -> None:
        """Let go of the file: nothing of it is left."""
        self._file.close()
