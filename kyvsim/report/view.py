"""The view of `apply` for people: what failed and why, what changed, which rules are broken.

Options choose other ones: failures or figures alone, or whole objects.
"""

from collections.abc import Callable, Iterator

from kyvsim.model.result import EngineResponse, PolicyResponse, RuleResult, RuleStatus
from kyvsim.report.by_rule import every_rule_lines
from kyvsim.report.collisions import Collisions, collision_lines
from kyvsim.report.ending import counts_line
from kyvsim.report.finding import compile_field_places
from kyvsim.report.idempotence import repeat_blocks
from kyvsim.report.ledger import Ledger, NeedOrder, Piece, needs_of
from kyvsim.report.results import compile_rows
from kyvsim.report.run import Lists, Run, Unparted, Writing
from kyvsim.report.style import Look, Paint, Show, painter, sheet_of
from kyvsim.report.text_blocks import (
    deletions_of,
    header,
    need_line,
    object_blocks,
    resource_block,
    verdict_block,
)
from kyvsim.report.view_told import Told

# The view of `apply` for people: what failed and why, what changed, which rules are broken.
#
# `--show objects` asks for another one, with whole objects (`text.py`). What tells is loaded when
# there is something to tell.


def begin(run: Run, look: Look) -> Writing:
    """Begin the view: objects of which there is something to tell, then what sums them up."""
    other = _other_view(run, look)
    if other is not None:
        return other
    paint = painter(colours=look.colours)
    ledger, collisions, deletions = Ledger(), Collisions(), deletions_of(run)
    made: list[Told] = []  # when there is something to tell

    def told() -> "Told":
        if not made:
            made.append(Told(run, look, ledger))
        return made[0]

    def row(response: EngineResponse) -> str:
        ledger.add(response)
        collisions.add(response)
        if deletions:
            deletions.add(response)
        return "" if _is_silent(response, look) else told().row(response)

    def part_row(response: EngineResponse) -> str:
        return "" if _is_silent(response, look) else told().line(response)

    def tail(_: Lists) -> Iterator[str]:
        if made:
            yield from made[0].open_needs()
        yield from deletions.lines(run.schedules, paint) if deletions else ()
        yield from collision_lines(collisions, paint)
        if made:
            yield from made[0].summary()

    return Writing(
        head=lambda: (f"{paint('title', header(run))}\n\n",),
        row=part_row if run.is_part else row,
        tail=tail,
        joined=lambda pieces: told().joined(pieces),
        counted=lambda: made[0].counted() if made else "",
    )


def _other_view(run: Run, look: Look) -> Writing | None:
    """Return the view that options ask for in place of this one."""
    if look.quiet or look.statistics:
        return begin_short(run, look)
    if look.show is Show.OBJECTS:
        return begin_whole(run, look)
    return None


def _is_silent(response: EngineResponse, look: Look) -> bool:
    """Return whether there is nothing to tell of an object: its rules pass, or do not apply."""
    return not (look.detailed or response.repeated) and not any(
        answer.changed or answer.silent or any(map(_tells, answer.results))
        for answer in response.evaluated
    )


def _tells(result: RuleResult) -> bool:
    is_quiet = result.status is RuleStatus.PASS or result.status is RuleStatus.SKIP
    return not is_quiet or bool(result.note or result.generated or result.targets)


# Two short views of `apply`: what failed, and how often each rule ended how.


_FAULTS = frozenset({RuleStatus.FAIL, RuleStatus.ERROR})


def begin_short(run: Run, look: Look) -> Writing:
    """Begin the view of failures alone, or that of counts alone."""
    told = Told(run, look, Ledger())

    def tail(_: Lists) -> Iterator[str]:
        if look.statistics:
            yield from every_rule_lines(run, sheet_of(look))
        else:
            yield from told.folded()

    def failures(response: EngineResponse) -> EngineResponse:
        """Return a response with nothing in it but failures."""
        return response._replace(answers=tuple(_failed(response)), repeated=())

    if look.statistics:
        return Writing(lambda: (), lambda _: "", tail, joined=lambda _: iter(()))
    return Writing(
        head=lambda: (),
        row=lambda response: (told.line if run.is_part else told.row)(failures(response)),
        tail=tail,
        joined=told.joined,
        counted=told.counted,
    )


def _failed(response: EngineResponse) -> Iterator[PolicyResponse]:
    for answer in response.evaluated:
        results = tuple(one for one in answer.results if one.status in _FAULTS)
        if results:
            yield answer._replace(results=results)


# The view with whole objects: what changed, what was generated, what failed; then the counts.


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
    rows_of = compile_rows(audit_warn=run.audit_warn, untold=look.hidden)
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
