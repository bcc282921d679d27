"""The clock of a simulation, which jumps from event to event."""

from datetime import UTC, datetime, timedelta

START = datetime(2026, 1, 1, tzinfo=UTC)
"""When a simulation begins where nobody says otherwise."""


class VirtualClock:
    """A `Clock` that stands still until it is moved."""

    def __init__(self, start: datetime = START) -> None:
        self.start = start
        self.elapsed = 0.0
        """Seconds since the simulation began."""
        self._stamped = -1.0, ""
        """When the time was last written, and how."""

    def now(self) -> datetime:
        """Return the current time in UTC."""
        return self.start + timedelta(seconds=self.elapsed)

    def move_to(self, elapsed: float) -> None:
        """Move on to a number of seconds after the start; time never runs backwards."""
        self.elapsed = max(self.elapsed, elapsed)

    def stamp(self) -> str:
        """Return the time as objects carry it, in whole seconds."""
        known, text = self._stamped
        if known != self.elapsed:
            text = self.now().strftime("%Y-%m-%dT%H:%M:%SZ")
            self._stamped = self.elapsed, text
        return text
