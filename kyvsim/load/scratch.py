"""Hidden temporary folders for incomplete files, one for each run and target folder.

Files are renamed to their final path, so the temporary folder must be on the same file system: next
to it. A killed run leaves its folder behind, and the next run that writes there removes it. A run
holds a lock in its folder.
"""

import contextlib
import os
import time
from collections.abc import Iterator

try:
    import fcntl
except ImportError:  # not available on Windows
    HAS_LOCKS = False
else:
    HAS_LOCKS = True

PREFIX = ".kyvsim-tmp-"
_LOCK = "lock"
_ATTEMPTS = 10
_FORGOTTEN = 24 * 60 * 60.0
"""Seconds after which a folder counts as abandoned if it cannot be locked."""
_LONGEST = 50
"""Maximum length of the name's prefix, since file names are limited to 255 bytes."""


class ScratchFolder:
    """A hidden folder of this run; `close` removes it with its content."""

    def __init__(self, parent: str) -> None:
        """Remove folders of killed runs in `parent`; raise OSError if none can be created."""
        _remove_stale(parent)
        self._lock: int | None = None
        # Before it is locked, another run may consider the folder abandoned.
        for _ in range(_ATTEMPTS):
            self.path = os.path.join(parent, f"{PREFIX}{os.urandom(4).hex()}")
            os.mkdir(self.path, 0o700)
            with contextlib.suppress(OSError):
                flags = os.O_RDWR | os.O_CREAT | os.O_EXCL
                lock = os.open(os.path.join(self.path, _LOCK), flags, 0o600)
                if _is_locked_here(lock) and os.path.isdir(self.path):
                    self._lock = lock
                    return
                os.close(lock)
                _remove(self.path)
        raise OSError(f"{parent}: cannot create a temporary folder")

    def file_for(self, place: str) -> str:
        """Return the path of a new file that will be renamed to `place`."""
        name = os.path.basename(place)[:_LONGEST]
        return os.path.join(self.path, f"{name}.{os.urandom(4).hex()}.tmp")

    def close(self) -> None:
        """Remove the folder."""
        _remove(self.path)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


class ScratchFiles:
    """Temporary files in scratch folders next to their final paths."""

    def __init__(self) -> None:
        self._folders: dict[str, ScratchFolder] = {}

    def file_for(self, place: str) -> str:
        """Return the path of a new file that will be renamed to `place`; raises OSError."""
        parent = os.path.dirname(place) or os.curdir
        if parent not in self._folders:
            self._folders[parent] = ScratchFolder(parent)
        return self._folders[parent].file_for(place)

    def close(self) -> None:
        """Remove all folders with their content."""
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


def _remove(path: str) -> None:
    import shutil

    shutil.rmtree(path, ignore_errors=True)


def _lock(file: int) -> None:
    """Lock a file; raises BlockingIOError if another process has locked it."""
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _is_locked_here(lock: int) -> bool:
    """Lock a file; return whether no other process has locked it."""
    if not HAS_LOCKS:
        return True
    with contextlib.suppress(OSError):  # file systems without locks
        try:
            _lock(lock)
        except BlockingIOError:
            return False
    return True


def _remove_stale(parent: str) -> None:
    """Remove abandoned folders, except those of other users."""
    try:
        with os.scandir(parent) as listed:
            paths = [
                entry.path
                for entry in listed
                if entry.name.startswith(PREFIX) and entry.is_dir(follow_symlinks=False)
            ]
    except OSError:
        return
    for path in paths:
        if _is_stale(path):
            _remove(path)


def _is_stale(path: str) -> bool:
    """Return whether a folder is abandoned.

    A folder without a lock may be new; if locks are not supported, only its age counts.
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
