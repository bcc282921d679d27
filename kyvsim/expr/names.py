"""Which context entries a query may read: decided by its text, as upstream decides it.

upstream: pkg/engine/context/deferred.go. An entry `x` is loaded before a query in whose text `x`
stands at a word's start (no dot, letter or digit before it) and ends at a word's end. So `a.x` does
not load `x`, and the raw string `'x'` does.
"""

import re
from typing import Final

_RUN: Final = re.compile(r"[0-9A-Za-z_-]+")
_QUOTED: Final = re.compile(r"""(?<=["'`])[^"'`]++(?=["'`])""")
"""What stands between quotes: an entry may have a name such as `two words`."""

_LONGEST_NAME: Final = 80
_LONGEST_TEXT: Final = 1 << 16
"""What is longer is data (a hash, a certificate), no name; enumerating its parts would cost."""


def names_in(text: str) -> frozenset[str]:
    """Return every name that an entry could have to be loaded for this query text."""
    names: set[str] = set()
    text = text[:_LONGEST_TEXT]
    for found in _RUN.finditer(text):
        run = found[0]
        if len(run) > _LONGEST_NAME:
            continue
        dotted = text.startswith(".", found.start() - 1) if found.start() else False
        if "_" in run or "-" in run:
            names.update(_names_of_run(run, dotted=dotted))
        elif not dotted:
            names.add(run)
    names.update(found[0] for found in _QUOTED.finditer(text) if len(found[0]) <= _LONGEST_NAME)
    return frozenset(names)


def _names_of_run(run: str, *, dotted: bool) -> list[str]:
    starts = [at for at in range(len(run)) if _starts_name(run, at, dotted=dotted)]
    ends = [at for at in range(1, len(run) + 1) if _ends_name(run, at)]
    return [run[start:end] for start in starts for end in ends if start < end]


def _starts_name(run: str, at: int, *, dotted: bool) -> bool:
    if at == 0:
        return not dotted
    return run[at - 1] in "-_"


def _ends_name(run: str, at: int) -> bool:
    """A word boundary: letter, digit or underscore on exactly one side."""
    return (run[at - 1] != "-") != (at < len(run) and run[at] != "-")
