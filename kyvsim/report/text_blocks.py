"""The parts of the text view that speak: a resource's heading, its verdicts, its references."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from kyvsim.model.result import EngineResponse
from kyvsim.model.source import Location
from kyvsim.report.ledger import Need
from kyvsim.report.look import Look
from kyvsim.report.run import Run
from kyvsim.report.style import Paint, counted, indented, safe_line
from kyvsim.report.subject import title
from kyvsim.report.summary import Row, once_a_rule, silent_rows

QUIET = frozenset({"pass", "skip"})
if TYPE_CHECKING:
    from kyvsim.report.cleanup import Deletions

OPTIONAL = "nothing here creates it, but it is optional"
UNMET = "warning: nothing here creates it"
"""What is said of an injected reference that leads nowhere."""
_INDENT = " " * 9


def header(run: Run) -> str:
    """Return the line that says how much is applied to how much."""
    if not run.applied:
        return "Nothing is applied: a file that every verdict depends on was refused"
    exceptions = f" with {counted(run.exception_count, 'exception')}" if run.exception_count else ""
    rules = counted(run.rule_count, "policy rule")
    return f"Applying {rules} to {counted(run.resource_count, 'resource')}{exceptions}"


def resource_block(response: EngineResponse, paint: Paint) -> str:
    """Return the heading of everything said about one resource."""
    document = response.document
    place = str(document.locate(())) if document else ""
    return resource_heading(title(response.trigger), place, paint)


def resource_heading(name: str, place: str, paint: Paint) -> str:
    """Return the same of what is called so and stands there; "" where nothing tells the place."""
    where = f" {paint('dim', f'({safe_line(place)})')}" if place else ""
    return f"{paint('title', safe_line(name))}{where}\n"


def untold(look: Look) -> frozenset[str]:
    """Return the statuses that are counted but not told."""
    return frozenset() if look.detailed else QUIET


def verdict_block(
    paint: Paint, at: Callable[[Row, EngineResponse], Location | None]
) -> Callable[[EngineResponse, Iterable[Row]], str]:
    """Return a function that shows rows, each with the place of its rule in the policy.

    `at` returns the place in the manifest that is shown with a row, None for none.
    """

    @once_a_rule
    def heading(row: Row) -> str:
        rule = row.result.rule
        place = str(row.policy.document.locate(rule.path))
        return verdict_heading((row.status, row.policy.key, rule.name), place, paint)

    def block(response: EngineResponse, rows: Iterable[Row]) -> str:
        told = [
            heading(row)
            + verdict_lines(
                (row.result.message or row.result.own, row.result.note), at(row, response), paint
            )
            for row in (*rows, *silent_rows(response))
        ]
        return "".join([*told, "\n"]) if told else ""

    return block


def verdict_heading(told: tuple[str, str, str], place: str, paint: Paint) -> str:
    """Return the line with a status, a policy and a rule, and with the place of the rule."""
    status, policy, rule = told
    where = paint("dim", f"({safe_line(place)})")
    name = safe_line(" / ".join(filter(None, (policy, rule))))
    return f"  {paint(status, f'{status:<5}')}  {name} {where}\n"


def verdict_lines(said: Iterable[str], at: Location | None, paint: Paint) -> str:
    """Return the lines below it: what is said, and the place in the input."""
    lines = "".join([f"{_INDENT}{indented(text, _INDENT)}\n" for text in said if text])
    place = safe_line(str(at)) if at else ""
    return f"{lines}{_INDENT}{paint('place', f'at {place}')}\n" if place else lines


def need_line(need: Need, met: str | None, paint: Paint, *, owner: bool = False) -> str:
    """Return the line about one injected reference: what meets it, or a warning."""
    look, what = need_subject(need, met)
    of = f"{title(need.resource)}: " if owner else ""
    if look != "warn":
        return f"  {paint(look, 'needs')}  {safe_line(f'{of}{what}: {met or OPTIONAL}')}\n"
    hint = f"\n         {safe_line(need.hint)}" if need.hint else ""
    return f"  {paint(look, 'needs')}  {safe_line(f'{of}{what}')}: {paint(look, UNMET)}{hint}\n"


def need_subject(need: Need, met: str | None) -> tuple[str, str]:
    """Return the look of an injected reference, `warn` where it leads nowhere, and what it is."""
    kind, namespace, name = need.reference.target
    what = f"{kind} {namespace}/{name} ({', '.join(need.reference.places)})"
    return "pass" if met else "dim" if need.reference.optional else "warn", what


def deletions_of(run: Run) -> "Deletions | None":
    """Return what gathers what policies would delete, if there are any that do."""
    if not run.schedules:
        return None
    from kyvsim.report.cleanup import Deletions  # noqa: PLC0415 — for such policies only

    return Deletions()
