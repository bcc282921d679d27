"""Whether a process has one thread, asked without loading what has others."""

import sys


def has_one_thread() -> bool:
    """Return whether no other thread that Python knows of is running."""
    threading = sys.modules.get("threading")
    return threading is None or threading.active_count() == 1
