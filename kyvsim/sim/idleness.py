"""How long nothing may happen: what comes every hour comes often in a thousand years."""

from kyvsim.sim.time import Scheduler
from kyvsim.sim.timeline import Timeline

MOST_STEPS = 200_000


class Idleness:
    """Watches whether what is done still has any effect."""

    def __init__(self, timeline: Timeline, scheduler: Scheduler) -> None:
        self._timeline = timeline
        self._scheduler = scheduler
        self._events = 0
        self._since = 0

    def lasts(self) -> bool:
        """Return whether so many steps were done since the last event that none is waited for."""
        events, done = len(self._timeline.events), self._scheduler.done
        if events != self._events:
            self._events, self._since = events, done
        return done - self._since > MOST_STEPS
