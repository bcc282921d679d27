"""Tracers for tests."""

from kyvsim.model.source import Document, Location
from kyvsim.model.tracing import PolicyPlace, TraceContext, with_steps

DOCUMENT = Document({}, "p.yaml", 0, lambda path: Location("p.yaml", 1 + len(path), 1))


class ListTracer:
    """Lists the points of policies, the outcomes that come up, and, if it takes any, the steps."""

    def __init__(self, *, counts=True, takes_steps=False):
        self.points, self.reached, self.steps = [], [], []
        self.takes_steps = takes_steps
        self._counts = counts

    def declare(self, place, kind, outcomes):
        self.points.append((place.inside, kind, outcomes))
        if not self._counts:
            return None
        return lambda outcome: self.reached.append((place.inside, outcome))

    def enter(self):
        return len(self.steps) + 1

    def leave(self, _, step):
        self.steps.append(step)

    def wrap(self, run, construct):
        return with_steps(self, run, construct)


def trace(tracer):
    """Return the context of a whole rule."""
    return TraceContext(PolicyPlace(DOCUMENT, "p", "r", ()), tracer)
