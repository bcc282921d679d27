"""Who is told of the points that compiling comes upon, and of what is reached when policies run.

Nobody listens by default, and then no closure is wrapped.
"""

from collections.abc import Callable
from typing import TypeAlias, TypeVar

from kyvsim.light.named_tuple import NamedTuple
from kyvsim.model.coverage import PointKind
from kyvsim.model.source import Document, Path

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


class Probe(NamedTuple):
    """A place that is being compiled, and who is told of what happens there."""

    place: PolicyPlace | None = None
    listener: Listener | None = None

    def at(self, *steps: str | int) -> "Probe":
        """Return the probe of a place further in."""
        if self.place is None:
            return self
        inside = (*self.place.inside, *steps)
        return self._replace(place=self.place._replace(inside=inside))

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


NO_PROBE = Probe()
