"""How folders are walked, and what is said of files and folders that are not read.

Codes: KV003 cannot be read, KV065 too much in a folder.
"""

from typing import NamedTuple

from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.source import Location

IGNORE_FILE = ".kyvsimignore"
TOO_MUCH = "KV065"
_SUFFIXES = (".yaml", ".yml", ".json")


class Walking(NamedTuple):
    """How folders are walked."""

    exclude: tuple[str, ...] = ()
    """Patterns in gitignore's syntax of what is left aside."""
    ignore_files: bool = True
    """Whether `.kyvsimignore` files are read."""
    as_found: bool = False
    """Whether files that are named count as found in their folders: others named them."""
    most: int = 100_000
    """Files and folders that may be found at one path; 0 for as many as there are."""


USUAL = Walking()


def is_manifest_name(name: str) -> bool:
    """Return whether a file is YAML or JSON by its name."""
    return name.lower().endswith(_SUFFIXES)


def too_much(path: str, walking: Walking) -> Diagnostic:
    """Return the remark on a path at which more is found than may be."""
    text = f"more than {walking.most:,} files and folders: name less, or allow more (--max-files N)"
    return Diagnostic(TOO_MUCH, Severity.ERROR, text, Location(path))


def unreadable(path: str, error: OSError | ValueError) -> Diagnostic:
    """Return the remark on a file or folder that the system does not give."""
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    text = f"cannot be read: {reason[:1].lower()}{reason[1:]}"
    return Diagnostic("KV003", Severity.ERROR, text, Location(path))
