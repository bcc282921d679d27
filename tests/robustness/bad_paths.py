"""Bad inputs by hand: paths that lead to no plain file, and programs that do not end well."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from bad_inputs import GOOD, POD, BadInput, Json, Text, mutating

GOOD_RUN = "apply policy.yaml -r pod.yaml --detailed-results"
TOLD = ("good / has-app",)
MERGE = mutating({"patchStrategicMerge": {"metadata": {"labels": {"seen": "yes"}}}})


class Made(NamedTuple):
    """What stands at a path in place of a text."""

    make: Callable[[Path], object]


PIPE = Made(os.mkfifo)
FOLDER = Made(Path.mkdir)


def link(target: str) -> Made:
    """Return a link to a path."""
    return Made(lambda path: path.symlink_to(target))


def program(text: str) -> Made:
    """Return a program for the shell."""

    def make(path: Path) -> None:
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    return Made(make)


def beside_good(
    name: str, command: str, files: dict[str, Text | Made], marks: tuple[str, ...] = TOLD
) -> BadInput:
    """Return a command on paths that lie beside a good policy and a good Pod."""
    good: dict[str, Text | Made] = {"policy.yaml": json.dumps(GOOD), "pod.yaml": json.dumps(POD)}
    return BadInput(name, {**good, **files}, command, marks=marks)


def chainsaw_of(*operations: Json) -> str:
    """Return a chainsaw test with one step."""
    spec = {"steps": [{"try": list(operations)}]}
    meta = {"apiVersion": "chainsaw.kyverno.io/v1alpha1", "kind": "Test", "metadata": {"name": "x"}}
    return json.dumps({**meta, "spec": spec})


PATHS = (
    beside_good("a policy that is `/dev/zero`", f"{GOOD_RUN} /dev/zero", {}),
    beside_good("a resource that is a pipe", f"{GOOD_RUN} -r pipe", {"pipe": PIPE}),
    beside_good(
        "a link to `/dev/zero` in a folder of resources",
        f"{GOOD_RUN} -r more",
        {"more/zero.yaml": link("/dev/zero")},
    ),
    beside_good(
        "a link to itself in a folder of resources",
        f"{GOOD_RUN} -r more",
        {"more/loop.yaml": link("loop.yaml"), "more/again": link(".")},
    ),
    beside_good(
        "a folder with more than may be in it",
        f"{GOOD_RUN} -r more --max-files 2",
        {f"more/{n}.yaml": json.dumps(POD) for n in range(3)},
    ),
    beside_good(
        "a `.kyvsimignore` that is a pipe",
        f"{GOOD_RUN} -r more",
        {"more/.kyvsimignore": PIPE, "more/pod.yaml": json.dumps(POD)},
    ),
    beside_good("a test manifest that is a pipe", "test .", {"kyverno-test.yaml": PIPE}, ()),
    beside_good("settings that are a pipe", GOOD_RUN, {".kyvsim.yaml": PIPE}, ()),
    beside_good("an input of `jp` that is a pipe", "jp query -i pipe x", {"pipe": PIPE}, ()),
    beside_good(
        "`--write-baseline` to a pipe that nobody reads",
        f"{GOOD_RUN} --write-baseline pipe",
        {"pipe": PIPE},
        (),
    ),
    beside_good(
        "`--write-baseline` to a device that is full", f"{GOOD_RUN} --write-baseline /dev/full", {}
    ),
    beside_good(
        "`--write-baseline` to a folder", f"{GOOD_RUN} --write-baseline to", {"to": FOLDER}, ()
    ),
    beside_good(
        "`--output-format json=PATH` below a file",
        f"{GOOD_RUN} --output-format json=pod.yaml/report",
        {},
        (),
    ),
    beside_good(
        "`--output-format json=PATH` to a pipe that nobody reads",
        f"{GOOD_RUN} --output-format json=pipe",
        {"pipe": PIPE},
        (),
    ),
    beside_good("`-o` that is a pipe", f"{GOOD_RUN} -o pipe", {"pipe": PIPE}, ()),
    beside_good(
        "`-o` with a link in the place of an object",
        "apply change.yaml -r pod.yaml -o to",
        {"change.yaml": json.dumps(MERGE), "to/web-mutated.yaml": link("../pod.yaml")},
        (),
    ),
    beside_good(
        "a chainsaw report over a file that a step names",
        "chainsaw . --output-format json=pod.yaml",
        {"chainsaw-test.yaml": chainsaw_of({"apply": {"file": "pod.yaml"}})},
        (),
    ),
    beside_good(
        "a program for `--helm` that prints without end",
        f"{GOOD_RUN} --helm .",
        {"bin/helm": program("exec yes")},
        (),
    ),
    beside_good(
        "a program for `--helm` that ends by a signal",
        f"{GOOD_RUN} --helm .",
        {"bin/helm": program("kill -9 $$")},
        (),
    ),
    beside_good(
        "a program for `--helm` that is none",
        f"{GOOD_RUN} --helm .",
        {"bin/helm": Made(lambda path: (path.write_bytes(b"\0"), path.chmod(0o755)))},
        (),
    ),
)
