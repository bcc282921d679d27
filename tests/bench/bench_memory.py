"""How much memory `kyvsim apply` takes as its input grows: 100,000 Pods against 10,000.

Run it as `python tests/bench/bench_memory.py`. The figure is the ratio of the two peaks, of one
process and twenty policies; it is 1.1 at most.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

sys.path.insert(0, str(Path(__file__).parent))
from pod_policies import pods, policies

_QUIET = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder:
        policy_file = Path(folder) / "policies.yaml"
        policy_file.write_text(yaml.dump_all(policies(), sort_keys=False))
        peaks = [_peak(policy_file, _write(Path(folder), count)) for count in (10_000, 100_000)]
    print(f"10,000 Pods {peaks[0]:.1f} MB, 100,000 Pods {peaks[1]:.1f} MB")
    print(f"ratio {peaks[1] / peaks[0]:.2f}")


def _write(folder: Path, count: int) -> Path:
    """Write Pods that all have names of their own; return the file."""
    file = folder / f"pods-{count}.yaml"
    text = "".join(
        "---\n" + yaml.dump(pod, Dumper=yaml.CSafeDumper) for pod in pods(min(count, 10_000))
    )
    with file.open("w") as out:
        for turn in range(max(count // 10_000, 1)):
            out.write(text.replace("name: pod-", f"name: pod-{turn}-"))
    return file


def _peak(policy_file: Path, resources: Path) -> float:
    """Return the peak of a run in MB."""
    command = ("apply", str(policy_file), "-r", str(resources), "--jobs", "1")
    with subprocess.Popen(
        [sys.executable, "-m", "kyvsim", *command], env=_QUIET, stdout=subprocess.DEVNULL
    ) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_maxrss / 1000


if __name__ == "__main__":
    main()
