"""How long `kyvsim test` takes for a whole library of manifests, as one process and as several.

Run it as `python tests/bench/bench_test.py [FOLDER] [REFERENCE]`: FOLDER holds manifests (the
library beside the checkout by default, else this repository's own); REFERENCE is the command of
another program with the same arguments, which is then measured too.
"""

import os
import shlex
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
LIBRARY = ROOT.parent / "shared/conformance/suite/policies"
RUNS = 3


def main() -> None:
    """Measure and print."""
    arguments = sys.argv[1:]
    own = LIBRARY if LIBRARY.exists() else ROOT / "fixtures/tests"
    folder = Path(arguments[0]) if arguments else own
    manifests = sum(1 for _ in folder.rglob("kyverno-test.yaml"))
    print(f"{manifests} manifests in {folder.name}")
    kyvsim = [sys.executable, "-m", "kyvsim", "test"]
    fastest = 0.0
    for jobs in (1, 0):
        seconds = _seconds([*kyvsim, "--jobs", str(jobs), str(folder)])
        name = "one process" if jobs else "as many processes as processors"
        print(f"kyvsim, {name:<32} {seconds:7.2f} s")
        fastest = min(fastest or seconds, seconds)
    if len(arguments) > 1:
        seconds = _seconds([*shlex.split(arguments[1]), "test", str(folder)], runs=1)
        print(f"{'reference':<40} {seconds:7.2f} s  = {seconds / fastest:.1f} times kyvsim")


def _seconds(command: list[str], runs: int = RUNS) -> float:
    """Return the shortest time of several runs."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        subprocess.run(command, capture_output=True, check=False, env=environment)
        times.append(time.perf_counter() - start)
    return min(times)


if __name__ == "__main__":
    main()
