"""The atoms of a value of a pattern: what stands between `|` and `&`."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from kyvsim.kubernetes.objects import Json

_BETWEEN = re.compile(r"[^|&]+")
_VARIABLE = "{{"


class Atom(NamedTuple):
    """An atom, and the text that it is part of."""

    text: str
    at: int
    """Which character of the whole it begins with."""
    whole: str

    def put(self, text: str) -> str:
        """Return the whole with another text in place of the atom."""
        return f"{self.whole[: self.at]}{text}{self.whole[self.at + len(self.text) :]}"

    def left_out(self) -> str:
        """Return the whole without the atom and what joins it to another one; "" if it is all."""
        before = self.whole[: self.at].rstrip()
        after = self.whole[self.at + len(self.text) :].lstrip()
        if before:
            return f"{before[:-1].rstrip()}{f' {after}' if after else ''}"
        return after[1:].lstrip()


def atoms_of(value: Json) -> Iterator[Atom]:
    """Yield the atoms of a text; none of other values, or where variables give the text."""
    if value.__class__ is not str or _VARIABLE in value:
        return
    for found in _BETWEEN.finditer(value):
        text = found[0].strip()
        if text:
            yield Atom(text, found.start() + found[0].index(text), value)
