"""How long `kyvsim apply` takes with mutate policies, beside a run that only parses the same text.

Run it as `python tests/bench/bench_mutate.py`: 1,000 Pods as a cluster dumps them x 16 policies.
Seconds depend on the machine; the ratio to PyYAML's C loader in the same run hardly does.
"""

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

sys.path.insert(0, str(Path(__file__).parent))
from mutate_policies import policies
from pod_dump import write_documents

_QUIET = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
_PODS = 1_000
_PARSE = "import sys, yaml; [*yaml.load_all(open(sys.argv[1]), Loader=yaml.CSafeLoader)]"


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder:
        policy_file = Path(folder) / "policies.yaml"
        policy_file.write_text(yaml.dump_all(policies(), sort_keys=False))
        pod_file = write_documents(Path(folder) / "pods.yaml", _PODS)
        apply = ("-m", "kyvsim", "apply", str(policy_file), "-r", str(pod_file))
        _cpu(*apply)  # writes the .pyc files
        pairs = [(_cpu(*apply), _cpu("-c", _PARSE, str(pod_file))) for _ in range(3)]
    ratio = statistics.median(ours / parsing for ours, parsing in pairs)
    print(f"{_PODS:,} Pods x {len(policies())} that mutate  {min(pairs)[0]:.2f} s of CPU", end="")
    print(f", {ratio:.1f} x parsing")


def _cpu(*arguments: str) -> float:
    """Run Python; return the seconds of CPU that it took."""
    before = os.times()
    done = subprocess.run(
        [sys.executable, *arguments], env=_QUIET, capture_output=True, check=False
    )
    if done.returncode not in {0, 1}:
        raise SystemExit(done.stderr.decode()[-2000:])
    after = os.times()
    cpu = after.children_user + after.children_system
    return cpu - before.children_user - before.children_system


if __name__ == "__main__":
    main()
