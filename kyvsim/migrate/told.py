"""What became of a part of a policy, with its place."""

from collections.abc import Iterable

from kyvsim.migrate.desk import Desk
from kyvsim.migrate.refusal import NotConvertible
from kyvsim.model.migration import Note, Outcome, RuleOutcome
from kyvsim.model.source import Document, Path


def told(document: Document, name: str, desk: Desk) -> RuleOutcome:
    """Return that something was converted, and what that hangs on."""
    verdict = Outcome.CONDITIONAL if desk.notes else Outcome.CONVERTED
    location = document.locate(desk.path)
    return RuleOutcome(name, verdict, location, written_path(desk.path), notes=_once(desk.notes))


def refused(document: Document, name: str, refusal: NotConvertible) -> RuleOutcome:
    """Return that something was not converted; its place is seen from the document."""
    return RuleOutcome(
        name,
        Outcome.REFUSED,
        document.locate(refusal.path),
        written_path(refusal.path),
        reason=refusal.what,
        advice=refusal.advice,
    )


def _once(notes: Iterable[Note]) -> tuple[Note, ...]:
    """Return each condition once, at its first place."""
    found: dict[str, Note] = {}
    for one in notes:
        found.setdefault(one.condition.name, one)
    return tuple(found.values())


def written_path(path: Path) -> str:
    """Return a path as people write it."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text
