"""Packed files: which names say so, and what is in them."""

import bz2
import gzip
import lzma
import zlib
from collections.abc import Callable, Mapping
from types import MappingProxyType

from kyvsim.fleet.errors import FleetError, ReadError


def is_packed(name: str) -> bool:
    """Return whether the name of a file says that it is packed."""
    return _suffix(name) in _UNPACK


def bare_name(name: str) -> str:
    """Return the name without what says that the file is packed."""
    return name.removesuffix(_suffix(name)) if is_packed(name) else name


def check_packing(name: str) -> None:
    """Raise FleetError where a file is packed in a way that nothing here reads."""
    if _suffix(name) == ".zst":
        _zstandard()


def unpacked(name: str, data: bytes) -> bytes:
    """Return what is in a file; raise ReadError where it is damaged or cut short."""
    unpack = _UNPACK.get(_suffix(name))
    if unpack is None:
        return data
    try:
        return unpack(data)
    except (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError) as error:
        text = f"what is packed in it is damaged or cut short: {error}"
        raise ReadError(text) from None


def _suffix(name: str) -> str:
    return f".{name.rpartition('.')[2].lower()}"


def _zstandard() -> type:
    try:
        from zstandard import ZstdDecompressor
    except ImportError:
        text = "files that end in .zst need the package zstandard: pip install 'kyvsim[fleet]'"
        raise FleetError(text) from None
    return ZstdDecompressor


def _unzstd(data: bytes) -> bytes:
    """Return all frames; the library's own readers take an end in the middle of one for the end."""
    decompressor = _zstandard()
    import zstandard

    parts = []
    while data:
        frame = decompressor().decompressobj()
        try:
            parts.append(frame.decompress(data))
        except zstandard.ZstdError as error:
            raise ValueError(str(error)) from None
        if not frame.eof:
            raise EOFError("the data ends before the end of a frame")
        data = frame.unused_data
    return b"".join(parts)


_UNPACK: Mapping[str, Callable[[bytes], bytes]] = MappingProxyType(
    {".gz": gzip.decompress, ".bz2": bz2.decompress, ".xz": lzma.decompress, ".zst": _unzstd}
)
