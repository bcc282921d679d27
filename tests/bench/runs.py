"""Runs of Python as whole processes, what they cost, and the files that they are given."""

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import yaml

_QUIET = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
PARSE = "import sys, yaml; [*yaml.load_all(open(sys.argv[1]), Loader=yaml.CSafeLoader)]"
"""A program that only parses a file of YAML, with PyYAML's C loader."""


class Cost(NamedTuple):
    """What one run has cost."""

    wall: float
    """Seconds."""
    cpu: float
    """Seconds of all its processes."""
    peak: float
    """MB of the largest of them."""


_LAUNCH = """
import json, os, sys, time
quiet = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
start = time.perf_counter()
command = [sys.executable, *sys.argv[1:]]
child = os.posix_spawn(sys.executable, command, os.environ, file_actions=quiet)
_, status, usage = os.wait4(child, 0)
wall = time.perf_counter() - start
cost = wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1000
print(json.dumps([os.waitstatus_to_exitcode(status), cost]))
"""
"""Runs Python from a small process: a peak counts what the one that it was forked from had."""


def python(*arguments: str) -> Cost:
    """Run Python and throw away what it writes; a status other than 0 and 1 ends the bench."""
    command = [sys.executable, "-c", _LAUNCH, *arguments]
    done = subprocess.run(command, env=_QUIET, capture_output=True, check=True)
    status, cost = json.loads(done.stdout)
    if status not in {0, 1}:
        raise SystemExit(done.stderr.decode()[-2000:])
    return Cost(*cost)


def kyvsim(*arguments: str) -> Cost:
    """Run kyvsim."""
    return python("-m", "kyvsim", *arguments)


def parsing(file: Path) -> Cost:
    """Run what only parses a file of YAML."""
    return python("-c", PARSE, str(file))


def write_policies(folder: Path, policies: Iterable[dict[str, Any]]) -> Path:
    """Write policies into a file; return it."""
    file = folder / "policies.yaml"
    file.write_text(yaml.dump_all(policies, sort_keys=False))
    return file


def write_objects(file: Path, objects: Iterable[dict[str, Any]]) -> Path:
    """Write objects as documents of YAML; return the file."""
    with file.open("w") as out:
        for one in objects:
            out.write("---\n")
            yaml.dump(one, out, Dumper=yaml.CSafeDumper)
    return file
