"""The view of `apply` for people: what failed and why, what changed, which rules are broken.

`--show objects` asks for another one, with whole objects (`text.py`). What tells is loaded when
there is something to tell.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kyvsim.model.result import EngineResponse, RuleResult, RuleStatus
from kyvsim.report.collisions import Collisions, collision_lines
from kyvsim.report.ledger import Ledger
from kyvsim.report.look import Look, Show
from kyvsim.report.run import Run
from kyvsim.report.style import painter
from kyvsim.report.text_blocks import deletions_of, header
from kyvsim.report.view_told import Told
from kyvsim.report.writing import Lists, Writing

if TYPE_CHECKING:
    pass


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
        from kyvsim.report.view_short import begin_short  # noqa: PLC0415 — for those views only

        return begin_short(run, look)
    if look.show is Show.OBJECTS:
        from kyvsim.report.text import begin_whole  # noqa: PLC0415 — for that view only

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
