"""Copies of a process share its work, and are gone with it."""

import os
import signal
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path

import pytest

from kyvsim.api.copies import can_copy, each_in_copies
from kyvsim.api.forked import can_fork

ROOT = Path(__file__).parents[3]
"""Seconds in which everything ends, unless it never does."""

pytestmark = pytest.mark.skipif(not can_fork(), reason="no process may be copied here")


def square(number, first=0, ends=None):
    """Return a square; `ends` is called before where this is a copy."""
    if ends and os.getpid() != first:
        ends(number)
    return number * number


def killed_at(number, found):
    if found >= number:
        os.kill(os.getpid(), signal.SIGKILL)


def failing_at(number, found):
    if found >= number:
        raise ValueError(number)


def slow(number):
    time.sleep(0.01)
    return number, os.getpid()


@pytest.mark.parametrize("jobs", [2, 3, 5])
@pytest.mark.parametrize("count", [1, 2, 7, 400, 2345])
def test_every_item_is_done_once_and_in_order(jobs, count):
    assert list(each_in_copies(square, range(count), jobs)) == [n * n for n in range(count)]


@pytest.mark.parametrize("end", [killed_at, failing_at, None])
@pytest.mark.parametrize("number", [0, 3, 50])
def test_what_a_copy_does_not_end_is_done_here(end, number):
    ends = partial(end, number) if end else lambda _: os._exit(0)
    work = partial(square, first=os.getpid(), ends=ends)
    assert list(each_in_copies(work, range(60), 3)) == [n * n for n in range(60)]


def test_copies_take_their_share():
    found = list(each_in_copies(slow, range(60), 3))
    assert [number for number, _ in found] == [*range(60)]
    workers = [worker for _, worker in found]
    assert len(set(workers)) == 3
    assert os.getpid() in workers
    assert max(map(workers.count, workers)) < 50


def test_results_may_be_longer_than_what_a_pipe_holds():
    found = list(each_in_copies(partial(bytes), [300_000] * 9, 3))
    assert found == [bytes(300_000)] * 9


def test_what_cannot_be_sent_is_done_here():
    found = list(each_in_copies(lambda n: lambda: n, range(9), 3))
    assert [one() for one in found] == [*range(9)]


def test_what_fails_fails_here():
    with pytest.raises(ValueError, match="5"):
        list(each_in_copies(partial(failing_at, 5), range(9), 2))


def test_nothing_is_left_where_nobody_wants_the_rest():
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    coming = each_in_copies(slow, range(1000), 3)
    assert next(coming)[0] == 0
    coming.close()
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)
    if before:
        assert len(os.listdir("/proc/self/fd")) == before


def test_a_process_with_other_threads_is_not_copied():
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    try:
        assert not can_copy()
    finally:
        done.set()
        thread.join()


ORPHANS = """
import os, time
from kyvsim.api.copies import each_in_copies
def work(number):
    os.write(1, b"%d\\n" % os.getpid())  # at once: they all write to this pipe
    time.sleep(1000)
list(each_in_copies(work, range(9), 3))
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_copies_end_with_the_process_that_they_are_of(how):
    """However that ends: their standard output is closed then."""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [sys.executable, "-c", ORPHANS],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=env,
        text=True,
    ) as run:
        try:
            assert str(run.pid) in [run.stdout.readline().strip() for _ in range(3)]
            run.send_signal(how)
            assert run.communicate()[0] == ""
        finally:
            run.kill()
    assert run.returncode == -how
