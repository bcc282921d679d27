"""Who is told of the points that compiling comes upon, and of what is reached when policies run.

Nobody listens by default, and then no closure is wrapped. A listener counts what comes up; a
follower is told every step with what was found (`model/following.py`).
"""

from collections.abc import Callable
from typing import NamedTuple, Protocol, TypeAlias, TypeVar

from kyvsim.model.coverage import PointKind
from kyvsim.model.explanation import RuleRun, Step
from kyvsim.model.source import Document, Location, Path
from kyvsim.model.text_place import place_in_text

_Looked = TypeVar("_Looked")


class PolicyPlace(NamedTuple):
    """A place in a policy or an exception, and the rule that it belongs to."""

    document: Document
    policy: str
    rule: str
    root: Path
    """Where the rule stands in the document."""
    inside: Path = ()
    """The way from there."""


Seen: TypeAlias = Callable[[int], None]
"""Counts the outcome of this number once more."""

Listener: TypeAlias = Callable[[PolicyPlace, PointKind, tuple[str, ...]], Seen | None]
"""Takes notice of a point and the names of its outcomes; None where they are not to be counted."""


class Follower(Protocol):
    """Who is told each step of an evaluation."""

    def evaluate(self, run: RuleRun) -> None:
        """Take notice of a rule that begins to be evaluated: what is told next belongs to it."""

    def resume(self, run: RuleRun) -> None:
        """Take notice that what is told next belongs to a rule, though it may not have begun."""

    def begin(self) -> int:
        """Take notice of a step that begins; return what names it where it ends, 0 to forget it."""

    def end(self, mark: int, step: Step | None) -> None:
        """Take a step that has ended, around all that were told since; None to forget these."""


class Probe(NamedTuple):
    """A place that is being compiled, and who is told of what happens there."""

    place: PolicyPlace | None = None
    listener: Listener | None = None
    follower: Follower | None = None
    unwritten: Path = ()
    """Steps further in that autogen put there, so that the document does not have them."""

    def at(self, *steps: str | int) -> "Probe":
        """Return the probe of a place further in."""
        if self.place is None:
            return self
        document, policy, rule, root, inside = self.place
        written, left = steps, self.unwritten
        if left:
            written, left = _written(steps, left)
        place = PolicyPlace(document, policy, rule, root, (*inside, *written))
        return Probe(place, self.listener, self.follower, left)

    @property
    def name(self) -> str:
        """The place in short: `any[0]`, `preconditions`."""
        inside = self.place.inside if self.place else ()
        numbers = 0
        while numbers < len(inside) and isinstance(inside[-1 - numbers], int):
            numbers += 1
        named = inside[-1 - numbers] if numbers < len(inside) else ""
        return f"{named}{''.join(f'[{one}]' for one in inside[len(inside) - numbers :])}"

    def locate(self) -> Location | None:
        """Return where it stands in its file."""
        place = self.place
        return place.document.locate((*place.root, *place.inside)) if place else None

    def locate_in(self, text: str, offset: int) -> Location | None:
        """Return where a character of the text that stands here is in its file."""
        place = self.place
        path = (*place.root, *place.inside) if place else ()
        return place_in_text(place.document, path, text, offset) if place else None

    def point(self, kind: PointKind, *outcomes: str) -> Seen | None:
        """Tell of a point here; return what counts its outcomes, None where nobody does."""
        if self.place is None or self.listener is None:
            return None
        return self.listener(self.place, kind, outcomes)

    def branch(
        self, kind: PointKind, outcome: str, test: Callable[[_Looked], bool]
    ) -> Callable[[_Looked], bool]:
        """Return the test as one that tells when it holds; the test itself if nobody listens."""
        seen = self.point(kind, outcome)
        if seen is None:
            return test

        def told(looked_at: _Looked) -> bool:
            holds = test(looked_at)
            if holds:
                seen(0)
            return holds

        return told


def _written(steps: Path, unwritten: Path) -> tuple[Path, Path]:
    """Return steps without those that autogen put there, and which of these may follow."""
    found: list[str | int] = []
    left = unwritten
    for step in steps:
        if left and step == left[0]:
            left = left[1:]
            continue
        if not isinstance(step, int):
            left = ()
        found.append(step)
    return tuple(found), left


NO_PROBE = Probe()
