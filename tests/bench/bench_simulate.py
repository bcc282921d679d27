"""How long `kyvsim simulate` takes: 500 Pods x 20 policies on a cluster that is not there.

Run it as `python tests/bench/bench_simulate.py`. Seconds depend on the machine; what a Pod costs
beside `kyvsim apply` of the same files, in the same run, hardly does.
"""

import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from pod_policies import pods, policies
from runs import kyvsim, write_objects, write_policies

_PODS = 500


def lines() -> Iterator[str]:
    """Yield the figure."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        pod_file = write_objects(folder / "pods.yaml", pods(_PODS))
        files = (str(write_policies(folder, policies())), "-r", str(pod_file))
        kyvsim("apply", *files)  # writes the .pyc files
        pairs = [(kyvsim("simulate", *files).cpu, kyvsim("apply", *files).cpu) for _ in range(3)]
    ratio = statistics.median(played / applied for played, applied in pairs)
    seconds = min(played for played, _ in pairs)
    yield (
        f"{_PODS:,} Pods x {len(policies())} played  {seconds:.2f} s of CPU, "
        f"{1000 * seconds / _PODS:.1f} ms a Pod, {ratio:.0f} x apply"
    )


if __name__ == "__main__":
    for line in lines():
        print(line)
