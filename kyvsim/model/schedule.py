"""When something is due."""

from datetime import datetime
from typing import NamedTuple


class Schedule(NamedTuple):
    """The schedule of a policy that deletes, and when it is due next."""

    kind: str
    """The policy's kind."""
    policy: str
    """The policy's key."""
    text: str
    """The schedule as written."""
    due: tuple[datetime, ...] = ()
    """The next times in UTC, soonest first."""
    problem: str = ""
    """Why there are none."""
