"""A run that is ended from outside leaves no temporary file, no half of a file, and no worker."""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from bad_inputs import GOOD, POD

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
MOMENTS = int(os.environ.get("KYVSIM_MOMENTS", "1"))
"""At how many moments each run is ended."""


def chainsaw_test(name):
    return {
        "apiVersion": "chainsaw.kyverno.io/v1alpha1",
        "kind": "Test",
        "metadata": {"name": name},
        "spec": {"steps": [{"try": [{"apply": {"resource": POD}}, {"sleep": {"duration": "9s"}}]}]},
    }


def suite(name):
    return {
        "apiVersion": "cli.kyverno.io/v1alpha1",
        "kind": "Test",
        "metadata": {"name": name},
        "policies": ["../policy.yaml"],
        "resources": ["../pods.yaml"],
        "results": [
            {"policy": "good", "rule": "has-app", "kind": "Pod", "result": "pass", "resources": []}
        ],
    }


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """A folder with enough to do for a second or two."""
    folder = tmp_path_factory.mktemp("inputs")
    (folder / "policy.yaml").write_text(json.dumps(GOOD))
    add = {"patchStrategicMerge": {"metadata": {"labels": {"seen": "yes"}}}}
    rule = {**GOOD["spec"]["rules"][0], "name": "add", "mutate": add}
    del rule["validate"]
    change = {**GOOD, "metadata": {"name": "change"}, "spec": {"rules": [rule]}}
    (folder / "change.yaml").write_text(json.dumps(change))
    pods = [{**POD, "metadata": {**POD["metadata"], "name": f"web-{n}"}} for n in range(3000)]
    (folder / "pods.yaml").write_text("\n---\n".join(map(json.dumps, pods)))
    (folder / "some.yaml").write_text("\n---\n".join(map(json.dumps, pods[:60])))
    (folder / "many").mkdir()
    for n in range(150):
        (folder / f"many/{n}.yaml").write_text(json.dumps({**GOOD, "metadata": {"name": f"g{n}"}}))
    for kind, make in (("chainsaw-test", chainsaw_test), ("kyverno-test", suite)):
        for n in range(12):
            (folder / f"{kind}-{n}").mkdir()
            (folder / f"{kind}-{n}" / f"{kind}.yaml").write_text(json.dumps(make(f"t{n}")))
    return folder


POLICIES = "policy.yaml change.yaml -r pods.yaml"
RUNS = {
    "apply to files": f"apply {POLICIES} -o {{out}} --output-format json={{out}}.json",
    "apply --jobs": f"apply {POLICIES} --jobs 2 --output-format csv={{out}}.csv",
    "test --jobs": "test . --jobs 2 --output-format junit={out}.xml",
    "chainsaw -j": "chainsaw . -j 2 --output-format junit={out}.xml",
    "lint": "lint many --output-format json={out}.json",
    "simulate": "simulate policy.yaml -r some.yaml --output-format json={out}.json",
    "migrate to files": "migrate many --output {out}",
}


def group_of(process):
    """Return the processes of a run that are alive, without those that nobody has buried yet."""
    found = []
    for place in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, group = place.read_text().rpartition(")")[2].split()[:3]
            if int(group) == process.pid and state != "Z":
                found.append(int(place.parent.name))
    return found


def begun(words, inputs, output=subprocess.DEVNULL):
    """Return a run that has begun, as the first of its group."""
    return subprocess.Popen(
        [sys.executable, "-m", "kyvsim", *words.split()],
        cwd=inputs,
        stdout=output,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        start_new_session=True,
    )


IN_PROCESSES = {
    "apply": "apply policy.yaml change.yaml -r pods.yaml --jobs 2 --output-format json",
    "test": "test . --jobs 2 --output-format json",
}


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks into /proc")
@pytest.mark.parametrize("name", IN_PROCESSES)
def test_a_worker_that_is_killed_loses_nothing(inputs, name):
    whole, _ = (alone := begun(IN_PROCESSES[name], inputs, subprocess.PIPE)).communicate()
    chance = random.Random(name)
    for _ in range(MOMENTS):
        process = begun(IN_PROCESSES[name], inputs, subprocess.PIPE)
        moment = chance.uniform(0, 0.4)
        while process.poll() is None and not (others := {*group_of(process)} - {process.pid}):
            time.sleep(0.005)
        time.sleep(moment)
        with contextlib.suppress(ProcessLookupError):
            os.kill(min(others), signal.SIGKILL)
        told, _ = process.communicate()
        assert (process.returncode, told) == (alone.returncode, whole)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks into /proc")
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("name", RUNS)
def test_a_run_that_is_ended_leaves_nothing(inputs, tmp_path, name, how):
    chance = random.Random(f"{name} {how}")
    for moment in range(MOMENTS):
        out = tmp_path / f"out-{moment}"
        process = begun(RUNS[name].format(out=out), inputs)
        time.sleep(chance.uniform(0.3, 1.5))
        process.send_signal(how)
        assert process.wait() in {0, 1, 128 + how, -how}
        while group_of(process):
            time.sleep(0.05)
        assert [path.name for path in tmp_path.rglob("*.tmp")] == []
        if (report := out.with_suffix(".json")).exists():
            json.loads(report.read_text())
        for made in out.rglob("*"):
            assert made.read_text().endswith("\n")
