"""How long `kyvsim simulate` takes: 1,000 Pods x 20 policies on a cluster that is not there.

Run it as `python tests/bench/bench_simulate.py`. Seconds depend on the machine; what a Pod costs
beside `kyvsim apply` of the same files, in the same run, hardly does.
"""

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

sys.path.insert(0, str(Path(__file__).parent))
from pod_policies import pods, policies

_QUIET = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
_PODS = 1_000


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder:
        policy_file, pod_file = Path(folder) / "policies.yaml", Path(folder) / "pods.yaml"
        policy_file.write_text(yaml.dump_all(policies(), sort_keys=False))
        pod_file.write_text(yaml.dump_all(pods(_PODS), Dumper=yaml.CSafeDumper))
        files = (str(policy_file), "-r", str(pod_file))
        _cpu("apply", *files)  # writes the .pyc files
        runs = [(_cpu("simulate", *files), _cpu("apply", *files)) for _ in range(3)]
    ratio = statistics.median(played / applied for played, applied in runs)
    seconds = min(played for played, _ in runs)
    print(f"{_PODS:,} Pods x {len(policies())} played  {seconds:.2f} s of CPU", end="")
    print(f", {1000 * seconds / _PODS:.1f} ms a Pod, {ratio:.0f} x apply")


def _cpu(*arguments: str) -> float:
    """Run kyvsim; return the seconds of CPU that it took."""
    before = os.times()
    command = [sys.executable, "-m", "kyvsim", *arguments]
    done = subprocess.run(command, env=_QUIET, capture_output=True, check=False)
    if done.returncode not in {0, 1}:
        raise SystemExit(done.stderr.decode()[-2000:])
    after = os.times()
    cpu = after.children_user + after.children_system
    return cpu - before.children_user - before.children_system


if __name__ == "__main__":
    main()
