"""How long `kyvsim apply` takes with policies in CEL: 1,000 Pods x 16 policies, one process.

Run it as `python tests/bench/bench_cel.py`. Seconds depend on the machine; the ratio to PyYAML's C
loader in the same run hardly does.
"""

import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from cel_policies import policies
from pod_policies import pods
from runs import kyvsim, parsing, write_objects, write_policies

_PODS = 1_000


def lines() -> Iterator[str]:
    """Yield the figure."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        pod_file = write_objects(folder / "pods.yaml", pods(_PODS))
        command = ("apply", str(write_policies(folder, policies())), "-r", str(pod_file))
        kyvsim(*command)  # writes the .pyc files
        pairs = [(kyvsim(*command, "--jobs", "1").cpu, parsing(pod_file).cpu) for _ in range(3)]
    ratio = statistics.median(ours / only for ours, only in pairs)
    seconds = min(ours for ours, _ in pairs)
    yield (
        f"{_PODS:,} Pods x {len(policies())} in CEL  {seconds:.2f} s of CPU, {ratio:.1f} x parsing"
    )


if __name__ == "__main__":
    for line in lines():
        print(line)
