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
HUGE = Made(lambda path: (path.touch(), os.truncate(path, 600 << 20)))
"""Of bytes 0, which take no room on the disk."""


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
    beside_good("an input of `jp` of 600 MiB", "jp query -i huge x", {"huge": HUGE}, ()),
    beside_good("a batch of `jp` of 600 MiB", "jp query --batch huge", {"huge": HUGE}, ()),
    beside_good("a batch of `cel` of 600 MiB", "cel eval --batch huge", {"huge": HUGE}, ()),
    beside_good("a resource of 600 MiB", f"{GOOD_RUN} -r huge", {"huge": HUGE}),
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
        "a program for `--helm` that is not executable code",
        f"{GOOD_RUN} --helm .",
        {"bin/helm": Made(lambda path: (path.write_bytes(b"\0"), path.chmod(0o755)))},
        (),
    ),
)

_META = {**POD["metadata"], "annotations": {"note": "x" * 1_500}}
STREAM = "".join(
    f"---\n{json.dumps({**POD, 'metadata': {**_META, 'name': f'web-{number}'}})}\n"
    for number in range(1500)
)
"""A file of more than 2 MB, which is read in parts, by several processes."""


def meanwhile(
    name: str, command: str, moment: str, program: str, marks: tuple[str, ...] = TOLD
) -> BadInput:
    """Return a command on paths, one of which changes: the last word of what opens before it.

    `moment` is a path and how often it is opened, as in `policy.yaml 1`.
    """
    files: dict[str, Text | Made] = {f"more/{n}.yaml": json.dumps(POD) for n in range(3)}
    files["stream.yaml"] = STREAM
    files["kyverno-test.yaml"] = json.dumps(
        {
            "apiVersion": "cli.kyverno.io/v1alpha1",
            "kind": "Test",
            "metadata": {"name": "web"},
            "policies": ["policy.yaml"],
            "resources": ["pod.yaml"],
            "results": [{"policy": "good", "rule": "has-app", "kind": "Pod", "result": "pass"}],
        }
    )
    opened, count = moment.split()
    return beside_good(name, command, files, marks)._replace(
        meanwhile=(opened, int(count), program)
    )


IN_PARTS = f"{GOOD_RUN} -r stream.yaml --jobs 2"
CHANGES = (
    meanwhile("a policy that vanishes", GOOD_RUN, "policy.yaml 1", "rm policy.yaml", ()),
    meanwhile(
        "a policy that becomes a pipe",
        GOOD_RUN,
        "policy.yaml 1",
        "rm policy.yaml; mkfifo policy.yaml",
        (),
    ),
    meanwhile("a resource that vanishes", f"{GOOD_RUN} -r more", "policy.yaml 1", "rm pod.yaml"),
    meanwhile(
        "a file of a folder that vanishes", f"{GOOD_RUN} -r more", "more/0.yaml 1", "rm more/1.yaml"
    ),
    meanwhile("a folder that vanishes", f"{GOOD_RUN} -r more", "policy.yaml 1", "rm -r more"),
    meanwhile("a working folder that vanishes", GOOD_RUN, "policy.yaml 1", 'rm -r "$PWD"', ()),
    meanwhile("a file in parts that vanishes", IN_PARTS, "stream.yaml 2", "rm stream.yaml"),
    meanwhile(
        "a file in parts that is truncated",
        IN_PARTS,
        "stream.yaml 2",
        "truncate -s 9990 stream.yaml",
    ),
    meanwhile("a file in parts that grows", IN_PARTS, "stream.yaml 2", "echo a: b >> stream.yaml"),
    meanwhile(
        "a file in parts that is replaced",
        IN_PARTS,
        "stream.yaml 2",
        "sed 's/app/owner/g' stream.yaml > new; mv new stream.yaml",
    ),
    meanwhile(
        "a file in parts that becomes a pipe",
        IN_PARTS,
        "stream.yaml 2",
        "rm stream.yaml; mkfifo stream.yaml",
    ),
    meanwhile("a resource of a test that vanishes", "test .", "policy.yaml 1", "rm pod.yaml", ()),
    meanwhile(
        "a resource of a simulation that vanishes",
        "simulate policy.yaml -r pod.yaml",
        "policy.yaml 1",
        "rm pod.yaml",
        (),
    ),
    meanwhile(
        "an input of `jp` that becomes a pipe",
        "jp query -i pod.yaml kind",
        "pod.yaml 1",
        "rm pod.yaml; mkfifo pod.yaml",
        (),
    ),
)
