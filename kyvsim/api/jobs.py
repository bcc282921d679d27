"""How many processes a run may use."""

import os


def processors() -> int:
    """Return how many processors this process may use; not every system can tell."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
