"""Pools end, whatever has become of their processes."""

import multiprocessing
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kyvsim.api.workers import workers

ROOT = Path(__file__).parents[3]
"""Seconds in which everything ends, unless it never does."""

WORKERS = """
from kyvsim.api.workers import workers
with workers(2) as pool:
    assert list(pool.map(abs, (-1, 2, -3))) == [1, 2, 3]
    stop_all()
"""
PARTS = """
from kyvsim.api import part_processes
class Text:
    def end(self, partial):
        pass
part_processes.compile_tell_part = lambda work: lambda part, text: None
told = part_processes.told_by_processes(None, range(3), [Text()] * 3, 2)
assert sorted((next(told), next(told), next(told))) == [0, 1, 2]
stop_all()
assert list(told) == []
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


@pytest.mark.parametrize("work", [WORKERS, PARTS, SPREAD], ids=["workers", "parts", "spread"])
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


def test_what_nobody_waits_for_any_more_is_ended():
    with workers(2) as pool:
        pool.submit(signal.pause)
        assert pool.submit(abs, -1).result() == 1
    assert not multiprocessing.active_children()
