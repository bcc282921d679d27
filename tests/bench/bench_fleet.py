"""What a run over a fleet costs, by size and engine: CPU seconds, peak memory, and the ratio.

Run it as `python tests/bench/bench_fleet.py [SIZES…]`; sizes are numbers of Pods, 10,000 and
100,000 unless others are given, 1,000,000 for the whole question. Each is a file of documents, at
20 policies. `apply` without a fleet and each engine are measured in turn in one run; their
outputs are compared. With `--write` the table goes to docs/fleet.md.
"""

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import yaml

sys.path.insert(0, str(Path(__file__).parent))
from pod_policies import pods, policies

ROOT = Path(__file__).resolve().parents[2]
_QUIET = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
_PAGE = ROOT / "docs/fleet.md"
_TABLE = re.compile(r"(?<=<!-- fleet: begin -->\n).*(?=<!-- fleet: end -->)", re.DOTALL)
_TICKS = os.sysconf("SC_CLK_TCK")


class Cost(NamedTuple):
    """What one run has cost."""

    cpu: float
    """Seconds of all processes."""
    wall: float
    peak: int
    """MiB of the largest process."""
    output: str
    """What it wrote, as a digest."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", nargs="*", type=int, default=[10_000, 100_000])
    parser.add_argument("--write", action="store_true", help="write the table to docs/fleet.md")
    asked = parser.parse_args()
    lines = [
        "| Pods | MB | engine | CPU s | of `apply` | microseconds a Pod | largest process, MB |",
        "| ---: | ---: | --- | ---: | ---: | ---: | ---: |",
    ]
    with tempfile.TemporaryDirectory() as place, _cluster(Path(place)) as scheduler:
        folder = Path(place)
        (folder / "policies.yaml").write_text(yaml.dump_all(policies(), sort_keys=False))
        for size in asked.sizes:
            lines += _rows(folder, size, scheduler)
            print("\n".join(lines), flush=True)
    if asked.write:
        text = _PAGE.read_text()
        _PAGE.write_text(_TABLE.sub(lambda _: "\n".join([*lines, ""]), text))


def _rows(folder: Path, size: int, scheduler: "_Scheduler") -> Iterator[str]:
    file = _written(folder, size)
    command = ("apply", "policies.yaml", "-r", file.name)
    spread = ("--engine", "processes", "--jobs")
    dask = ("--engine", "dask", "--scheduler", scheduler.address)
    ways = {
        "`apply --jobs 1`": (*command, "--jobs", "1"),
        "`apply --jobs 2`": (*command, "--jobs", "2"),
        "`--engine processes --jobs 1`": (*command, *spread, "1"),
        "`--engine processes --jobs 2`": (*command, *spread, "2"),
        "`--engine dask`, two workers": (*command, *dask),
    }
    first = None
    for name, arguments in ways.items():
        cost = _measured(folder, arguments, scheduler if "dask" in name else None)
        first = first or cost
        if cost.output != first.output:
            raise SystemExit(f"{name}: another output than that of one process")
        told = (f"{size:,}", f"{file.stat().st_size / 1e6:,.1f}", name, f"{cost.cpu:.1f}")
        more = (f"{cost.cpu / first.cpu:.2f}", f"{cost.cpu / size * 1e6:.0f}", f"{cost.peak}")
        yield f"| {' | '.join((*told, *more))} |"
    file.unlink()


def _written(folder: Path, size: int) -> Path:
    """Write so many Pods; the text of a thousand is used again under other names."""
    file = folder / f"pods-{size}.yaml"
    texts = [yaml.dump(pod, Dumper=yaml.CSafeDumper) for pod in pods(min(size, 1_000))]
    with file.open("w") as out:
        for number in range(size):
            text = texts[number % len(texts)]
            out.write(f"---\n{text.replace('name: pod-', f'name: r{number // 1_000}-pod-', 1)}")
    return file


def _measured(folder: Path, arguments: tuple[str, ...], scheduler: "_Scheduler | None") -> Cost:
    """Run the program; with a scheduler what its processes take counts, too."""
    before = scheduler.used() if scheduler else 0.0
    start = time.perf_counter()
    digest = hashlib.sha256()
    code = "import resource, runpy, sys; sys.argv[0] = 'kyvsim'\n" + _TELLING
    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        cwd=folder,
        env=_QUIET,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    for block in iter(lambda: process.stdout.read(1 << 20), b""):
        digest.update(block)
    told = process.stderr.read().decode()
    if process.wait() not in {0, 1}:
        raise SystemExit(told[-2000:])
    cpu, peak = json.loads(told.splitlines()[-1])
    wall = time.perf_counter() - start
    if scheduler:
        cpu += scheduler.used() - before
        peak = max(peak, scheduler.peak())
    return Cost(cpu, wall, peak // 1024, digest.hexdigest())


_TELLING = """
import atexit, json
def tell():
    own, others = (resource.getrusage(who) for who in (0, -1))
    cpu = sum(one.ru_utime + one.ru_stime for one in (own, others))
    print(json.dumps([cpu, max(own.ru_maxrss, others.ru_maxrss)]), file=sys.stderr)
atexit.register(tell)
from kyvsim.cli.main import main
if __name__ == '__main__':
    main()
"""


class _Scheduler(NamedTuple):
    """A scheduler with two workers."""

    address: str
    processes: tuple[subprocess.Popen[bytes], ...]

    def used(self) -> float:
        """Return the CPU seconds of all of them so far."""
        times = [
            self._told(one, "stat").rpartition(")")[2].split()[11:13] for one in self.processes
        ]
        return sum(int(part) for some in times for part in some) / _TICKS

    def peak(self) -> int:
        """Return the KiB of the largest."""
        texts = [self._told(one, "status") for one in self.processes]
        return max(int(re.search(r"VmHWM:\s*(\d+)", text)[1]) for text in texts)

    def _told(self, process: subprocess.Popen[bytes], what: str) -> str:
        return Path(f"/proc/{process.pid}/{what}").read_text()


@contextmanager
def _cluster(folder: Path) -> Iterator[_Scheduler]:
    about = folder / "scheduler.json"
    listen = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard")
    own = ("--nthreads", "1", "--no-nanny", "--no-dashboard", "--host", "127.0.0.1")
    found = [_started("dask_scheduler", *listen, "--scheduler-file", str(about))]
    try:
        _wait(lambda: about.exists() and about.read_text().endswith("}"))
        address = json.loads(about.read_text())["address"]
        found += [
            _started("dask_worker", address, *own, "--local-directory", str(folder / name))
            for name in ("one", "two")
        ]
        yield _Scheduler(address, tuple(found))
    finally:
        for one in found:
            one.kill()  # asked to end they wait for each other
            one.wait()


def _started(module: str, *options: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", f"distributed.cli.{module}", *options],
        env=_QUIET,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def _wait(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not is_so():
        if time.monotonic() > end:
            raise SystemExit("the scheduler does not come up")
        time.sleep(0.1)


if __name__ == "__main__":
    main()
