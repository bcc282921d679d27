"""How long `kyvsim apply` takes: one, 1,000 and 10,000 Pods x 20 policies, as whole processes.

The last ones are 10,000 Pods again, of which hardly two are alike (12 MB).

Run it as `python tests/bench/bench_apply.py`. The first figure to look at is a ratio: one Pod
against the bare interpreter, in seconds of CPU, both measured in turn in this run.
"""

import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from pod_policies import pods, policies_text
from runs import kyvsim, python, write_objects
from varied_pods import varied_pods


def lines() -> Iterator[str]:
    """Yield the figures, as they are measured."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        policy_file = folder / "policies.yaml"
        policy_file.write_text(policies_text())
        commands = {
            count: ("apply", str(policy_file), "-r", str(file))
            for count in (1, 1_000, 10_000)
            for file in [write_objects(folder / f"pods-{count}.yaml", pods(count))]
        }
        kyvsim(*commands[1])  # writes the .pyc files
        pairs = [(python("-c", "pass").cpu, kyvsim(*commands[1]).cpu) for _ in range(11)]
        bare, one = (statistics.median(part) for part in zip(*pairs, strict=True))
        yield f"bare interpreter        {bare * 1000:8.0f} ms"
        yield f"1 Pod x 20 policies     {one * 1000:8.0f} ms  = {one / bare:.1f} x the bare start"
        varied = write_objects(folder / "varied.yaml", varied_pods(10_000))
        measured = (
            (" 1,000 Pods x 20", 3, commands[1_000]),
            ("10,000 Pods x 20", 1, commands[10_000]),
            ("10,000 varied x 20", 1, ("apply", str(policy_file), "-r", str(varied))),
        )
        for what, runs, command in measured:
            for jobs in ("1", "2"):
                costs = [kyvsim(*command, "--jobs", jobs) for _ in range(runs)]
                wall, cpu, peak = (statistics.median(part) for part in zip(*costs, strict=True))
                name = f"{what}, {jobs} job{'s' * (jobs != '1')}"
                yield f"{name:<26}{wall:6.2f} s, {cpu:.2f} s of CPU, peak {peak:.0f} MB"


if __name__ == "__main__":
    for line in lines():
        print(line)
