"""Runs by the workers of a real scheduler, some of which are killed."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from spread_inputs import NAMESPACE, POLICY, READS, TEAM, pods, stream

from kyvsim.fleet import engines, work

pytest.importorskip("distributed", reason="these need distributed: kyvsim[dask]")

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]


class Cluster:
    """A scheduler and two workers."""

    def __init__(self, folder, path=(), **settings):
        self.settings = settings
        self.folder = folder
        self.path = os.pathsep.join(map(str, (*path, ROOT)))
        self.processes = {}
        self.about = folder / "scheduler.json"
        listen = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard")
        self.start("scheduler", "dask_scheduler", *listen, "--scheduler-file", self.about)
        self.wait(lambda: self.about.exists() and self.about.read_text().endswith("}"))
        self.address = json.loads(self.about.read_text())["address"]

    def start(self, name, module, *options):
        log = (self.folder / f"{name}.log").open("wb")
        self.processes[name] = subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.{module}", *map(str, options)],
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PYTHONPATH": self.path, **self.settings},
            cwd=self.folder,
            start_new_session=True,
        )
        log.close()

    def start_worker(self, name, *options):
        own = ("--nthreads", "1", "--no-dashboard", "--host", "127.0.0.1")
        place = ("--local-directory", self.folder / name)
        self.start(name, "dask_worker", self.address, *own, *place, *options)
        log = self.folder / f"{name}.log"
        self.wait(lambda: "Starting established connection" in log.read_text())

    def wait(self, is_so):
        end = time.monotonic() + 120
        while not is_so():
            assert all(one.poll() is None for one in self.processes.values()), self.logs()
            assert time.monotonic() < end, self.logs()
            time.sleep(0.05)

    def logs(self):
        return "\n".join(path.read_text() for path in self.folder.glob("*.log"))

    def kill(self, name):
        self.processes[name].kill()
        self.processes.pop(name).wait()

    def close(self):
        """End all of it at once: asked to end, workers look for a scheduler for half a minute."""
        for one in self.processes.values():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(one.pid, signal.SIGKILL)  # a nanny's worker, too
            one.wait()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A scheduler with two workers for all tests that kill none."""
    found = Cluster(tmp_path_factory.mktemp("dask"))
    try:
        found.start_worker("one", "--no-nanny")
        found.start_worker("two", "--no-nanny")
        yield found
    finally:
        found.close()


def spread(cluster, *options):
    return ("--engine", "dask", "--scheduler", cluster.address, "--piece-size", "1k", *options)


@pytest.mark.parametrize(
    "options", [(), ("--detailed-results",), ("--output-format", "json")], ids=" ".join
)
def test_formats_are_those_of_one_process(given, kyvsim, cluster, options):
    bad = stream(*pods(30), "a: [\n", "kind: Pod\n", *pods(30, 30))
    command = (*given(POLICY, a=bad, b=stream(*pods(9, 60))), *options)
    assert kyvsim(*command, *spread(cluster)) == kyvsim(*command, "--jobs", "1")
    assert kyvsim(*command, *spread(cluster)) == kyvsim(*command, "--jobs", "2")


@pytest.mark.parametrize("policies", [READS, TEAM])
def test_rules_see_all_objects_of_a_cluster(given, kyvsim, cluster, policies):
    command = given(f"{POLICY}---{policies}", a=stream(*pods(60)), b=NAMESPACE)
    assert kyvsim(*command, *spread(cluster, "--cluster-per", "all")) == kyvsim(*command)


@contextlib.contextmanager
def begun(command, folder):
    """Give the program at work, its output in files of a folder."""
    with (
        (folder / "out.txt").open("wb") as out,
        (folder / "err.txt").open("wb") as err,
        subprocess.Popen(
            [sys.executable, "-m", "kyvsim", *command],
            stdout=out,
            stderr=err,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            cwd=folder,
        ) as process,
    ):
        try:
            yield process
        finally:
            process.kill()  # it has ended, unless something is broken


def test_a_lost_worker_loses_nothing(given, kyvsim, tmp_path):
    command = given(POLICY, a=stream(*pods(6000)))
    alone = kyvsim(*command)
    mine = Cluster(tmp_path)
    try:
        mine.start_worker("one", "--no-nanny")
        mine.start_worker("two", "--no-nanny")
        options = ("--scheduler", mine.address, "--piece-size", "4k", "--partials", "out")
        with begun((*command, "--engine", "dask", *options), tmp_path) as run:
            while len([*(tmp_path / "out").glob("*.jsonl")]) < 5:
                assert run.poll() is None, (tmp_path / "err.txt").read_text()
                time.sleep(0.01)
            mine.kill("two")
            assert len([*(tmp_path / "out").glob("*.jsonl")]) < 100
            assert run.wait(120) == 1, (tmp_path / "err.txt").read_text()
        assert kyvsim("report", "merge", "out") == alone
    finally:
        mine.close()


POISONED = """
import os, signal
from kyvsim.fleet import files, work
read = files.read_piece
def read_piece(file, first, last):
    data = read(file, first, last)
    if b'name: p21\\n' in data:
        os.kill(os.getpid(), signal.SIGKILL)
    return data
work.read_piece = read_piece
"""


def test_a_piece_that_kills_workers_is_told_and_the_rest_goes_on(given, kyvsim, tmp_path):
    command = given(POLICY, a=stream(*pods(60)), b=stream(*pods(9, 60)))
    alone = kyvsim(*command)
    (tmp_path / "path").mkdir()
    (tmp_path / "path/poisoned.py").write_text(POISONED)
    # Whatever else is on a worker that is killed is given up by the scheduler, too.
    settings = {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0"}
    mine = Cluster(tmp_path, [tmp_path / "path"], **settings)
    try:
        mine.start_worker("one", "--preload", "poisoned")
        mine.start_worker("two", "--preload", "poisoned")
        status, _, err = kyvsim(*command, *spread(mine, "--partials", "out"))
        assert status == 2
        assert err.count("KV081: bytes ") == 1
        assert "every process that works on it ends" in err
    finally:
        mine.close()
    here = ("--engine", "processes", "--jobs", "1", "--partials", "out", "--resume")
    assert kyvsim(*command, *here)[0] == 1
    assert kyvsim("report", "merge", "out") == alone


def test_a_scheduler_that_goes_away_ends_the_run_and_it_can_be_resumed(given, kyvsim, tmp_path):
    command = given(POLICY, a=stream(*pods(6000)))
    alone = kyvsim(*command)
    mine = Cluster(tmp_path)
    try:
        mine.start_worker("one", "--no-nanny")
        options = ("--scheduler", mine.address, "--piece-size", "4k", "--partials", "out")
        with begun((*command, "--engine", "dask", *options), tmp_path) as run:
            while len([*(tmp_path / "out").glob("*.jsonl")]) < 5:
                assert run.poll() is None, (tmp_path / "err.txt").read_text()
                time.sleep(0.01)
            mine.kill("scheduler")
            assert run.wait(120) == 2
        assert (tmp_path / "out.txt").read_text() == ""
        err = (tmp_path / "err.txt").read_text()
        assert err == f"error: the scheduler at {mine.address} no longer responds\n"
    finally:
        mine.close()
    here = ("--engine", "processes", "--jobs", "1", "--partials", "out", "--resume")
    assert kyvsim(*command, *here)[0] == 1
    assert kyvsim("report", "merge", "out") == alone


def test_a_scheduler_that_is_not_there(given, kyvsim, monkeypatch):
    monkeypatch.setattr(engines, "_PATIENCE", 1)
    command = given(POLICY, a=stream(*pods(3)))
    for address in ("tcp://127.0.0.1:1", "nonsense://x", "x y"):
        status, out, err = kyvsim(*command, "--engine", "dask", "--scheduler", address)
        assert (status, out) == (2, "")
        assert err.startswith(f"error: --scheduler {address}: no scheduler responds there: ")
        assert err.count("\n") == 1


def test_a_client_that_gives_up_in_the_middle(given, kyvsim, monkeypatch):
    def give_up(*_, **__):
        raise AssertionError

    monkeypatch.setattr("distributed.Client", give_up)
    command = given(POLICY, a=stream(*pods(3)))
    status, out, err = kyvsim(*command, "--engine", "dask", "--scheduler", "x y")
    assert (status, out) == (2, "")
    assert err == "error: --scheduler x y: no scheduler responds there: AssertionError\n"


def test_workers_of_another_version(given, kyvsim, cluster, monkeypatch):
    monkeypatch.setattr(work, "__version__", "0.0.1")
    status, out, err = kyvsim(*given(POLICY, a=stream(*pods(3))), *spread(cluster))
    assert (status, out) == (2, "")
    assert "the run uses kyvsim 0.0.1, but the worker has kyvsim " in err
