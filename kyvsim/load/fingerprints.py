"""Fingerprints of paths, to detect changes."""

import os
import stat
from collections.abc import Iterator

from kyvsim.load.files import find
from kyvsim.load.folders import IGNORE_FILE, USUAL, Walking, folders_above, walk
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.suite import FileState, Fingerprint


def fingerprint(path: str, walking: Walking = USUAL) -> Fingerprint:
    """Return the state of the files that are opened when reading a path.

    For folders and patterns, this includes ignore files. Missing or unreadable files have no state.
    """
    return Fingerprint(path, tuple(_marks(path, walking)))


def _marks(path: str, walking: Walking) -> Iterator[FileState]:
    try:
        state = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        # Errors are reported when the files are read.
        for found in find(path, lambda _folder, _error: None):
            yield from _marks(found, walking)
        return
    except (OSError, ValueError):
        return
    if not stat.S_ISDIR(state.st_mode):
        yield FileState(path, state.st_mtime_ns, state.st_size, state.st_ino, state.st_mode)
        return
    # The time of a folder also changes with files that are not read, such as an editor's.
    yield FileState(path, 0, 0, 0, state.st_mode)
    ignore_files: list[str | Diagnostic] = []
    if walking.ignore_files:
        ignore_files += (os.path.join(above, IGNORE_FILE) for above in folders_above(path))
        ignore_files += walk(path, walking, IGNORE_FILE)
    for file in (*ignore_files, *walk(path, walking)):
        if isinstance(file, str):
            yield from _marks(file, walking)
