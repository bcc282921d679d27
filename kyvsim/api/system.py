"""The system's clock, randomness and processes."""

import os
import sys
from datetime import UTC, datetime

from kyvsim.jmespath import System
from kyvsim.model.ports import UNCHANGED, Budget, Meter, StoppedClock
from kyvsim.model.release import NEWEST, Release


class _SystemClock:
    def now(self) -> "datetime":
        """Return the current time in UTC."""
        return datetime.now(UTC)


class _SystemEntropy:
    def below(self, bound: int) -> int:
        """Return a random integer from 0 to `bound`, exclusive."""
        # 256 bits make the bias of the remainder negligible.
        return int.from_bytes(os.urandom(32)) % bound


_CLOCK, _ENTROPY = _SystemClock(), _SystemEntropy()
"""The same ones in all systems: compiled code is cached by them."""


def own_system(
    now: "datetime | None" = None, budget: Budget | None = None, release: Release = NEWEST
) -> System:
    """Return the system clock and randomness, or a fixed time `now`, and a budget if given."""
    clock = StoppedClock(now) if now else _CLOCK
    meter = Meter(budget or UNCHANGED, settable=budget is not None)
    return System(clock, _ENTROPY, meter, release)


def processors() -> int:
    """Return the number of processors that this process may use, if known."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def can_fork() -> bool:
    """Return whether processes can inherit the state of this one; not on macOS."""
    return hasattr(os, "fork") and sys.platform != "darwin"
