"""Options of the whole test suite, and how hypothesis looks for examples in it."""

import gc
import os

from hypothesis import HealthCheck, settings

# Hundreds of tests start kyvsim as a process: its modules are compiled once, not each time.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# The date of HTML pages, so that golden pages stay the same: 2026-01-01.
os.environ.setdefault("SOURCE_DATE_EPOCH", "1767225600")

# How long an example takes says how busy the machine is, and nothing of what is tested.
UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
# The same examples each time: a check before a commit fails for what was changed, not by luck.
settings.register_profile("same", UNHURRIED, derandomize=True)
# More of them, still the same: what .ci/run adds to the fast tests.
settings.register_profile("thorough", UNHURRIED, derandomize=True, max_examples=300)
# Others each time, and more of them: --hypothesis-profile search.
settings.register_profile("search", UNHURRIED, max_examples=1000)
settings.load_profile("same")


def pytest_addoption(parser):
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="rewrite golden files, and fail where they changed",
    )


def pytest_collection_finish():
    """Leave the items of 15,000 tests out of later searches for cycles, which are made seldom."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
