"""How long `kyvsim apply` takes: one, 1,000 and 10,000 Pods x 20 policies, as whole processes.

Run it as `python tests/bench/bench_apply.py`. The first figure to look at is a ratio: one Pod
against the bare interpreter, both measured in turn in this run.
"""

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import yaml

sys.path.insert(0, str(Path(__file__).parent))
from pod_policies import pods, policies_text

_QUIET = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder:
        policy_file = Path(folder) / "policies.yaml"
        policy_file.write_text(policies_text())
        files = {count: _write_pods(Path(folder), count) for count in (1, 1_000, 10_000)}

        def apply(count: int) -> Callable[[], None]:
            command = ["-m", "kyvsim", "apply", str(policy_file), "-r", str(files[count])]
            return lambda: _run(*command)

        _run(
            "-m", "kyvsim", "apply", str(policy_file), "-r", str(files[1])
        )  # writes the .pyc files
        bare, one = _in_turn(lambda: _run("-c", "pass"), apply(1), 11)
        print(f"bare interpreter        {bare * 1000:8.0f} ms")
        print(f"1 Pod x 20 policies     {one * 1000:8.0f} ms  = {one / bare:.1f} x the bare start")
        for count, runs in ((1_000, 3), (10_000, 1)):
            seconds = statistics.median(_timed(apply(count)) for _ in range(runs))
            peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
            print(f"{count:6,} Pods x 20        {seconds:8.2f} s   (peak {peak:.0f} MiB)")


def _write_pods(folder: Path, count: int) -> Path:
    file = folder / f"pods-{count}.yaml"
    with file.open("w") as out:
        for pod in pods(count):
            out.write("---\n")
            yaml.dump(pod, out, Dumper=yaml.CSafeDumper)
    return file


def _run(*arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, *arguments], env=_QUIET, capture_output=True, check=False
    )
    if done.returncode not in {0, 1} or done.stderr:
        raise SystemExit(json.dumps([done.returncode, done.stderr.decode()[-2000:]]))


def _timed(run: Callable[[], None]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def _in_turn(
    first: Callable[[], None], second: Callable[[], None], rounds: int
) -> tuple[float, float]:
    pairs = [(_timed(first), _timed(second)) for _ in range(rounds)]
    return statistics.median(a for a, _ in pairs), statistics.median(b for _, b in pairs)


if __name__ == "__main__":
    main()
