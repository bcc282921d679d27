"""Texts in their order, while references that mutation injected wait for what meets them."""

from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

from kyvsim.report.ledger import Ledger, Need

_HOLD_LIMIT: Final = 1 << 20
"""How many characters wait for an object that may still come and meet an open reference."""

Piece: TypeAlias = str | Need
TellNeed: TypeAlias = Callable[[Need, str | None], str]
"""Returns what is told of a need, with what meets it."""


class NeedOrder:
    """Pieces as text in their order; from an open need on they wait until it is met, or to the end.

    So that memory stays bounded, a wait that grows long ends early: what is still open then goes
    to `late` and is told at the end.
    """

    __slots__ = ("_held", "_ledger", "_size", "_tell", "late")

    def __init__(self, ledger: Ledger, tell: TellNeed) -> None:
        self._ledger = ledger
        self._tell = tell
        self._held: list[Piece] = []
        self._size = 0
        self.late: list[Need] = []

    def add(self, piece: Piece) -> Iterator[str]:
        """Take in a piece; yield what need not wait."""
        if not self._held and (isinstance(piece, str) or self._ledger.met_by(piece)):
            yield self._text(piece)
            return
        self._held.append(piece)
        self._size += len(piece) if isinstance(piece, str) else 0
        if self._size > _HOLD_LIMIT:
            needs = (one for one in self._held if isinstance(one, Need))
            self.late += [one for one in needs if not self._ledger.met_by(one)]
            yield from self.rest(open_end=True)

    def rest(self, *, open_end: bool = False) -> Iterator[str]:
        """Yield what has waited."""
        for piece in self._held:
            yield self._text(piece, open_end=open_end)
        self._held.clear()
        self._size = 0

    def _text(self, piece: Piece, *, open_end: bool = False) -> str:
        if isinstance(piece, str):
            return piece
        met = self._ledger.met_by(piece)
        return self._tell(piece, met or ("see the end" if open_end else None))
