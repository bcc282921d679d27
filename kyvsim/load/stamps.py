"""What lies at a path before it is read, so that a later look tells whether it has changed."""

import os
import stat
from collections.abc import Iterator

from kyvsim.load.files import find
from kyvsim.load.folders import IGNORE_FILE, USUAL, Walking, folders_above, walk
from kyvsim.model.source import Mark, Stamp


def stamp(path: str, walking: Walking = USUAL) -> Stamp:
    """Return what is found at a path now: the files that reading it would open.

    A folder and a pattern stand for their files, as in files.py, and for the ignore files that
    decide which they are. What is missing, or can't be looked at, has no marks.
    """
    return Stamp(path, tuple(_marks(path, walking)))


def _marks(path: str, walking: Walking) -> Iterator[Mark]:
    try:
        state = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        yield from _marks_of_pattern(path, walking)
        return
    except (OSError, ValueError):
        return
    if not stat.S_ISDIR(state.st_mode):
        yield Mark(path, state.st_mtime_ns, state.st_size, state.st_ino, state.st_mode)
        return
    # A folder's own time tells of files that are not read, such as an editor's.
    yield Mark(path, 0, 0, 0, state.st_mode)
    for file in (*_ignore_files(path, walking), *walk(path, walking)):
        if isinstance(file, str):
            yield from _marks(file, walking)


def _ignore_files(folder: str, walking: Walking) -> Iterator[str]:
    if walking.ignore_files:
        yield from (os.path.join(above, IGNORE_FILE) for above in folders_above(folder))
        found = walk(folder, walking, IGNORE_FILE)
        yield from (file for file in found if isinstance(file, str))


def _ignore(path: str, error: OSError) -> None:
    """Do nothing: who reads the files is told."""


def _marks_of_pattern(path: str, walking: Walking) -> Iterator[Mark]:
    for found in find(path, _ignore):
        yield from _marks(found, walking)
