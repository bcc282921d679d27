"""The objects of a run as the view of `apply` tells them, and what sums them up."""

from collections.abc import Iterable, Iterator

from kyvsim.model.result import EngineResponse
from kyvsim.report.by_rule import by_rule_lines
from kyvsim.report.ledger import Ledger, Need, NeedOrder, Piece
from kyvsim.report.run import Run, Unparted
from kyvsim.report.style import Look, sheet_of
from kyvsim.report.view_blocks import Blocks, need_text
from kyvsim.report.view_fold import Fold, PartFold, from_lines, to_line


class Told:
    """What is told of a run, response by response."""

    __slots__ = ("_blocks", "_fold", "_ledger", "_order", "_part", "_run", "_sheet")

    def __init__(self, run: Run, look: Look, ledger: Ledger) -> None:
        self._run = run
        self._sheet = sheet_of(look)
        self._ledger = ledger
        self._fold = Fold(self._sheet)
        self._part = PartFold()
        self._order = NeedOrder(ledger, self._need)
        self._blocks = Blocks(run, self._sheet)

    def row(self, response: EngineResponse) -> str:
        """Return what is told now; what stands behind an open reference waits."""
        again = self._blocks.told_before(response)
        if again and self._fold.counts(again):
            return ""
        block, needs = self._blocks.of(response)
        if not block.items:
            return ""
        text = self._fold.add(block)
        pieces: tuple[Piece, ...] = (text.removesuffix("\n"), *needs, "\n") if needs else (text,)
        return "".join(one for piece in pieces if piece for one in self._order.add(piece))

    def line(self, response: EngineResponse) -> str:
        """Return what a part tells of a response; raises Unparted where other objects matter."""
        again = self._blocks.told_before(response)
        if again and self._part.counts(again):
            return ""
        block, needs = self._blocks.of(response)
        if needs:
            raise Unparted
        return to_line(block) if block.items else ""

    def counted(self) -> str:
        """Return what a part tells at its end, of those of which it told nothing."""
        return "".join(map(to_line, self._part.taken()))

    def joined(self, pieces: Iterable[str]) -> Iterator[str]:
        """Yield the text of all objects, of the lines of all parts."""
        return map(self._fold.take, from_lines(pieces))

    def open_needs(self) -> Iterator[str]:
        """Yield what has waited to the end."""
        yield from self._order.rest()
        if self._order.late:
            yield self._sheet.paint("title", "Injected references that stood open above") + "\n"
            for one in self._order.late:
                yield self._need(one, self._ledger.met_by(one), owner=True)
            yield "\n"

    def summary(self) -> Iterator[str]:
        """Yield what was only counted, the rules that found fault, and how much was changed."""
        yield from self._fold.lines()
        yield from by_rule_lines(self._run, self._sheet)
        yield from self._fold.sizes()

    def folded(self) -> Iterator[str]:
        """Yield what was only counted, because it is alike."""
        yield from self._fold.lines()

    def _need(self, need: Need, met: str | None, *, owner: bool = False) -> str:
        return need_text(need, met, self._sheet, owner=owner)
