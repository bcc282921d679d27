"""Work is done once and in order, and no process outlives it, whatever becomes of processes."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from kyvsim.api.process_pool import ProcessLostError, ProcessPool
from kyvsim.api.processes import each_in_processes

ROOT = Path(__file__).parents[3]


def square(number, first=0, ends=None):
    """Return a square; `ends` is called before where this is another process."""
    if ends and os.getpid() != first:
        ends(number)
    return number * number


def killed_at(number, found):
    if found >= number:
        os.kill(os.getpid(), signal.SIGKILL)


def failing_at(number, found):
    if found >= number:
        raise ValueError(number)


class Unreadable:
    """A result that cannot be made again of what its pickle has."""

    def __reduce__(self):
        return int, ("x",)


def unreadable_elsewhere(number, first):
    return number * number if os.getpid() == first else Unreadable()


def whose(_):
    time.sleep(0.01)
    return os.getpid()


@pytest.mark.parametrize("jobs", [1, 2, 5])
@pytest.mark.parametrize("count", [0, 1, 2, 7, 400, 2345])
def test_every_item_is_done_once_and_in_order(jobs, count):
    assert list(each_in_processes(square, range(count), jobs)) == [n * n for n in range(count)]


@pytest.mark.parametrize("chunk", [1, 4, 100])
def test_several_items_may_be_sent_at_once(chunk):
    found = list(each_in_processes(square, range(30), 2, chunk=chunk))
    assert found == [n * n for n in range(30)]


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("killed", [0, 3, 7])
@pytest.mark.parametrize("first", [0, 2, 7, 9])
def test_what_a_killed_process_leaves_is_done_here(jobs, killed, first):
    work = partial(square, first=os.getpid(), ends=partial(killed_at, killed))
    found = list(each_in_processes(work, range(8), jobs, first=first))
    assert found == [n * n for n in range(8)]


def test_what_cannot_be_read_of_a_process_is_done_here():
    work = partial(unreadable_elsewhere, first=os.getpid())
    assert list(each_in_processes(work, range(8), 2)) == [n * n for n in range(8)]


def test_the_first_items_are_done_before_processes_begin():
    found = list(each_in_processes(whose, range(8), 2, first=3))
    assert found[:3] == [os.getpid()] * 3
    assert os.getpid() not in found[3:]


def test_work_and_items_need_not_be_fit_for_pickle():
    items = [lambda number=number: number for number in range(9)]
    assert list(each_in_processes(lambda item: item(), items, 2)) == [*range(9)]


def test_what_fails_fails_here():
    with pytest.raises(ValueError, match="5"):
        list(each_in_processes(partial(failing_at, 5), range(9), 2))


def test_nothing_is_left_where_nobody_wants_the_rest():
    coming = each_in_processes(whose, range(1000), 3)
    next(coming)
    coming.close()
    assert not multiprocessing.active_children()


def test_what_nobody_waits_for_any_more_is_ended():
    with ProcessPool(2) as pool:
        pool.submit(signal.pause)
        assert pool.submit(abs, -1).result() == 1
    assert not multiprocessing.active_children()


class Fatal:
    """A result that kills the process a moment after it was pickled, as it is sent."""

    def __reduce__(self):
        signal.setitimer(signal.ITIMER_REAL, 0.001)
        return int, ()


def fatal(size):
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    return b"x" * size, Fatal()


def test_a_process_that_is_killed_while_it_sends_a_result_is_not_waited_for():
    with ProcessPool(2) as pool:
        lost = pool.submit(fatal, 1 << 26)  # too large to be sent in a moment
        with pytest.raises(ProcessLostError):
            lost.result()


def test_a_process_that_cannot_begin_says_why():
    with ProcessPool(2, partial(killed_at, 1)) as pool, pytest.raises(TypeError, match="found"):
        pool.submit(abs, -1).result()


ORPHANS = """
import os, time
from kyvsim.api.processes import each_in_processes
def work(number):
    os.write(1, b"%d\\n" % os.getpid())  # at once: they all write to this pipe
    time.sleep(1000)
list(each_in_processes(work, range(9), 3))
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_processes_end_with_the_one_that_started_them(how):
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
            assert len({run.stdout.readline().strip() for _ in range(3)} - {str(run.pid)}) == 3
            run.send_signal(how)
            assert run.communicate()[0] == ""
        finally:
            run.kill()
    assert run.returncode == -how


POOL = """
from kyvsim.api.process_pool import ProcessPool
with ProcessPool(2) as pool:
    assert list(pool.map(abs, (-1, 2, -3))) == [1, 2, 3]
    stop_all()
"""
PARTS = """
from kyvsim.api import apply_parts as part_processes
class Text:
    def end(self, partial):
        pass
begin = lambda: lambda part, text: None
rendered = part_processes.rendered_by_processes(begin, range(3), [Text()] * 3, 2)
assert sorted((next(rendered), next(rendered), next(rendered))) == [0, 1, 2]
stop_all()
assert list(rendered) == []
"""
SPREAD = """
from kyvsim.fleet.engines import processes
if __name__ == '__main__':
    with processes(2) as engine:
        executor = engine.begin(2)
        assert executor.submit(abs, -1).result() == 1
        stop_all()
        engine.close(executor)
"""
STOP_ALL = """
import multiprocessing, os, signal
def stop_all():
    assert multiprocessing.active_children()
    for one in multiprocessing.active_children():
        os.kill(one.pid, signal.SIGSTOP)
"""


@pytest.mark.parametrize("work", [POOL, PARTS, SPREAD], ids=["pool", "parts", "spread"])
def test_processes_that_do_not_listen_are_not_waited_for(tmp_path, work):
    """One that was killed while it had the pool's lock leaves the others like that."""
    (tmp_path / "work.py").write_text(f"{STOP_ALL}{work}")
    done = subprocess.run(
        [sys.executable, tmp_path / "work.py"],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert (done.returncode, done.stderr) == (0, "")
