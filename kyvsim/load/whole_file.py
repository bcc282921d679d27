"""What is read as a whole: so much and no more, and at once."""

import errno
import os
import stat

LARGEST = 512 << 20
"""Bytes of a text that is read as a whole: its objects take some twenty times as much."""
TOO_LARGE = f"larger than {LARGEST >> 20} MiB: split it"
_AT_ONCE = getattr(os, "O_NONBLOCK", 0)
_READ = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


def read_bytes(path: str) -> bytes | None:
    """Return all of a file, None where it is larger than what is read; raises OSError."""
    opened = without_waiting(path, _READ)
    try:
        found = os.fstat(opened)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "it is no file", path)
        if found.st_size > LARGEST:
            return None
        # A byte more than it has: what was asked for is all, unless it grows just now.
        return b"".join(iter(lambda: os.read(opened, found.st_size + 1), b""))
    finally:
        os.close(opened)


def without_waiting(path: str, flags: int) -> int:
    """Open a path; where a pipe has come in its place, nobody waits for who writes to it."""
    return os.open(path, flags | _AT_ONCE)
