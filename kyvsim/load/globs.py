"""Paths that are no file: patterns, and words on what is missing.

Apart from files.py because what it needs is slow to import and seldom wanted.
"""

import fnmatch
import glob
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

from kyvsim.load.walk import is_folder
from kyvsim.model.diagnostic import nearest

_OnError: TypeAlias = Callable[[str, OSError], None]


def find(pattern: str, on_error: _OnError) -> list[str]:
    """Return the paths that a glob pattern finds, sorted; none where the text is no pattern.

    Below a folder that is found nothing is found again. A folder in which the pattern would have
    to look and cannot goes to `on_error`: Python's own globs leave it out without a word.
    """
    if not glob.has_magic(pattern):
        return []
    root = os.path.join(os.path.sep, "") if os.path.isabs(pattern) else ""
    parts = [part for part in pattern.split(os.path.sep) if part]
    found = sorted(dict.fromkeys(_expand(root, parts, on_error)))
    folders = tuple(os.path.join(one, "") for one in found if os.path.isdir(one))
    return [one for one in found if not _is_below(one, folders)]


def may_find(pattern: str, place: str) -> bool:
    """Return whether a pattern finds a file, by its real path, or would if that were there.

    That is also where it finds a folder in which the file lies; a `*` counts for several folders.
    """
    wide = os.path.realpath(pattern).replace(f"**{os.path.sep}", "*")
    found = (wide, os.path.join(wide, "*"))
    return glob.has_magic(pattern) and any(fnmatch.fnmatchcase(place, one) for one in found)


def _is_below(path: str, folders: tuple[str, ...]) -> bool:
    return any(path.startswith(one) and path != one.rstrip(os.path.sep) for one in folders)


def _expand(base: str, parts: list[str], on_error: _OnError) -> Iterator[str]:
    """Yield the paths below a folder that fit the parts of a pattern."""
    if not parts:
        yield base
        return
    head, *rest = parts
    if head == "**":
        yield from _expand_deep(base, parts, on_error)
    elif glob.has_magic(head):
        for entry in _entries(base, on_error):
            fits = head.startswith(".") or not entry.name.startswith(".")
            if fits and fnmatch.fnmatch(entry.name, head) and (not rest or is_folder(entry)):
                yield from _expand(os.path.join(base, entry.name), rest, on_error)
    elif os.path.lexists(os.path.join(base, head)):
        yield from _expand(os.path.join(base, head), rest, on_error)


def _expand_deep(base: str, parts: list[str], on_error: _OnError) -> Iterator[str]:
    """Yield the paths at any depth below a folder that fit the parts after `**`."""
    rest = parts[1:]
    if rest or base:
        yield from _expand(base, rest, on_error)
    for entry in _entries(base, on_error):
        if entry.name.startswith("."):
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from _expand_deep(os.path.join(base, entry.name), parts, on_error)
        elif not rest:
            yield os.path.join(base, entry.name)


def _entries(folder: str, on_error: _OnError) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder or os.curdir) as listed:
            return list(listed)
    except NotADirectoryError:
        return []
    except OSError as error:
        on_error(folder or os.curdir, error)
        return []


def explain_missing(path: str) -> str:
    """Return the message for a path that leads nowhere, with the likely spelling."""
    if "://" in path:
        return "no such file: only local files are read"
    if glob.has_magic(path):
        return "the pattern finds no file"
    given = Path(path)
    if given.is_symlink():
        return f"a symbolic link to `{os.readlink(path)}`, which does not exist"
    try:
        names = sorted(entry.name for entry in given.parent.iterdir())
    except (OSError, ValueError):
        return "no such file or folder"
    close = _nearest(given.name, names)
    hint = f": did you mean `{given.parent / close}`?" if close else ""
    return f"no such file or folder{hint}"


def _nearest(name: str, names: list[str]) -> str:
    """Return the name that is most like another one, "" where none is.

    Suffixes are alike without meaning anything: they decide only between names that are equal
    without them.
    """
    stem, suffix = os.path.splitext(name.lower())
    stems: dict[str, list[str]] = {}
    for one in names:
        stems.setdefault(os.path.splitext(one.lower())[0], []).append(one)
    same = stems.get(nearest(stem, stems), [])
    return next((one for one in same if one.lower().endswith(suffix)), same[0] if same else "")
