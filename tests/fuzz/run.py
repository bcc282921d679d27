"""Run commands on hostile inputs in this process, and say what they must not do.

`python tests/fuzz/run.py --seed 1 --count 10000 [--save FOLDER]` runs the inputs of so many seeds
and prints how many there were and what was found; hours are a larger count. What is found is kept:
its files and command go to a folder of `tests/fuzz/found/`, which `test_fuzz.py` runs each time.
"""

import argparse
import contextlib
import io
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[2]))
from edited import edit, play
from inputs import FuzzInput, Source

from kyvsim.cli.main import run as run_kyvsim

SLOW = 5.0
"""Seconds of the processor that no input may take."""
LARGE = 500
"""Megabytes that this process may hold at any time."""
HUNG = 60
FAULTS = ("Traceback", "please report it")
"""What is said of a fault; "internal error" alone is what CEL says of some values."""


class HungError(Exception):
    """A command did not come to its end."""


def _hang(*_: object) -> None:
    raise HungError


def problem_of(one: FuzzInput) -> str:
    """Return what a command did on an input that it must not do; "" for nothing."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        _write(one, Path())
        out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="backslashreplace")
        err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="backslashreplace")
        signal.signal(signal.SIGALRM, _hang)
        signal.alarm(HUNG)
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                status = _run(one)
        except HungError:
            return "did not end"
        except BaseException as error:  # noqa: BLE001 — nothing may get out
            return f"{type(error).__name__} got out: {str(error)[:200]}"
        finally:
            signal.alarm(0)
        said = "".join(_read(stream) for stream in (out, err))
    if status not in {0, 1, 2}:
        return f"exit status {status}"
    return next((_line(said, fault) for fault in FAULTS if fault in said), "")


def _run(one: FuzzInput) -> int:
    """Run a command, or what asks as those that wait for questions are asked; return a status."""
    asks = {"lsp": edit, "playground": play}.get(one.arguments[0])
    if asks is None:
        return run_kyvsim(one.arguments)
    asks(one.files)
    return 0


def _write(one: FuzzInput, folder: Path) -> None:
    for name, text in one.files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8", errors="surrogatepass")


def _read(stream: io.TextIOWrapper) -> str:
    stream.flush()
    return stream.buffer.getvalue().decode("utf-8", "replace")  # type: ignore[attr-defined]


def _line(text: str, fault: str) -> str:
    return next(line for line in text.splitlines() if fault in line)[:300]


def found_before() -> Iterator[FuzzInput]:
    """Yield the inputs that were found and mended."""
    for folder in sorted((Path(__file__).parent / "found").iterdir()):
        arguments = json.loads((folder / "arguments.json").read_text(encoding="utf-8"))
        files = {
            path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
            for path in sorted(folder.rglob("*"))
            if path.is_file() and path.name != "arguments.json"
        }
        yield FuzzInput(folder.name, files, tuple(arguments))


def keep(one: FuzzInput, folder: Path) -> None:
    """Write an input to a folder of its own."""
    place = folder / one.name.replace(" ", "-")
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    _write(one, place)
    (place / "arguments.json").write_text(json.dumps(one.arguments), encoding="utf-8")


def main() -> int:
    """Run the inputs that the options name; return 1 where one was not survived."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--count", type=int, default=1000)
    options.add_argument("--save", type=Path)
    given = options.parse_args()
    source, found = Source(), 0
    slowest, largest = (0.0, ""), (0, "")
    asked: Counter[str] = Counter()
    times: Counter[str] = Counter()
    for seed in range(given.seed, given.seed + given.count):
        one = source.make(seed)
        _forget_peak()
        began = time.process_time()
        problem = problem_of(one)
        spent, held = time.process_time() - began, _peak()
        what = one.name.partition(" ")[2]
        asked[what] += 1
        times[what] += spent  # type: ignore[assignment]  # a Counter adds seconds as well
        slowest, largest = max(slowest, (spent, one.name)), max(largest, (held, one.name))
        if not problem and spent > SLOW:
            problem = f"took {spent:.1f} s"
        if not problem and held > LARGE:
            problem = f"held {held} MB"
        if problem:
            found += 1
            print(f"{one.name}: {problem}", flush=True)
            if given.save:
                keep(one, given.save)
    for what in sorted(asked):
        print(f"{asked[what]:8} {what}, {1000 * times[what] / asked[what]:.1f} ms each")
    print(
        f"{given.count} inputs, {found} findings; the slowest took {slowest[0]:.1f} s "
        f"({slowest[1]}), the largest held {largest[0]} MB ({largest[1]})"
    )
    return int(found > 0)


def _forget_peak() -> None:
    """Measure the most memory from here on, where the system can."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _peak() -> int:
    """Return the most memory that was held, in megabytes; 0 where the system does not tell."""
    with contextlib.suppress(OSError), open("/proc/self/status") as status:
        return next(int(line.split()[1]) >> 10 for line in status if line.startswith("VmHWM"))
    return 0


if __name__ == "__main__":
    os.environ.pop("KYVSIM_TRACEBACK", None)
    sys.exit(main())
