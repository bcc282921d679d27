"""The likely spelling of a name that is not there."""

from collections.abc import Iterable


def likely(word: str, known: Iterable[str]) -> str:
    """Return `: did you mean …?` with the nearest of the known names, or ""."""
    from difflib import get_close_matches  # noqa: PLC0415 — slow to import, for a typo only

    near = get_close_matches(word, sorted(set(known)), n=1, cutoff=0.6)
    return f": did you mean `{near[0]}`?" if near else ""
