"""How long `kyvsim apply` takes with mutate policies, beside a run that only parses the same text.

Run it as `python tests/bench/bench_mutate.py`: 1,000 Pods as a cluster dumps them x 16 policies.
Seconds depend on the machine; the ratio to PyYAML's C loader in the same run hardly does.
"""

import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from mutate_policies import policies
from pod_dump import write_documents
from runs import kyvsim, parsing, write_policies

_PODS = 1_000


def lines() -> Iterator[str]:
    """Yield the figure."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        pod_file = write_documents(folder / "pods.yaml", _PODS)
        command = ("apply", str(write_policies(folder, policies())), "-r", str(pod_file))
        kyvsim(*command)  # writes the .pyc files
        pairs = [(kyvsim(*command).cpu, parsing(pod_file).cpu) for _ in range(3)]
    ratio = statistics.median(ours / only for ours, only in pairs)
    seconds = min(ours for ours, _ in pairs)
    yield (
        f"{_PODS:,} Pods x {len(policies())} that mutate  {seconds:.2f} s of CPU, "
        f"{ratio:.1f} x parsing"
    )


if __name__ == "__main__":
    for line in lines():
        print(line)
