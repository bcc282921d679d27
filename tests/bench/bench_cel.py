"""How long `kyvsim apply` takes with policies in CEL: 1,000 Pods x 16 policies, one process.

Run it as `python tests/bench/bench_cel.py`. The bar is three seconds.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yaml

sys.path.insert(0, str(Path(__file__).parent))
from cel_policies import policies
from pod_policies import pods

_QUIET = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
_PODS = 1_000


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder:
        policy_file, pod_file = Path(folder) / "policies.yaml", Path(folder) / "pods.yaml"
        policy_file.write_text(yaml.dump_all(policies(), sort_keys=False))
        pod_file.write_text(yaml.dump_all(pods(_PODS), Dumper=yaml.CSafeDumper))
        command = ("apply", str(policy_file), "-r", str(pod_file))
        _run(*command)  # writes the .pyc files
        runs = [_run(*command) for _ in range(3)]
    wall, cpu = (statistics.median(part) for part in zip(*runs, strict=True))
    print(f"{_PODS:,} Pods x {len(policies())} in CEL  {wall:.2f} s, {cpu:.2f} s of CPU")


def _run(*arguments: str) -> tuple[float, float]:
    """Run kyvsim; return the seconds that passed, and those of CPU."""
    start, before = time.perf_counter(), os.times()
    done = subprocess.run(
        [sys.executable, "-m", "kyvsim", *arguments], env=_QUIET, capture_output=True, check=False
    )
    if done.returncode not in {0, 1}:
        raise SystemExit(done.stderr.decode()[-2000:])
    after = os.times()
    cpu = after.children_user + after.children_system
    return time.perf_counter() - start, cpu - before.children_user - before.children_system


if __name__ == "__main__":
    main()
