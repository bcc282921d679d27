"""The view for people: what changed, what was generated, what failed and where; then the counts."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeAlias

from kyvsim.model.result import EngineResponse
from kyvsim.report.collisions import Collisions, collision_lines
from kyvsim.report.ledger import Ledger, Need, needs_of
from kyvsim.report.run import Look, Run, Unparted
from kyvsim.report.run_ending import counts_line
from kyvsim.report.style import Paint, counted, painter
from kyvsim.report.summary import compile_rows
from kyvsim.report.text_blocks import need_line, resource_block, untold, verdict_block
from kyvsim.report.text_objects import object_blocks
from kyvsim.report.writing import Lists, Writing

if TYPE_CHECKING:
    from kyvsim.report.cleanup import Deletions

_HOLD_LIMIT = 1 << 20
"""How many characters wait for an object that may still come and meet an open reference."""

_Piece: TypeAlias = str | Need


def begin(run: Run, look: Look) -> Writing:
    """Begin the view; the last line counts."""
    paint = painter(colours=look.colours)
    ledger, collisions, deletions = Ledger(), Collisions(), _deletions(run)
    pieces_of = _compile_pieces(run, look)
    order = _Order(ledger, paint)

    def row(response: EngineResponse) -> str:
        ledger.add(response)
        collisions.add(response)
        if deletions:
            deletions.add(response)
        return "".join(text for piece in pieces_of(response) for text in order.add(piece))

    def tail(_: Lists) -> Iterator[str]:
        yield from order.rest()
        if order.late:
            yield paint("title", "Injected references that stood open above") + "\n"
            yield from (need_line(one, ledger.met_by(one), paint, owner=True) for one in order.late)
            yield "\n"
        yield from deletions.lines(run.schedules, paint) if deletions else ()
        yield from collision_lines(collisions, paint)
        yield f"{counts_line(run)}\n"

    return Writing(
        head=lambda: (f"{paint('title', header(run))}\n\n",),
        row=_compile_alone(pieces_of) if run.is_part else row,
        tail=tail,
    )


def _compile_alone(
    pieces_of: Callable[[EngineResponse], Iterator[_Piece]],
) -> Callable[[EngineResponse], str]:
    """Return what writes a response that has nothing to do with others; it raises Unparted."""

    def row(response: EngineResponse) -> str:
        found = [*pieces_of(response)]
        texts = [piece for piece in found if isinstance(piece, str)]
        if len(texts) < len(found):
            raise Unparted
        return "".join(texts)

    return row


def _deletions(run: Run) -> "Deletions | None":
    if not run.schedules:
        return None
    from kyvsim.report.cleanup import Deletions  # noqa: PLC0415 — for such policies only

    return Deletions()


def header(run: Run) -> str:
    """Return the line that says how much is applied to how much."""
    if not run.applied:
        return "Nothing is applied: a file that every verdict depends on was refused"
    exceptions = f" with {counted(run.exception_count, 'exception')}" if run.exception_count else ""
    rules = counted(run.rule_count, "policy rule")
    return f"Applying {rules} to {counted(run.resource_count, 'resource')}{exceptions}"


def _compile_pieces(run: Run, look: Look) -> Callable[[EngineResponse], Iterator[_Piece]]:
    """Return what yields the text of a response, with the needs of its object in their place."""
    paint = painter(colours=look.colours)
    rows_of = compile_rows(audit_warn=run.audit_warn, untold=untold(look))
    block = verdict_block(paint, detailed=look.detailed)

    def pieces(response: EngineResponse) -> Iterator[_Piece]:
        verdicts = block(response, rows_of(response))
        changes = list(_changes(response, paint, look))
        if verdicts or changes:
            yield resource_block(response, paint)
            yield from changes
            yield verdicts

    return pieces


def _changes(response: EngineResponse, paint: Paint, look: Look) -> Iterator[_Piece]:
    mutated, others = object_blocks(response, paint, look)
    if mutated:
        yield mutated
        yield from needs_of(response)
        yield "\n"
    yield from others
    if response.repeated:
        from kyvsim.report.idempotence import repeat_blocks  # noqa: PLC0415 — seldom asked for

        yield from repeat_blocks(response, paint)


class _Order:
    """Pieces as text in their order; from an open need on they wait until it is met, or to the end.

    So that memory stays bounded, a wait that grows long ends early: what is still open then goes
    to `late` and is told at the end.
    """

    __slots__ = ("_held", "_ledger", "_paint", "_size", "late")

    def __init__(self, ledger: Ledger, paint: Paint) -> None:
        self._ledger = ledger
        self._paint = paint
        self._held: list[_Piece] = []
        self._size = 0
        self.late: list[Need] = []

    def add(self, piece: _Piece) -> Iterator[str]:
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

    def _text(self, piece: _Piece, *, open_end: bool = False) -> str:
        if isinstance(piece, str):
            return piece
        met = self._ledger.met_by(piece)
        return need_line(piece, met or ("see the end" if open_end else None), self._paint)
