"""How remarks write lists of names, and names that are not there."""

from collections.abc import Iterable
from difflib import get_close_matches

_MOST = 5


def listed(names: Iterable[str], most: int = _MOST) -> str:
    """Return names in backticks, each once and in order, no more than a few of them."""
    known = sorted(set(names))
    shown = ", ".join(f"`{name}`" for name in known[:most])
    return f"{shown} and {len(known) - most} more" if len(known) > most else shown


def nearest(word: str, known: Iterable[str], likeness: float = 0.6) -> str:
    """Return the known name that is most like a word, whatever its case, or "" where none is.

    `likeness` is how like it must be, from 0 to 1.
    """
    spelled = {name.lower(): name for name in known}
    near = get_close_matches(word.lower(), spelled, n=1, cutoff=likeness)
    return spelled[near[0]] if near else ""


def likely(word: str, known: Iterable[str]) -> str:
    """Return `: did you mean …?` with the nearest of the known names, or ""."""
    near = nearest(word, known)
    return f": did you mean `{near}`?" if near else ""
