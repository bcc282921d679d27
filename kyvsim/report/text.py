"""The view for people: what changed, what was generated, what failed and where; then the counts."""

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from kyvsim.model.result import EngineResponse
from kyvsim.report.cleanup import Deletions, cleanup_lines
from kyvsim.report.collisions import Collisions, collision_lines
from kyvsim.report.idempotence import repeat_blocks
from kyvsim.report.ledger import Ledger, Need, needs_of
from kyvsim.report.run import Look, Run, Telling, Unparted
from kyvsim.report.run_ending import counts_line
from kyvsim.report.style import Paint, counted, painter
from kyvsim.report.summary import compile_rows
from kyvsim.report.text_blocks import need_line, resource_block, untold, verdict_block
from kyvsim.report.text_objects import object_blocks

_HOLD_LIMIT = 1 << 20
"""How many characters wait for an object that may still come and meet an open reference."""

_Piece: TypeAlias = str | Need


def render(run: Run, look: Look) -> Iterator[str]:
    """Yield the view a piece at a time; the last line counts."""
    paint = painter(colours=look.colours)
    yield f"{paint('title', header(run))}\n\n"
    ledger, collisions, deletions = Ledger(), Collisions(), Deletions()
    late: list[Need] = []
    run = run._replace(responses=_noting(run.responses, (collisions, deletions)))
    if run.told:
        yield from run.told.pieces
    yield from _in_order(_pieces(run, look, ledger), ledger, late, paint)
    if late:
        yield paint("title", "Injected references that stood open above") + "\n"
        yield from (need_line(need, ledger.met_by(need), paint, owner=True) for need in late)
        yield "\n"
    yield from cleanup_lines(run.schedules, deletions, paint)
    yield from collision_lines(collisions, paint)
    yield f"{counts_line(run)}\n"


def tell(run: Run, look: Look) -> Telling:
    """Return what the view shows of a part of the responses."""
    return Telling(_untied(_pieces(run, look, None)))


def _untied(pieces: Iterable[_Piece]) -> Iterator[str]:
    """Yield pieces that have nothing to do with other parts."""
    for piece in pieces:
        if not isinstance(piece, str):
            raise Unparted
        yield piece


def _noting(
    responses: Iterator[EngineResponse], books: tuple[Collisions | Deletions, ...]
) -> Iterator[EngineResponse]:
    for response in responses:
        for book in books:
            book.add(response)
        yield response


def header(run: Run) -> str:
    """Return the line that says how much is applied to how much."""
    if not run.applied:
        return "Nothing is applied: a file that every verdict depends on was refused"
    exceptions = f" with {counted(run.exception_count, 'exception')}" if run.exception_count else ""
    rules = counted(run.rule_count, "policy rule")
    return f"Applying {rules} to {counted(run.resource_count, 'resource')}{exceptions}"


def _pieces(run: Run, look: Look, ledger: Ledger | None) -> Iterator[_Piece]:
    """Yield the text of every response, with the needs of its object in their place.

    Without a ledger nobody asks what may meet them.
    """
    paint = painter(colours=look.colours)
    rows_of = compile_rows(audit_warn=run.audit_warn, untold=untold(look))
    block = verdict_block(paint, detailed=look.detailed)
    for response in run.responses:
        if ledger is not None:
            ledger.add(response)
        verdicts = block(response, rows_of(response))
        changes = list(_changes(response, paint, look))
        if verdicts or changes:
            yield resource_block(response, paint)
            yield from changes
            yield verdicts


def _changes(response: EngineResponse, paint: Paint, look: Look) -> Iterator[_Piece]:
    mutated, others = object_blocks(response, paint, look)
    if mutated:
        yield mutated
        yield from needs_of(response)
        yield "\n"
    yield from others
    yield from repeat_blocks(response, paint)


def _in_order(
    pieces: Iterable[_Piece], ledger: Ledger, late: list[Need], paint: Paint
) -> Iterator[str]:
    """Yield the pieces as text; from an open need on they wait until it is met or all is read.

    So that memory stays bounded, a wait that grows long ends early: what is still open then goes
    to `late` and is told at the end.
    """
    held: list[_Piece] = []
    size = 0
    for piece in pieces:
        if not held and (isinstance(piece, str) or ledger.met_by(piece)):
            yield _text(piece, ledger, paint)
            continue
        held.append(piece)
        size += len(piece) if isinstance(piece, str) else 0
        if size > _HOLD_LIMIT:
            late += [need for need in held if isinstance(need, Need) and not ledger.met_by(need)]
            yield from (_text(waiting, ledger, paint, open_end=True) for waiting in held)
            held, size = [], 0
    yield from (_text(piece, ledger, paint) for piece in held)


def _text(piece: _Piece, ledger: Ledger, paint: Paint, *, open_end: bool = False) -> str:
    if isinstance(piece, str):
        return piece
    met = ledger.met_by(piece)
    return need_line(piece, met or ("see the end" if open_end else None), paint)
