"""What cannot be expressed in CEL, and what became of a part of a policy."""

from collections.abc import Callable, Iterable
from typing import ParamSpec, TypeVar

from kyvsim.kubernetes.objects import Json, text_field
from kyvsim.migrate.desk import Desk
from kyvsim.model.migration import Note, Outcome, RuleOutcome
from kyvsim.model.source import Document, Path

# What cannot be said in CEL.

_Given = ParamSpec("_Given")
_Found = TypeVar("_Found")


class NotConvertible(Exception):  # noqa: N818 — it is no fault: it says what a policy asks for
    """Something has no twin: what it is, what to do about it, and where it stands below."""

    def __init__(self, what: str, advice: str, path: Path = ()) -> None:
        """Take what has no twin, what to do, and the way to it from where it was met."""
        super().__init__(what)
        self.what = what
        self.advice = advice
        self.path = path

    def below(self, *steps: str | int) -> "NotConvertible":
        """Return the same as it is seen from further up."""
        return NotConvertible(self.what, self.advice, (*steps, *self.path))


def within(
    steps: Path, convert: Callable[_Given, _Found], *given: _Given.args, **named: _Given.kwargs
) -> _Found:
    """Return what a conversion gives; what it refuses stands below some steps."""
    try:
        return convert(*given, **named)
    except NotConvertible as refusal:
        raise refusal.below(*steps) from None


def list_of(block: Json) -> str:
    """Return the list of a loop; raises NotConvertible where there is none."""
    text = text_field(block, "list")
    if not text:
        raise NotConvertible("a loop without a list", "name the list in `list`")
    return text


# What became of a part of a policy, with its place.


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
