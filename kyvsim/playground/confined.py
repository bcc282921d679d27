"""Keeps a process to what it has been given: it opens no file, no connection and no process.

What is typed is evaluated with nothing but itself. Policies, values and scenarios can name files;
what reads them is told so before (`kyvsim/api/typed.py`), and this is the wall behind it.
"""

import os
import sys
from collections.abc import Sequence
from typing import Any, Final

_NEVER: Final = (
    "socket.",
    "subprocess.",
    "os.exec",
    "os.fork",
    "os.posix_spawn",
    "os.spawn",
    "os.startfile",
    "os.system",
    "pty.",
    "ctypes.",
    "shutil.",
    "tempfile.",
)
"""How events begin that reach out; https://docs.python.org/3/library/audit_events.html."""
_CHANGING: Final = frozenset(
    {"os.chmod", "os.chown", "os.link", "os.mkdir", "os.remove", "os.rename", "os.rmdir"}
    | {"os.symlink", "os.truncate", "os.utime"}
)
_LISTING: Final = frozenset({"os.listdir", "os.scandir", "os.walk", "glob.glob"})
_WRITING: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def confine() -> None:
    """Let this process read code and data of installed packages only, from here on and for good.

    Everything else raises PermissionError.
    """
    package = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
    beside = os.path.dirname(package)
    # The working folder is where users' files are: nothing is imported from there.
    here = os.path.realpath(os.curdir)
    sys.path[:] = [one for one in sys.path if one and os.path.realpath(one) != here]
    if beside not in sys.path:
        sys.path.append(beside)
    folders = [os.path.realpath(one) for one in sys.path if os.path.realpath(one) != beside]
    readable = (*folders, package)

    def watch(event: str, arguments: Sequence[Any]) -> None:
        if event == "open":
            allowed = not _writes(arguments) and _is_within(arguments[0], readable)
        elif event in _LISTING:
            allowed = _is_within(arguments[0], (*readable, beside), also_itself=True)
        else:
            allowed = not event.startswith(_NEVER) and event not in _CHANGING
        if not allowed:
            raise PermissionError(1, "nothing but what is typed is read")

    sys.addaudithook(watch)


def _writes(arguments: Sequence[Any]) -> bool:
    mode, flags = arguments[1], arguments[2]
    by_mode = isinstance(mode, str) and bool(set(mode) & set("wax+"))
    return by_mode or (isinstance(flags, int) and bool(flags & _WRITING))


def _is_within(path: object, folders: Sequence[str], *, also_itself: bool = False) -> bool:
    """Return whether a path lies in a folder; what is open already has a number, and counts."""
    if isinstance(path, int):
        return True
    if not isinstance(path, str | bytes | os.PathLike):
        return False
    real = os.path.realpath(os.fsdecode(path))
    inside = any(real.startswith(one + os.sep) for one in folders)
    return inside or (also_itself and real in folders)
