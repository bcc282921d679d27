"""What is at a path before it is read, to see later whether it has changed."""

import os
import stat
from collections.abc import Iterator

from kyvsim.load.files import find
from kyvsim.load.folders import IGNORE_FILE, USUAL, Walking, folders_above, walk
from kyvsim.model.suite import FileState, Fingerprint


def fingerprint(path: str, walking: Walking = USUAL) -> Fingerprint:
    """Return what is found at a path now: the files that reading it would open.

    A folder and a pattern stand for their files, as in files.py, and for the ignore files that
    decide which they are. What is missing, or can't be looked at, has no marks.
    """
    return Fingerprint(path, tuple(_marks(path, walking)))


def _marks(path: str, walking: Walking) -> Iterator[FileState]:
    try:
        state = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        # Reading the files reports what cannot be looked at.
        for found in find(path, lambda _folder, _error: None):
            yield from _marks(found, walking)
        return
    except (OSError, ValueError):
        return
    if not stat.S_ISDIR(state.st_mode):
        yield FileState(path, state.st_mtime_ns, state.st_size, state.st_ino, state.st_mode)
        return
    # A folder's own time changes with files that are not read, such as an editor's.
    yield FileState(path, 0, 0, 0, state.st_mode)
    for file in (*_ignore_files(path, walking), *walk(path, walking)):
        if isinstance(file, str):
            yield from _marks(file, walking)


def _ignore_files(folder: str, walking: Walking) -> Iterator[str]:
    if walking.ignore_files:
        yield from (os.path.join(above, IGNORE_FILE) for above in folders_above(folder))
        found = walk(folder, walking, IGNORE_FILE)
        yield from (file for file in found if isinstance(file, str))
