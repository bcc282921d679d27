"""Files of this machine: found, read in part, written whole."""

import contextlib
import glob
import os
from collections.abc import Iterator

from kyvsim.fleet.errors import FleetError, ReadError
from kyvsim.fleet.item import InputFile, stamp_of
from kyvsim.fleet.packing import bare_name
from kyvsim.load.files import explain_missing
from kyvsim.load.folders import is_manifest_name

_FOLDER_MODE = 0o750
_PASSING = ".tmp"
"""Ends the names of files that are not whole yet."""


def find(path: str) -> list[InputFile]:
    """Return the file at a path, those in and below a folder, or those that a pattern finds.

    Raises FleetError where there is none. Of folders only YAML and JSON files count, packed or not,
    and nothing that is hidden.
    """
    if os.path.isdir(path):
        names = list(_below(path))
        missing = "no YAML or JSON file in this folder, packed or not"
    elif os.path.exists(path):
        names, missing = [path], ""
    else:
        names = sorted(glob.glob(path, recursive=True))
        names = [one for one in names if os.path.isfile(one)]
        missing = explain_missing(path)
    if not names:
        raise FleetError(f"{path}: {missing}")
    return [_found(name) for name in names]


def _below(folder: str) -> Iterator[str]:
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(one for one in folders if not one.startswith("."))
        for name in sorted(names):
            if not name.startswith(".") and is_manifest_name(bare_name(name)):
                yield os.path.join(place, name)


def _found(name: str) -> InputFile:
    try:
        facts = os.stat(name)
    except OSError as error:
        raise FleetError(f"{name}: cannot be read: {error.strerror}") from None
    told = (facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns, facts.st_ino)
    return InputFile(name, os.path.abspath(name), facts.st_size, stamp_of(map(str, told)))


def read(address: str, first: int, last: int | None) -> bytes:
    """Return bytes of a file from `first` up to and without `last`; raises ReadError."""
    try:
        with open(address, "rb") as file:
            file.seek(first)
            return file.read() if last is None else file.read(last - first)
    except OSError as error:
        raise ReadError(f"cannot be read: {error.strerror or error}") from None


def write(address: str, data: bytes) -> None:
    """Put a file in its place at once, whole; raises FleetError."""
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


def remove_passing(folder: str) -> None:
    """Remove files that runs were writing into a folder when they were killed."""
    for name in names_in(folder):
        if name.endswith(_PASSING) and len(name.rsplit(".", 2)[1]) == 8:
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(folder, name))


def names_in(folder: str) -> list[str]:
    """Return the names of the files in a folder, sorted; none where there is no folder."""
    try:
        return sorted(os.listdir(folder))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise FleetError(f"{folder}: cannot be read: {error.strerror}") from None


def make_folder(folder: str) -> None:
    """See to it that there is a folder; raises FleetError."""
    try:
        os.makedirs(folder, _FOLDER_MODE, exist_ok=True)
    except OSError as error:
        raise FleetError(f"cannot write to {folder}: {error.strerror}") from None
