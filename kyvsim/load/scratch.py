"""Folders for files that are not whole yet: one hidden folder for each run and place.

Files take their place by a rename, so they have to be on its file system: the folder is beside it.
A run that is killed leaves its folder behind, and the next one that writes there removes it. A run
holds a lock in its folder for as long as it lives, which the system releases whatever ends it.
"""

import contextlib
import os
import sys
import time
from collections.abc import Iterator

HAS_LOCKS = sys.platform != "win32"
"""Whether files can be locked, as everywhere but on Windows."""

PREFIX = ".kyvsim-tmp-"
_LOCK = "lock"
_ATTEMPTS = 10
_FORGOTTEN = 24 * 60 * 60.0
"""Seconds after which a folder counts as abandoned if nothing shows whether its run lives."""
_LONGEST = 50
"""How much of a name is in that of its temporary file: names end at 255 bytes."""


class ScratchFolder:
    """A hidden folder in another one, of this run alone; `close` removes it with what is in it."""

    def __init__(self, parent: str) -> None:
        """Remove what killed runs left in `parent`; raise OSError where nothing can be made."""
        _remove_stale(parent)
        self.path, self._lock = _made(parent)

    def file_for(self, place: str) -> str:
        """Return the path of a file that does not exist yet, for one that goes to a place."""
        name = os.path.basename(place)[:_LONGEST]
        return os.path.join(self.path, f"{name}.{os.urandom(4).hex()}.tmp")

    def close(self) -> None:
        """Remove the folder."""
        _remove(self.path)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


class ScratchFiles:
    """Temporary files of one writer, in a scratch folder beside each of their places."""

    def __init__(self) -> None:
        self._folders: dict[str, ScratchFolder] = {}

    def file_for(self, place: str) -> str:
        """Return the path of a file that does not exist yet; raise OSError where it can't be."""
        parent = os.path.dirname(place) or os.curdir
        if parent not in self._folders:
            self._folders[parent] = ScratchFolder(parent)
        return self._folders[parent].file_for(place)

    def close(self) -> None:
        """Remove all folders with what is left in them."""
        while self._folders:
            _, folder = self._folders.popitem()
            folder.close()


@contextlib.contextmanager
def scratch_folder(parent: str) -> Iterator[str]:
    """Provide a folder in `parent` that is removed after the block."""
    folder = ScratchFolder(parent)
    inner = os.path.join(folder.path, "files")
    try:
        os.mkdir(inner)
        yield inner
    finally:
        folder.close()


def _made(parent: str) -> tuple[str, int | None]:
    """Make a folder and lock it; another run may take it for left behind before it is locked."""
    for _ in range(_ATTEMPTS):
        path = os.path.join(parent, f"{PREFIX}{os.urandom(4).hex()}")
        os.mkdir(path, 0o700)
        with contextlib.suppress(OSError):
            lock = os.open(os.path.join(path, _LOCK), os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
            if _is_locked_here(lock) and os.path.isdir(path):
                return path, lock
            os.close(lock)
            _remove(path)
    raise OSError(f"{parent}: cannot create a temporary folder")


def _remove(path: str) -> None:
    import shutil

    shutil.rmtree(path, ignore_errors=True)


def _lock(file: int) -> None:
    """Lock a file; raises BlockingIOError where another process has locked it."""
    import fcntl

    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _is_locked_here(lock: int) -> bool:
    """Lock a file; return whether nobody else has. Where there are no locks, nobody has."""
    if not HAS_LOCKS:
        return True
    try:
        _lock(lock)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True


def _remove_stale(parent: str) -> None:
    """Remove folders that runs left behind; those of others cannot be, and are left alone."""
    try:
        with os.scandir(parent) as listed:
            found = [
                one.path
                for one in listed
                if one.name.startswith(PREFIX) and one.is_dir(follow_symlinks=False)
            ]
    except OSError:
        return
    for path in found:
        if _is_stale(path):
            _remove(path)


def _is_stale(path: str) -> bool:
    """Return whether no run uses a folder any more.

    One without a lock may just be made; and where locks are not known, only its age tells.
    """
    try:
        facts = os.lstat(path)
        is_own = not hasattr(os, "geteuid") or facts.st_uid == os.geteuid()
        if not is_own:
            return False
        if HAS_LOCKS:
            flags = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0)
            lock = os.open(os.path.join(path, _LOCK), flags)
            try:
                _lock(lock)
            except BlockingIOError:
                return False
            else:
                return True
            finally:
                os.close(lock)
    except OSError:
        pass
    try:
        return time.time() - os.lstat(path).st_mtime > _FORGOTTEN
    except OSError:
        return False
