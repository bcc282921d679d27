"""How much memory `kyvsim apply` takes as its input grows: 100,000 Pods against 10,000.

Run it as `python tests/bench/bench_memory.py`. The figure is the ratio of the two peaks, of one
process and twenty policies; it is 1.1 at most.
"""

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import yaml

sys.path.insert(0, str(Path(__file__).parent))
from pod_policies import pods, policies
from runs import kyvsim, write_policies


def lines() -> Iterator[str]:
    """Yield the figures."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        policy_file = str(write_policies(folder, policies()))
        peaks = [
            kyvsim("apply", policy_file, "-r", str(file), "--jobs", "1").peak
            for file in _files(folder)
        ]
    yield f"10,000 Pods {peaks[0]:.1f} MB, 100,000 Pods {peaks[1]:.1f} MB"
    yield f"ratio {peaks[1] / peaks[0]:.2f}"


def _files(folder: Path) -> Iterator[Path]:
    """Yield files of 10,000 and of 100,000 Pods that all have names of their own."""
    text = "".join("---\n" + yaml.dump(pod, Dumper=yaml.CSafeDumper) for pod in pods(10_000))
    for turns in (1, 10):
        file = folder / f"pods-{turns}.yaml"
        with file.open("w") as out:
            for turn in range(turns):
                out.write(text.replace("name: pod-", f"name: pod-{turn}-"))
        yield file


if __name__ == "__main__":
    for line in lines():
        print(line)
