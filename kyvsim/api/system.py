"""The machine's clock and chance, for evaluation outside a simulation."""

import random
from datetime import UTC, datetime

from kyvsim.expr import Environment


class _SystemClock:
    def now(self) -> datetime:
        """Return the current time in UTC."""
        return datetime.now(UTC)


class _SystemEntropy:
    def below(self, bound: int) -> int:
        """Return a whole number from 0 up to and without `bound`."""
        return random.SystemRandom().randrange(bound)


def system_environment() -> Environment:
    """Return the environment in which time passes and chance is unforeseen."""
    return Environment(_SystemClock(), _SystemEntropy())
