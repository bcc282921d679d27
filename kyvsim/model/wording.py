"""How remarks write lists of names."""

from collections.abc import Iterable

_MOST = 5


def listed(names: Iterable[str], most: int = _MOST) -> str:
    """Return names in backticks, each once and in order, no more than a few of them."""
    known = sorted(set(names))
    shown = ", ".join(f"`{name}`" for name in known[:most])
    return f"{shown} and {len(known) - most} more" if len(known) > most else shown
