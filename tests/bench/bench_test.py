"""How long `kyvsim test` takes for a whole library of manifests, as one process and as several.

Run it as `python tests/bench/bench_test.py [FOLDER] [--reference PROGRAM] [--runs N]`. FOLDER holds
manifests: by default the library beside the checkout, else this repository's own. PROGRAM takes
`test FOLDER` as Kyverno's command does. It is measured in turn with kyvsim, on a copy of the folder
with those manifests only that both can run: every row passes here, and PROGRAM gets to its summary.
"""

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))
from kyvsim.api.suite import SuiteRun, run_tests
from kyvsim.report.suite_text import suite_ending

ROOT = Path(__file__).resolve().parent.parent.parent
LIBRARY = ROOT.parent / "shared/conformance/suite"
MANIFEST = "kyverno-test.yaml"
KYVSIM = (sys.executable, "-m", "kyvsim", "test", "--jobs")
NAMES = {"1": "kyvsim, one process", "0": "kyvsim, a process for each processor"}
LOADING = re.compile(r"^Loading test\s+\(\s*(.*?)\s*\)", re.MULTILINE)
SUMMARY = re.compile(r"^Test Summary: .*$", re.MULTILINE)


def main() -> None:
    """Measure and print."""
    options = _options()
    folder = options.folder
    print(f"{_counted(folder)} in {folder.name}")
    for jobs, name in NAMES.items():
        _show(name, min(_seconds([*KYVSIM, jobs, str(folder)]) for _ in range(options.runs)))
    if options.reference:
        with tempfile.TemporaryDirectory() as place:
            copy = Path(place) / folder.name
            shutil.copytree(folder, copy)
            _compare(copy, [*shlex.split(options.reference), "test"], options.runs)


def _options() -> argparse.Namespace:
    own = LIBRARY if LIBRARY.exists() else ROOT / "fixtures/tests"
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=own)
    parser.add_argument("--reference", help="the command of another program to measure too")
    parser.add_argument("--runs", type=int, default=3, help="the shortest of so many counts")
    return parser.parse_args()


def _compare(folder: Path, reference: list[str], runs: int) -> None:
    """Measure kyvsim and a reference in turn on what both can run; `folder` loses the rest."""
    _keep_passing(folder)
    told = _keep_finished(folder, reference)
    commands = {name: [*KYVSIM, jobs, str(folder)] for jobs, name in NAMES.items()}
    commands["reference"] = [*reference, str(folder)]
    in_turn = [{name: _seconds(one) for name, one in commands.items()} for _ in range(runs)]
    shortest = {name: min(times[name] for times in in_turn) for name in commands}
    print(f"\n{_counted(folder)} that both can run")
    for name, seconds in shortest.items():
        times = shortest["reference"] / seconds
        _show(name, seconds, "" if name == "reference" else f"the reference takes {times:.1f} x")
    print(f"{'the reference says':<40} {told}")
    print(f"{'kyvsim says':<40} {_output(commands[NAMES['1']])[1].splitlines()[-1]}")


def _keep_passing(folder: Path) -> None:
    """Remove the manifests of which a row fails here, or some input can't be used."""
    for file in sorted(folder.rglob(MANIFEST)):
        outcome = run_tests(SuiteRun((str(file),), jobs=1))
        if suite_ending(outcome).status or not outcome.total:
            file.unlink()


def _keep_finished(folder: Path, reference: list[str]) -> str:
    """Remove manifests until the reference gets through; return its last line."""
    while True:
        status, text = _output([*reference, str(folder)])
        found = SUMMARY.search(text)
        if found:
            return f"{found[0]} (status {status})"
        reached = LOADING.findall(text)
        if not reached or not Path(reached[-1]).is_file():
            last = text.strip().splitlines()[-1:]
            sys.exit(f"the reference ends with status {status} and no summary: {last}")
        print(
            f"left out, the reference ends there (status {status}): {_short(reached[-1], folder)}"
        )
        Path(reached[-1]).unlink()


def _short(file: str, folder: Path) -> str:
    return Path(file).relative_to(folder).parent.as_posix()


def _counted(folder: Path) -> str:
    return f"{sum(1 for _ in folder.rglob(MANIFEST))} manifests"


def _show(name: str, seconds: float, ratio: str = "") -> None:
    print(f"{name:<40} {seconds:7.2f} s   {ratio}".rstrip())


def _output(command: list[str]) -> tuple[int, str]:
    """Return the exit status of a command and what it wrote to standard output."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1"}
    done = subprocess.run(
        command, capture_output=True, text=True, errors="replace", check=False, env=environment
    )
    return done.returncode, done.stdout


def _seconds(command: list[str]) -> float:
    start = time.perf_counter()
    _output(command)
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
