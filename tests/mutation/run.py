"""Mutation testing: change one small thing in a room at a time, and see whether its tests notice.

`python tests/mutation/run.py pattern patch [--sample 300] [--seed 1] [--jobs 2]` prints the changes
that no test noticed, and each room's score; `--again FILE` asks once more about those that it
printed. Files are not touched: each mutant is a process that
is forked from one that has loaded pytest, and finds the changed tree where it imports the module.
README.md beside it says what the scores were.
"""

import argparse
import ast
import importlib.abc
import importlib.machinery
import importlib.util
import os
import random
import resource
import signal
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import hypothesis.strategies
import pytest

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(Path(__file__).parent)]
from mutants import Mutant, mutants, mutated  # noqa: E402 — beside this file

ELSEWHERE = {
    "engine/conditions": ("differential/test_conditions.py",),
    "engine/pattern": ("differential/test_patterns.py",),
    "patch": ("differential/test_mutations.py",),
    "cel": (
        "differential/test_cel.py",
        "differential/test_cel_costs.py",
        "differential/test_cel_functions.py",
        "differential/test_cel_kinds.py",
        "differential/test_environments.py",
        "differential/test_policies_in_cel.py",
        "differential/test_requests.py",
        "unit/cli/test_cel.py",
        "unit/languages/cel",
    ),
    "engine/match": (),
    "engine": (
        "differential/test_runs.py",
        "differential/test_requests.py",
        "differential/test_generate.py",
        "unit/engine/compile/test_plan.py",
        "unit/api/test_apply.py",
        "unit/languages/cel",
        "unit/languages/cleanup/test_compile.py",
    ),
}
"""Rooms, with tests elsewhere that reach them: recorded answers of the reference, whole runs."""
MEMORY = 4 << 30
"""Bytes that a mutant may have: one that loops while it collects must not have the machine's."""


class Trial(NamedTuple):
    """A mutant of a file."""

    path: Path
    mutant: Mutant

    def __str__(self) -> str:
        """Return where and what, as a line of the list of survivors."""
        at = f"{self.path.relative_to(ROOT)}:{self.mutant.line}:{self.mutant.column}"
        return f"{at}: {self.mutant.change}"


class _Loader(importlib.abc.Loader):
    """Loads a module of a changed tree."""

    def __init__(self, tree: ast.Module, path: Path) -> None:
        self.tree, self.path = tree, path

    def exec_module(self, module: ModuleType) -> None:
        exec(compile(self.tree, str(self.path), "exec"), module.__dict__)


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the changed tree of one module, and of no other."""

    def __init__(self, trial: Trial) -> None:
        parts = trial.path.relative_to(ROOT).with_suffix("").parts
        self.package = parts[-1] == "__init__"
        self.name = ".".join(parts[:-1] if self.package else parts)
        self.trial = trial

    def find_spec(self, name: str, *_: object) -> importlib.machinery.ModuleSpec | None:
        if name != self.name:
            return None
        path = self.trial.path
        tree = mutated(path.read_text(encoding="utf-8"), self.trial.mutant.number)
        folder = [str(path.parent)] if self.package else None
        return importlib.util.spec_from_file_location(
            name, path, loader=_Loader(tree, path), submodule_search_locations=folder
        )


def tests_of(room: str, path: Path | None) -> list[str]:
    """Return the paths of a room's tests; those of a file named like `path` come first.

    What a `tracing.py` records is shown in explanations, so only their tests notice a change.
    """
    found = sorted((ROOT / "tests/unit" / room).rglob("test_*.py"))
    if path and path.stem == "tracing":
        found += sorted((ROOT / "tests/unit/api").glob("test_explain*.py"))
    found += [ROOT / "tests" / name for name in ELSEWHERE[room]]
    own = f"test_{path.stem}" if path else ""
    return [str(one) for one in sorted(found, key=lambda one: one.stem != own)]


def trials_of(room: str) -> list[Trial]:
    """Return all mutants of a room, which is a package or a module."""
    place = ROOT / "kyvsim" / room
    files = sorted(place.rglob("*.py")) if place.is_dir() else [place.with_suffix(".py")]
    return [Trial(path, one) for path in files for one in mutants(path.read_text("utf-8"))]


def start(room: str, trial: Trial | None, seconds: float) -> int:
    """Fork a process that runs a room's tests, on a mutant or as it is; return its id.

    Its exit status is that of pytest: 0 where no test noticed anything.
    """
    child = os.fork()
    if child:
        return child
    signal.setitimer(signal.ITIMER_REAL, seconds)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    if trial:
        sys.meta_path.insert(0, _Finder(trial))
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
    paths = tests_of(room, trial and trial.path)
    # A plugin makes pytest find the modules of its package itself, before us: that is kyvsim's.
    no_plugins = "--disable-plugin-autoload"
    os._exit(int(pytest.main(["-x", "-q", "--no-header", "--tb=no", no_plugins, *paths])))


def survivors(room: str, trials: Iterable[Trial], jobs: int, seconds: float) -> Iterator[Trial]:
    """Yield the mutants that no test of the room noticed, as they end."""
    running: dict[int, Trial] = {}
    waiting = iter(trials)
    while True:
        while len(running) < jobs and (trial := next(waiting, None)):
            running[start(room, trial, seconds)] = trial
        if not running:
            return
        child, status = os.wait()
        trial = running.pop(child)
        if status == 0:
            yield trial


def score(room: str, options: argparse.Namespace) -> None:
    """Print a room's survivors and its score."""
    begun = time.monotonic()
    _, status = os.waitpid(start(room, None, 600), 0)
    if status:
        sys.exit(f"the tests of {room} fail as it is")
    seconds = 10 + 5 * (time.monotonic() - begun)
    trials = trials_of(room)
    if options.again:
        before = set(options.again.read_text("utf-8").splitlines())
        trials = [one for one in trials if str(one) in before]
    chosen = trials
    if options.sample and options.sample < len(trials):
        chosen = random.Random(options.seed).sample(trials, options.sample)
    lived = []
    for trial in survivors(room, chosen, options.jobs, seconds):
        print(trial, flush=True)
        lived.append(trial)
    killed = len(chosen) - len(lived)
    share = 100 * killed / len(chosen) if chosen else 100
    took = time.monotonic() - begun
    print(
        f"{room}: {killed} of {len(chosen)} killed ({share:.1f} %), of {len(trials)}; {took:.0f} s"
    )


def main() -> None:
    """Read the command line, and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rooms", nargs="+", choices=sorted(ELSEWHERE))
    parser.add_argument("--sample", type=int, default=300, help="mutants of each room, 0: all")
    parser.add_argument("--seed", type=int, default=1, help="chooses the sample")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes at once")
    parser.add_argument("--again", type=Path, help="only the mutants that this file lists")
    options = parser.parse_args()
    # The same examples each time, and the first that fails is enough.
    phases = [hypothesis.Phase.explicit, hypothesis.Phase.generate]
    hypothesis.settings.register_profile("plain", derandomize=True, database=None, phases=phases)
    hypothesis.settings.load_profile("plain")
    os.chdir(ROOT)
    for room in options.rooms:
        score(room, options)


if __name__ == "__main__":
    main()
