"""The view with whole objects: what changed, what was generated, what failed; then the counts."""

from collections.abc import Callable, Iterator

from kyvsim.model.result import EngineResponse
from kyvsim.report.collisions import Collisions, collision_lines
from kyvsim.report.finding import compile_field_places
from kyvsim.report.idempotence import repeat_blocks
from kyvsim.report.ledger import Ledger, needs_of
from kyvsim.report.look import Look
from kyvsim.report.need_order import NeedOrder, Piece
from kyvsim.report.run import Run, Unparted
from kyvsim.report.run_ending import counts_line
from kyvsim.report.style import Paint, painter
from kyvsim.report.summary import compile_rows
from kyvsim.report.text_blocks import (
    deletions_of,
    header,
    need_line,
    resource_block,
    untold,
    verdict_block,
)
from kyvsim.report.text_objects import object_blocks
from kyvsim.report.writing import Lists, Writing


def begin_whole(run: Run, look: Look) -> Writing:
    """Begin the view; the last line counts."""
    paint = painter(colours=look.colours)
    ledger, collisions, deletions = Ledger(), Collisions(), deletions_of(run)
    pieces_of = _compile_pieces(run, look)
    order = NeedOrder(ledger, lambda need, met: need_line(need, met, paint))

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
    pieces_of: Callable[[EngineResponse], Iterator[Piece]],
) -> Callable[[EngineResponse], str]:
    """Return what writes a response that has nothing to do with others; it raises Unparted."""

    def row(response: EngineResponse) -> str:
        found = [*pieces_of(response)]
        texts = [piece for piece in found if isinstance(piece, str)]
        if len(texts) < len(found):
            raise Unparted
        return "".join(texts)

    return row


def _compile_pieces(run: Run, look: Look) -> Callable[[EngineResponse], Iterator[Piece]]:
    """Return what yields the text of a response, with the needs of its object in their place."""
    paint = painter(colours=look.colours)
    rows_of = compile_rows(audit_warn=run.audit_warn, untold=untold(look))
    block = verdict_block(paint, compile_field_places(run, look))

    def pieces(response: EngineResponse) -> Iterator[Piece]:
        verdicts = block(response, rows_of(response))
        changes = list(_changes(response, paint, look))
        if verdicts or changes:
            yield resource_block(response, paint)
            yield from changes
            yield verdicts

    return pieces


def _changes(response: EngineResponse, paint: Paint, look: Look) -> Iterator[Piece]:
    mutated, others = object_blocks(response, paint, look)
    if mutated:
        yield mutated
        yield from needs_of(response)
        yield "\n"
    yield from others
    if response.repeated:
        yield from repeat_blocks(response, paint)
