import os
import signal
from functools import partial

import pytest

from kyvsim.api.several import each_in_processes


def square(number, first, killed):
    """Return a square, unless this is a process that does not survive its item."""
    if number == killed and os.getpid() != first:
        os.kill(os.getpid(), signal.SIGKILL)
    return number * number


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("killed", [None, 0, 3, 7])
@pytest.mark.parametrize("first", [0, 2, 7, 9])
def test_every_item_is_done_once_and_in_order_also_where_a_process_is_killed(jobs, killed, first):
    work = partial(square, first=os.getpid(), killed=killed)
    found = list(each_in_processes(work, range(8), jobs, first=first))
    assert found == [n * n for n in range(8)]


def whose(_):
    return os.getpid()


def test_the_first_items_are_done_before_processes_begin():
    found = list(each_in_processes(whose, range(8), 2, first=3))
    assert found[:3] == [os.getpid()] * 3
