"""Paths that are no file: patterns, and words on what is missing.

Apart from files.py because what it needs is slow to import and seldom wanted.
"""

import difflib
import glob
from pathlib import Path


def find(pattern: str) -> list[str]:
    """Return the paths that a glob pattern finds, sorted; none where the text is no pattern."""
    return sorted(glob.iglob(pattern, recursive=True)) if glob.has_magic(pattern) else []


def explain_missing(path: str) -> str:
    """Return the message for a path that leads nowhere, with the likely spelling."""
    if "://" in path:
        return "no such file: only local files are read"
    given = Path(path)
    try:
        names = sorted(entry.name for entry in given.parent.iterdir())
    except (OSError, ValueError):
        return "no such file or folder"
    close = difflib.get_close_matches(given.name, names, n=1)
    hint = f": did you mean `{given.parent / close[0]}`?" if close else ""
    return f"no such file or folder{hint}"
