"""How remarks write lists of names, and names that are not there."""

from collections.abc import Iterable

_MOST = 5


def listed(names: Iterable[str], most: int = _MOST) -> str:
    """Return names in backticks, each once and in order, no more than a few of them."""
    known = sorted(set(names))
    shown = ", ".join(f"`{name}`" for name in known[:most])
    return f"{shown} and {len(known) - most} more" if len(known) > most else shown


def likely(word: str, known: Iterable[str]) -> str:
    """Return `: did you mean …?` with the nearest of the known names, or ""."""
    from difflib import get_close_matches  # noqa: PLC0415 — slow to import, for a typo only

    near = get_close_matches(word, sorted(set(known)), n=1, cutoff=0.6)
    return f": did you mean `{near[0]}`?" if near else ""
