"""Files of a run, by path or URL: find them, read parts of them, and write them as a whole.

URLs are read by `fsspec`, which also finds credentials.
"""

import bz2
import contextlib
import glob
import gzip
import hashlib
import lzma
import os
import zlib
from collections.abc import Callable, Iterable, Mapping
from types import ModuleType
from typing import Any, NamedTuple, TypeAlias, TypeVar

from kyvsim.fleet import FleetError, ReadError
from kyvsim.load.files import explain_missing
from kyvsim.load.folders import is_manifest_name


class InputFile(NamedTuple):
    """A file with resources."""

    name: str
    address: str
    """Where workers find it: an absolute path or a URL."""
    size: int
    """Size in bytes."""
    stamp: str
    """Changes with the content, as far as the storage knows without reading it."""


def stamp_of(facts: Iterable[str]) -> str:
    """Return a hash of some strings."""
    return hashlib.sha256("\0".join(facts).encode()).hexdigest()[:32]


def is_packed(name: str) -> bool:
    """Return whether a file is compressed, by its name."""
    return _suffix(name) in _UNPACK


def bare_name(name: str) -> str:
    """Return the name without the suffix of a compression format."""
    return name.removesuffix(_suffix(name)) if is_packed(name) else name


def unpacked(name: str, data: bytes) -> bytes:
    """Return the uncompressed content; raises ReadError if it is damaged or truncated."""
    unpack = _UNPACK.get(_suffix(name))
    if unpack is None:
        return data
    try:
        return unpack(data)
    except (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError) as error:
        raise ReadError(f"the compressed data is damaged or truncated: {error}") from None


def _suffix(name: str) -> str:
    return f".{name.rpartition('.')[2].lower()}"


def _zstandard() -> ModuleType:
    try:
        import zstandard
    except ImportError:
        text = "files that end in .zst need the package zstandard: pip install 'kyvsim[fleet]'"
        raise FleetError(text) from None
    return zstandard


def _unzstd(data: bytes) -> bytes:
    """Decompress all frames; the library's own readers do not notice a truncated frame."""
    zstandard = _zstandard()
    parts = []
    while data:
        frame = zstandard.ZstdDecompressor().decompressobj()
        try:
            parts.append(frame.decompress(data))
        except zstandard.ZstdError as error:
            raise ValueError(str(error)) from None
        if not frame.eof:
            raise EOFError("the data ends before the end of a frame")
        data = frame.unused_data
    return b"".join(parts)


_UNPACK: Mapping[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.decompress,
    ".bz2": bz2.decompress,
    ".xz": lzma.decompress,
    ".zst": _unzstd,
}

# Local files: find them, read parts of them, and write them as a whole.

_FOLDER_MODE = 0o750
_PASSING = ".tmp"
"""The suffix of temporary files, which are incomplete."""


def _local_file(name: str) -> InputFile:
    try:
        facts = os.stat(name)
    except OSError as error:
        raise FleetError(f"{name}: cannot be read: {error.strerror}") from None
    entries = (facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns, facts.st_ino)
    return InputFile(name, os.path.abspath(name), facts.st_size, stamp_of(map(str, entries)))


class LocalFiles:
    """Local files."""

    @staticmethod
    def find(path: str) -> list[InputFile]:
        """Return the file at a path, those in and below a folder, or those that match a pattern.

        Raises FleetError if there is none. In folders, only YAML and JSON files count, compressed
        or not, except for hidden ones.
        """
        if os.path.isdir(path):
            names = []
            for place, folders, files in os.walk(path):
                folders[:] = sorted(one for one in folders if not one.startswith("."))
                shown = (one for one in sorted(files) if not one.startswith("."))
                manifests = (one for one in shown if is_manifest_name(bare_name(one)))
                names += [os.path.join(place, one) for one in manifests]
            missing = "no YAML or JSON file in this folder, compressed or not"
        elif os.path.exists(path):
            names, missing = [path], ""
        else:
            names = sorted(glob.glob(path, recursive=True))
            names = [one for one in names if os.path.isfile(one)]
            missing = explain_missing(path)
        if not names:
            raise FleetError(f"{path}: {missing}")
        return [_local_file(name) for name in names]

    @staticmethod
    def read(address: str, first: int, last: int | None) -> bytes:
        """Return bytes of a file from `first` to before `last`; raises ReadError."""
        try:
            with open(address, "rb") as file:
                file.seek(first)
                return file.read() if last is None else file.read(last - first)
        except OSError as error:
            raise ReadError(f"cannot be read: {error.strerror or error}") from None

    @staticmethod
    def write(address: str, data: bytes) -> None:
        """Write a file atomically; raises FleetError."""
        passing = f"{address}.{os.urandom(4).hex()}{_PASSING}"
        try:
            try:
                with open(passing, "xb") as file:
                    file.write(data)
                os.replace(passing, address)
            finally:
                with contextlib.suppress(OSError):
                    os.unlink(passing)
        except OSError as error:
            raise FleetError(f"cannot write to {address}: {error.strerror}") from None

    @staticmethod
    def remove_passing(folder: str) -> None:
        """Remove temporary files of runs that were killed."""
        for name in LocalFiles.names_in(folder):
            if name.endswith(_PASSING) and len(name.rsplit(".", 2)[1]) == 8:
                with contextlib.suppress(OSError):
                    os.unlink(os.path.join(folder, name))

    @staticmethod
    def names_in(folder: str) -> list[str]:
        """Return the names of the files in a folder, sorted; [] if it does not exist."""
        try:
            return sorted(os.listdir(folder))
        except FileNotFoundError:
            return []
        except OSError as error:
            raise FleetError(f"{folder}: cannot be read: {error.strerror}") from None

    @staticmethod
    def make_folder(folder: str) -> None:
        """Create a folder if it does not exist; raises FleetError."""
        try:
            os.makedirs(folder, _FOLDER_MODE, exist_ok=True)
        except OSError as error:
            raise FleetError(f"cannot write to {folder}: {error.strerror}") from None


# Files by URL, through `fsspec`: find them, read parts of them, and write them as a whole.

_Read = TypeVar("_Read")
_MAGIC = frozenset("*?[")


def _storage(url: str) -> tuple[Any, str]:
    """Return the file system for a URL, and the path in it; raises FleetError."""
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        text = f"{url}: URLs need the package fsspec: pip install 'kyvsim[fleet]'"
        raise FleetError(text) from None
    files, path = _attempt(lambda: url_to_fs(url), FleetError, url)
    return files, str(path)


def _attempt(query: Callable[[], _Read], failure: type[Exception], start: str) -> _Read:
    """Return the result of a query; raises `failure` with `start` and the cause."""
    try:
        return query()
    except FileNotFoundError:
        problem = "there is no such file"
    except Exception as error:  # noqa: BLE001 — each storage's library has its own errors
        text = " ".join(str(error).split()) or type(error).__name__
        problem = text[:1].lower() + text[1:] if text[1:2].islower() else text
    raise failure(f"{start}: {problem}")


class RemoteFiles:
    """Files by URL, through `fsspec`."""

    @staticmethod
    def find(url: str) -> list[InputFile]:
        """Return the file at a URL, those in and below a folder, or those that match a pattern.

        Raises FleetError if there is none, or if the storage does not respond.
        """
        files, path = _storage(url)

        def query() -> dict[str, Any]:
            if _MAGIC & set(path):
                return dict(files.glob(path, detail=True))
            facts = files.info(path)
            if facts["type"] != "directory":
                return {path: facts}
            below = files.find(path, detail=True)
            return {name: one for name, one in below.items() if is_manifest_name(bare_name(name))}

        entries = _attempt(query, FleetError, url)
        there = [one for one in sorted(entries.items()) if one[1]["type"] == "file"]
        if not there:
            raise FleetError(f"{url}: no file matches")
        found = []
        for name, facts in there:
            address = files.unstrip_protocol(name)
            stamp = stamp_of(f"{fact}={facts[fact]}" for fact in sorted(facts))
            found.append(InputFile(address, address, int(facts.get("size") or 0), stamp))
        return found

    @staticmethod
    def read(url: str, first: int, last: int | None) -> bytes:
        """Return bytes of a file from `first` to before `last`; raises ReadError."""
        files, path = _storage(url)
        return _attempt(
            lambda: bytes(files.cat_file(path, start=first, end=last)), ReadError, "cannot be read"
        )

    @staticmethod
    def write(url: str, data: bytes) -> None:
        """Write a file, which is atomic in object storages; raises FleetError."""
        files, path = _storage(url)
        _attempt(lambda: files.pipe_file(path, data), FleetError, f"cannot write to {url}")

    @staticmethod
    def names_in(url: str) -> list[str]:
        """Return the names of the files in a folder, sorted; [] if it does not exist."""
        files, path = _storage(url)

        def query() -> list[str]:
            files.invalidate_cache()
            return [str(one) for one in files.ls(path, detail=False)] if files.exists(path) else []

        names = _attempt(query, FleetError, url)
        return sorted(one.rstrip("/").rpartition("/")[2] for one in names)

    @staticmethod
    def make_folder(url: str) -> None:
        """Create a folder if it does not exist and the storage has folders; raises FleetError."""
        files, path = _storage(url)
        _attempt(lambda: files.makedirs(path, exist_ok=True), FleetError, f"cannot write to {url}")


# Files of a run, by path or URL: paths are local, URLs are read by `fsspec`.
#
# Credentials are left to fsspec.

_SEPARATOR = b"\n---"
_CHANGED = "it has changed since the run began: its size is different"
_AHEAD = 1 << 16
"""Bytes per read in search of the next document."""

Storage: TypeAlias = type[LocalFiles] | type[RemoteFiles]


def is_url(path: str) -> bool:
    """Return whether a path is a URL."""
    return "://" in path


def storage_of(path: str) -> Storage:
    """Return the storage for a path or URL."""
    return RemoteFiles if is_url(path) else LocalFiles


def found_files(paths: Iterable[str]) -> tuple[InputFile, ...]:
    """Return the files that paths, URLs and patterns find, without duplicates, in order.

    Raises FleetError if one finds none, or if a required package is missing.
    """
    found: dict[str, InputFile] = {}
    for path in paths:
        for one in storage_of(path).find(path):
            if _suffix(one.name) == ".zst":
                _zstandard()  # report a missing package now, not in the middle of a run
            found.setdefault(one.address, one)
    return tuple(found.values())


def read_whole(file: InputFile) -> bytes:
    """Return the uncompressed content of a file; raises ReadError."""
    data = storage_of(file.address).read(file.address, 0, None)
    if len(data) != file.size:
        raise ReadError(_CHANGED)
    return unpacked(file.name, data)


def read_piece(file: InputFile, first: int, last: int) -> bytes:
    """Return the documents that begin in some bytes of a file; raises ReadError.

    A document begins with its separator, the first one with the file. The documents of all pieces
    together are exactly the file.
    """
    read = storage_of(file.address).read
    if first == 0 and last == file.size:
        return read_whole(file)
    # One byte before: a separator must be at the start of a line.
    start = max(first - 1, 0)
    data = read(file.address, start, min(last + len(_SEPARATOR), file.size))
    if len(data) != min(last + len(_SEPARATOR), file.size) - start:
        raise ReadError(_CHANGED)
    # The line of a separator begins after the end of the previous line.
    begin = data.find(_SEPARATOR) + 1 if first else 0
    if (first and not begin) or start + begin >= last:
        return b""
    end = data.find(_SEPARATOR, last - start - 1)
    searched = max(last - start - 1, len(data) - len(_SEPARATOR) + 1)
    while end < 0 and start + len(data) < file.size:
        at = start + len(data)
        # A document may be long: reads grow with it.
        data += read(file.address, at, min(at + max(_AHEAD, len(data)), file.size))
        end = data.find(_SEPARATOR, searched)
        searched = len(data) - len(_SEPARATOR) + 1
    return data[begin:] if end < 0 else data[begin : end + 1]
