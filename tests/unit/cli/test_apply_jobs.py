"""`apply` in blocks and by processes: the same bytes and status, whatever becomes of them."""

import contextlib
import gc
import json
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import yaml
from spread_inputs import ODD_STREAMS, POLICY, READS, STREAM, TEAM, pod, pods

from kyvsim.api import apply, apply_parts, apply_processes, apply_streamed, explain_rows
from kyvsim.api.process_pool import ProcessLostError, ProcessPool
from kyvsim.cli import apply as apply_command
from kyvsim.cli import apply_blocks
from kyvsim.engine.world import view_of_part
from kyvsim.model.source import Document

pytestmark = pytest.mark.slow

MUTATES = """
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: label}
spec:
  rules:
  - name: label
    match: {any: [{resources: {kinds: [Pod]}}]}
    mutate: {patchStrategicMerge: {metadata: {labels: {seen: "yes"}}}}
"""
INJECTS = """
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: volume}
spec:
  rules:
  - name: volume
    match: {any: [{resources: {kinds: [Pod]}}]}
    mutate: {patchStrategicMerge: {spec: {volumes: [{name: a, configMap: {name: given}}]}}}
"""
FORMATS = (
    (),
    ("--detailed-results",),
    ("--output-format", "json"),
    ("--output-format", "yaml"),
    ("--output-format", "junit"),
    ("--output-format", "sarif"),
    ("--output-format", "html"),
    ("--policy-report",),
    ("--table",),
    ("--table", "--detailed-results"),
    ("--stdin",),
    ("--audit-warn", "--strict"),
)


WITHOUT_PARTS = frozenset({"empty", "nothing in it"})


@pytest.fixture
def notes():
    """The notes that runs have made, one list for each."""
    return []


@pytest.fixture
def kyvsim(kyvsim, notes):
    """What calls kyvsim, and keeps what it notes on how it works apart: that differs."""

    def run(*command):
        status, out, err = kyvsim(*command)
        lines = err.splitlines(keepends=True)
        notes.append([one for one in lines if one.startswith("note: ")])
        return status, out, "".join(one for one in lines if not one.startswith("note: "))

    return run


@pytest.fixture(autouse=True)
def blocks_for_small_inputs(monkeypatch):
    """Make processes share blocks however small the input is; `in_memory` restores the default."""
    real = apply_command.open_run

    def opened(inputs, stdin, jobs, documents):
        with monkeypatch.context() as patch:
            if jobs > 1:
                patch.setattr(apply_command, "_LARGE", 0)
            return real(inputs, stdin, jobs, documents)

    monkeypatch.setattr(apply_command, "open_run", opened)
    return real


@pytest.fixture
def in_memory(monkeypatch, blocks_for_small_inputs):
    """Make processes share the resources that one process has read."""
    monkeypatch.setattr(apply_command, "open_run", blocks_for_small_inputs)


@pytest.fixture
def parted(monkeypatch):
    """Whether each run came about in parts."""
    found = []
    real = apply_streamed.open_streamed

    def watched(*arguments):
        run = real(*arguments)
        found.append(run is not None)
        return run

    monkeypatch.setattr(apply_blocks, "open_streamed", watched)
    return found


@pytest.fixture
def given(tmp_path):
    """A function that writes policies and resources, and returns what to call."""

    def write(policies, resources):
        policy, resource = tmp_path / "policies.yaml", tmp_path / "resources.yaml"
        policy.write_text(policies)
        resource.write_bytes(resources.encode())
        return "apply", str(policy), "--resource", str(resource)

    return write


@pytest.mark.parametrize("options", FORMATS, ids=" ".join)
def test_formats_are_the_same(given, kyvsim, parted, options):
    command = (*given(POLICY, STREAM), *options)
    alone, two, three = (kyvsim(*command, "--jobs", jobs) for jobs in ("1", "2", "3"))
    assert alone == two == three
    assert alone[1]
    assert parted == [True, True]


def cut_small(monkeypatch):
    """Have one process work in blocks, too, whatever the size of the input."""
    monkeypatch.setattr(apply_command, "_LARGE", 0)
    monkeypatch.setattr(apply_streamed, "_BLOCK", 300)


def both(given, kyvsim, monkeypatch, policies, resources, *options):
    """Return what is said of the whole, in blocks by one process, and by two."""
    command = (*given(policies, resources), *options)
    alone = kyvsim(*command, "-j", "1")
    cut_small(monkeypatch)
    return alone, kyvsim(*command, "-j", "1"), kyvsim(*command, "-j", "2")


MAKES = """
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: make}
spec:
  rules:
  - name: map
    match: {any: [{resources: {kinds: [Pod]}}]}
    generate:
      apiVersion: v1
      kind: ConfigMap
      name: "of-{{ request.object.metadata.name }}"
      namespace: a
      data: {data: {a: "\\u2028 \\n"}}
"""


@pytest.mark.parametrize("more", [(), ("--output-format", "sarif=found.sarif")])
@pytest.mark.parametrize("path", ["out", "out.yaml"])
def test_files_of_objects_are_the_same_in_blocks(
    given, kyvsim, parted, monkeypatch, tmp_path, path, more
):
    monkeypatch.chdir(tmp_path)
    command = (*given(f"{MUTATES}---{MAKES}", "---\n".join(pods(60))), "-o", path, *more)
    found = []
    for number, jobs in enumerate("112"):
        if number == 1:
            cut_small(monkeypatch)
        status, _, err = kyvsim(*command, "-j", jobs)
        assert (status, f"wrote 120 objects to {path}\n" in err) == (0, True)
        files = sorted(one for one in tmp_path.rglob("*") if one.is_file())
        found.append([(str(one), one.read_bytes()) for one in files])
        Path(path).rename(f".earlier{number}")
    alone, one, two = ([each for each in some if "/.earlier" not in each[0]] for some in found)
    assert alone == one == two
    assert parted == [True, True]
    assert len(alone) == (61 if path == "out" else 1) + 2 + bool(more)


@pytest.mark.parametrize("options", FORMATS, ids=" ".join)
def test_formats_are_the_same_in_blocks(given, kyvsim, parted, monkeypatch, options):
    alone, one, two = both(given, kyvsim, monkeypatch, POLICY, STREAM, *options)
    assert alone == one == two
    assert all(parted)


WORDY = """
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: wordy}
spec:
  rules:
  - name: never
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate:
      message: "{{ request.object.metadata.labels.word }}"
      deny: {}
"""


def test_what_is_alike_is_told_once_by_all_parts(given, kyvsim, parted, monkeypatch):
    """Wordings come up in one order in the whole, and in another one in each part."""
    words = (f"w{number * 7 % 23}" for number in range(90))
    pods = (
        f"apiVersion: v1\nkind: Pod\nmetadata: {{name: p, labels: {{word: {word}}}}}\n"
        for word in words
    )
    alone, one, two = both(given, kyvsim, monkeypatch, WORDY, "---\n".join(pods))
    assert alone == one == two
    assert parted == [True, True]
    assert alone[1].count("        rule: ") == 10
    assert "same finding on 3 more objects" in alone[1]
    assert "with a different message on" in alone[1]


PASSED = """
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: passed}
spec:
  rules:
  - name: always
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate: {message: "no", pattern: {spec: {=(hostPID): "false"}}}
---
"""


@pytest.mark.parametrize("options", [(), ("--detailed-results",), ("--show", "all"), ("--quiet",)])
def test_what_is_alike_is_told_or_counted_as_options_say(
    given, kyvsim, parted, monkeypatch, options
):
    refused = WORDY.replace("{{ request.object.metadata.labels.word }}", "no")
    objects = "---\n".join(map(pod, range(60)))
    found = both(given, kyvsim, monkeypatch, PASSED + refused, objects, *options)
    assert found[0] == found[1] == found[2]
    assert parted == [True, True]
    everything = "all" in options or "--detailed-results" in options
    assert found[0][1].count("a/Pod/p") == (60 if everything else 11)


def test_a_process_explains_what_is_alike_once(tmp_path, given, kyvsim, monkeypatch):
    """However many parts it tells: what a failure is explained with is compiled for all of them."""
    asked = tmp_path / "asked"
    asked.mkdir()
    real = explain_rows.compile_explain

    def noting(*arguments):
        explain = real(*arguments)

        def noted(response, row):
            with (asked / str(os.getpid())).open("a") as told:
                told.write(f"{id(explain)}\n")
            return explain(response, row)

        return noted

    monkeypatch.setattr(apply, "compile_explain", noting)
    refused = WORDY.replace("{{ request.object.metadata.labels.word }}", "no")
    kyvsim(*given(refused, "---\n".join(map(pod, range(60)))), "--jobs", "2")
    told = [file.read_text().split() for file in asked.iterdir()]
    assert told
    assert all(len(one) <= 3 and len(set(one)) == 1 for one in told)  # as many are shown in full


@pytest.mark.parametrize("name", ODD_STREAMS)
@pytest.mark.parametrize("options", [(), ("--output-format", "json")], ids=["text", "json"])
def test_odd_input_is_told_the_same_way(given, kyvsim, parted, monkeypatch, name, options):
    alone, one, two = both(given, kyvsim, monkeypatch, POLICY, ODD_STREAMS[name], *options)
    assert alone == one == two
    assert parted == [name not in WITHOUT_PARTS] * 2


def test_bad_input_between_good_is_told_with_its_place(given, kyvsim, parted):
    bad = "\n".join(f"# {one}" for one in range(9)) + "\napiVersion: v1\nkind: [\n"
    text = "---\n".join((*pods(200), pod("x") + "---\n" + bad, *pods(200)))
    command = given(POLICY, text)
    status, out, err = kyvsim(*command, "-j", "2")
    assert (status, out, err) == kyvsim(*command, "-j", "1")
    assert status == 2
    line = text[: text.index("kind: [")].count("\n") + 1
    assert f"resources.yaml:{line + 1}" in err or f"resources.yaml:{line}" in err
    assert parted == [True]


NAMESPACE = "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: a, labels: {team: a}}\n"


def test_what_needs_many_objects_is_read_as_a_whole_by_one_process(
    given, kyvsim, parted, monkeypatch
):
    policies = POLICY + "---" + READS
    alone, one, two = both(given, kyvsim, monkeypatch, policies, STREAM + NAMESPACE)
    assert alone == one == two
    assert "there are 59" in alone[1]
    assert parted == [False, True]


GIVEN_MAP = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: given, namespace: a}\n"
MAKES_WHAT_IS_INJECTED = """
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: makes-given}
spec:
  rules:
  - name: given
    match: {any: [{resources: {kinds: [Pod], names: [p41]}}]}
    generate: {apiVersion: v1, kind: ConfigMap, name: given, namespace: a, data: {data: {a: b}}}
"""


@pytest.mark.parametrize("options", [*FORMATS, ("--show", "objects"), ("--quiet",)], ids=" ".join)
@pytest.mark.parametrize(
    ("more", "objects"), [("", ""), ("", GIVEN_MAP), (MAKES_WHAT_IS_INJECTED, "")], ids=range(3)
)
def test_references_are_resolved_among_all_parts(
    given, kyvsim, parted, monkeypatch, options, more, objects
):
    policies = "---".join((POLICY, INJECTS, *filter(None, (more,))))
    alone, one, two = both(given, kyvsim, monkeypatch, policies, STREAM + objects, *options)
    assert alone == one == two
    assert "--stdin" in options or parted == [True, True]
    if not options:
        met = "generated by policy makes-given" if more else "input" if objects else "warning:"
        assert f"needs ConfigMap a/given (volume `a`): {met}" in alone[1]


@pytest.mark.parametrize(
    "options",
    [(), ("--diff",), ("--output-format", "json"), ("--check-idempotent",), ("--policy-report",)],
    ids=" ".join,
)
def test_what_changes_the_object_alone_goes_in_parts(given, kyvsim, parted, monkeypatch, options):
    policies = POLICY + "---" + MUTATES
    alone, one, two = both(given, kyvsim, monkeypatch, policies, STREAM, *options)
    assert alone == one == two
    assert parted == [True, True]


@pytest.mark.parametrize("options", [(), ("--output-format", "json")], ids=["yaml", "json"])
def test_reports_of_policies_with_a_namespace(given, kyvsim, parted, monkeypatch, options):
    policies = POLICY.replace("kind: ClusterPolicy", "kind: Policy", 1)
    policies = policies.replace("{name: small-names}", "{name: small-names, namespace: a}")
    options = ("--policy-report", *options)
    alone, one, two = both(given, kyvsim, monkeypatch, policies, STREAM, *options)
    assert alone == one == two
    assert any(kind in alone[1] for kind in ("kind: Report\n", '"kind": "Report"'))
    assert parted == [False, False]


def test_reports_without_results(given, kyvsim, parted, monkeypatch):
    policies = POLICY.partition("---")[0].replace("[Pod]", "[Service]")
    alone, one, two = both(given, kyvsim, monkeypatch, policies, STREAM, "--policy-report")
    assert alone == one == two
    assert "results: []" in alone[1]
    assert parted == [True, True]


LOOKS_UP = """
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: allowed}
spec:
  rules:
  - name: allowed
    match: {any: [{resources: {kinds: [Pod]}}]}
    context:
    - {name: allowed, configMap: {name: "{{ request.object.metadata.name }}", namespace: a}}
    validate:
      message: "allowed: {{ allowed.data.all }}"
      deny: {conditions: {all: [{key: "{{ allowed.data.all }}", operator: NotEquals, value: x}]}}
"""
MAPS = "".join(
    "---\napiVersion: v1\nkind: ConfigMap\n"
    f"metadata: {{name: p{one}, namespace: a}}\ndata: {{all: {value}}}\n"
    for one, value in ((7, "x"), (8, "z"))
)


@pytest.mark.parametrize("options", [(), ("--output-format", "json")], ids=["text", "json"])
def test_what_rules_look_up_is_read_beforehand(given, kyvsim, parted, monkeypatch, options):
    policies = POLICY + "---" + LOOKS_UP
    alone, one, two = both(given, kyvsim, monkeypatch, policies, STREAM + MAPS, *options)
    assert alone == one == two
    assert "allowed: z" in alone[1]
    assert parted == [True, True]


def test_what_is_found_too_late_is_looked_up_in_the_whole(given, kyvsim, parted, monkeypatch):
    maps = MAPS.replace("kind: ConfigMap", 'kind: "Config\\x4dap"')
    policies = POLICY + "---" + LOOKS_UP
    alone, one, two = both(given, kyvsim, monkeypatch, policies, STREAM + maps)
    assert alone == one == two
    assert "allowed: z" in alone[1]
    assert parted == [False, False]


def test_much_that_is_looked_up_is_read_beforehand_for_processes(
    given, kyvsim, parted, monkeypatch
):
    policies = POLICY + "---" + LOOKS_UP
    alone, one, two = both(given, kyvsim, monkeypatch, policies, pod(1) + MAPS * 20)
    assert alone == one == two
    assert parted == [False, True]


ROOT = Path(__file__).parents[3]


def test_forms_of_a_policy_in_cel_have_one_name_wherever_they_come_up_first(
    given, kyvsim, parted, monkeypatch
):
    policies = POLICY.partition("---")[2].replace("object.metadata.name != 'p7'", "false")
    template = "template: {spec: {containers: [{name: c, image: a}]}}"
    deployments = (
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d, namespace: a}\n"
        f"spec: {{selector: {{}}, {template}}}\n# {number * '.'}\n"
        for number in range(40)
    )
    text = "---\n".join((*pods(3), *deployments, *pods(9)))
    alone, one, two = both(given, kyvsim, monkeypatch, policies, text)
    assert alone == one == two
    assert alone[1].count("  FAIL  owner\n") == 1
    assert "autogen-owner" not in alone[1]
    assert parted == [True, True]


@pytest.mark.parametrize("options", FORMATS, ids=" ".join)
def test_policies_of_the_repository(kyvsim, parted, monkeypatch, options):
    policies = [str(one.parent) for one in sorted(ROOT.glob("policies/*/README.md"))]
    resources = [
        part
        for one in sorted(ROOT.glob("fixtures/resources/*.yaml"))
        for part in ("--resource", str(one))
    ]
    for policy in policies:
        command = ("apply", policy, *resources, *options, "--now", "2026-01-01T00:00:00Z")
        monkeypatch.setattr(apply_command, "_LARGE", 1 << 30)
        alone = kyvsim(*command, "-j", "1")
        cut_small(monkeypatch)
        assert alone == kyvsim(*command, "-j", "1")
    assert "--stdin" in options or any(parted)


EXCEPTION = """
apiVersion: kyverno.io/v2
kind: PolicyException
metadata: {name: some, namespace: a}
spec:
  exceptions: [{policyName: small-names, ruleNames: [no-latest, no-such]}]
  match: {any: [{resources: {kinds: [Pod], names: [p1, "p2*"]}}]}
"""
VALUES = """
apiVersion: cli.kyverno.io/v1alpha1
kind: Values
policies:
- name: small-names
  resources:
  - {name: p3, values: {request.object.metadata.name: p4}}
  - {name: p39, values: {a: b}}
  - {name: nobody, values: {a: b}}
"""


@pytest.mark.parametrize(("option", "text"), [("-e", EXCEPTION), ("-f", VALUES)])
def test_exceptions_and_values(tmp_path, given, kyvsim, parted, monkeypatch, option, text):
    file = tmp_path / "more.yaml"
    file.write_text(text)
    found = both(given, kyvsim, monkeypatch, POLICY, STREAM, option, str(file))
    assert found[0] == found[1] == found[2]
    assert "no-such" in found[0][2] or "`nobody`" in found[0][2]
    assert "`p39`" not in found[0][2]
    assert parted == [True, True]


def test_values_as_options(given, kyvsim, parted, monkeypatch):
    alone, one, two = both(given, kyvsim, monkeypatch, POLICY, STREAM, "--set", "a=b")
    assert alone == one == two
    assert parted == [True, True]


@pytest.mark.parametrize("namespace", [NAMESPACE, ""])
def test_namespaces_are_known_to_all_parts(given, kyvsim, parted, monkeypatch, namespace):
    policies = POLICY + "---" + TEAM
    alone, one, two = both(given, kyvsim, monkeypatch, policies, STREAM + namespace)
    assert alone == one == two
    assert ("team / team" in alone[1]) is bool(namespace)
    assert parted == [True, True]


@pytest.mark.parametrize("hidden", ['"Name\\x73pace"', "!!str Namespace", "NamespaceList"])
def test_a_namespace_that_is_not_seen_beforehand(given, kyvsim, parted, monkeypatch, hidden):
    namespace = NAMESPACE.replace("kind: Namespace", f"kind: {hidden}")
    if hidden.endswith("List"):
        namespace = (
            "---\napiVersion: v1\nkind: NamespaceList\nitems:\n"
            "- metadata: {name: a, labels: {team: a}}\n"
        )
    policies = POLICY + "---" + TEAM
    alone, one, two = both(given, kyvsim, monkeypatch, policies, STREAM + namespace)
    assert alone == one == two
    assert "team / team" in alone[1]
    assert parted == [False, False]


def listed(how):
    whole = {
        "apiVersion": "v1",
        "items": [yaml.safe_load(pod) for pod in pods(60)],
        "kind": "List",
        "metadata": {"resourceVersion": ""},
    }
    return json.dumps(whole, indent=4) + "\n" if how == "json" else yaml.safe_dump(whole)


@pytest.mark.parametrize("how", ["json", "yaml"])
@pytest.mark.parametrize(
    "options", [("--detailed-results",), ("--output-format", "json")], ids=["text", "json"]
)
def test_lists_are_cut_at_their_items(given, kyvsim, parted, monkeypatch, how, options):
    alone, one, two = both(given, kyvsim, monkeypatch, POLICY, listed(how), *options)
    assert alone == one == two
    assert parted == [True, True]


def test_an_item_that_is_none_takes_the_list_as_a_whole(given, kyvsim, parted, monkeypatch):
    text = listed("yaml").replace("kind: Pod", "kind: [", 1)
    alone, one, two = both(given, kyvsim, monkeypatch, POLICY, text)
    assert alone == one == two
    assert alone[0] == 2
    assert parted == [False, False]


def test_no_rule_that_matches_is_told_of_blocks_too(given, kyvsim, parted, monkeypatch):
    text = STREAM.replace("kind: Pod", "kind: Service")
    alone, one, two = both(given, kyvsim, monkeypatch, POLICY, text)
    assert alone == one == two
    assert "any of the 60 resources" in alone[2]
    assert parted == [True, True]


def test_a_file_that_changes_meanwhile_is_read_anew(given, kyvsim, parted, monkeypatch):
    cut_small(monkeypatch)
    command = given(POLICY, STREAM)
    file = Path(command[-1])
    real = apply_streamed.shared_among

    def changing(*arguments):
        file.write_text(STREAM.replace("p17", "q17"))
        return real(*arguments)

    monkeypatch.setattr(apply_streamed, "shared_among", changing)
    _, out, _ = kyvsim(*command, "-j", "1", "--show", "all")
    assert "q17" in out
    assert parted == [False]


def test_documents_are_forgotten_when_they_are_told(given, kyvsim, monkeypatch):
    """However many there are, those of a block are there at once: work that is counted."""
    cut_small(monkeypatch)
    most = []
    for count in (100, 400):
        alive, blocks = [], []
        real = apply_parts.load_block

        def counted(*arguments, real=real, alive=alive, blocks=blocks):
            blocks.append(1)
            alive.append(sum(one.__class__ is Document for one in gc.get_objects()))
            return real(*arguments)

        monkeypatch.setattr(apply_parts, "load_block", counted)
        command = given(POLICY, "---\n".join(pods(count)))
        gc.collect()
        gc.freeze()  # what was there before is not listed: a long run of tests has millions
        kyvsim(*command, "-j", "1")
        gc.unfreeze()
        monkeypatch.setattr(apply_parts, "load_block", real)
        most.append(max(alive))
        assert len(blocks) > count / 5
    assert most[0] == most[1] < 12


def test_several_files_and_standard_input(tmp_path, given, kyvsim, parted, monkeypatch):
    command = given(POLICY, STREAM)
    other = tmp_path / "other.yaml"
    other.write_text("---\n".join(pods(9)) + "---\nkind: Pod\n")
    command = (*command, "--resource", str(other), "--resource", "-")
    outcomes = []
    for jobs in ("1", "2"):
        stdin = tmp_path / "stdin"
        stdin.write_text(STREAM)
        with stdin.open() as file:
            monkeypatch.setattr(sys, "stdin", file)
            outcomes.append(kyvsim(*command, "-j", jobs))
    assert outcomes[0] == outcomes[1]
    assert "other.yaml" in outcomes[0][2]
    assert len(parted) == 1


@pytest.mark.skipif(os.name != "posix", reason="limits the size of files by a shell")
def test_a_full_disk_loses_nothing(given):
    command = given(POLICY, "---\n".join(pods(900)))
    program = (sys.executable, "-m", "kyvsim", *command, "--show", "all", "-j", "2")
    limited = ("sh", "-c", 'ulimit -f 8; exec "$@"', "sh", *program)
    whole, without_space = (
        subprocess.run(one, capture_output=True, check=False) for one in (program, limited)
    )
    assert whole.returncode == 1
    assert b"note: -j 2 has no effect: a file could not be" in without_space.stderr
    assert (whole.returncode, whole.stdout) == (without_space.returncode, without_space.stdout)


def test_a_lost_process_loses_nothing(given, kyvsim, parted, notes, monkeypatch):
    command = given(POLICY, STREAM)
    alone = kyvsim(*command, "-j", "1")
    own, load = os.getpid(), apply_parts.load_block

    def dying(block, kinds):
        if os.getpid() != own and block.span.line > 100:
            os.kill(os.getpid(), signal.SIGKILL)
        return load(block, kinds)

    monkeypatch.setattr(apply_parts, "load_block", dying)
    assert kyvsim(*command, "-j", "2") == alone
    assert parted == []
    assert notes == [[], ["note: -j 2 has no effect: a process was lost\n"]]


def test_a_process_that_is_lost_before_all_is_handed_out(given, kyvsim, parted, monkeypatch):
    command = given(POLICY, STREAM)
    alone = kyvsim(*command, "-j", "1")
    real = ProcessPool.submit

    def submit(self, task, number):
        if number == 3:
            raise ProcessLostError
        return real(self, task, number)

    monkeypatch.setattr(ProcessPool, "submit", submit)
    assert kyvsim(*command, "-j", "2") == alone
    assert parted == []


def test_processes_killed_at_any_moment_lose_nothing(given, kyvsim):
    command = given(POLICY, "---\n".join(pods(1500)))
    alone = kyvsim(*command, "-j", "1")
    chance = random.Random(13)
    for _ in range(10):
        over = threading.Event()

        def kill(over=over):
            for child in _children(over):
                time.sleep(chance.random() / 5)
                with contextlib.suppress(ProcessLookupError):  # it may have ended by then
                    os.kill(child.pid, signal.SIGKILL)
                return

        killer = threading.Thread(target=kill)
        killer.start()
        assert kyvsim(*command, "-j", "2") == alone
        over.set()
        killer.join()


def _children(over):
    while not over.is_set():
        yield from multiprocessing.active_children()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="asks the kernel for children")
def test_no_process_is_left_over(given, number):
    command = given(POLICY, "---\n".join(pods(20_000)))
    program = (sys.executable, "-m", "kyvsim", *command, "-j", "2")
    with subprocess.Popen(
        program, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    ) as process:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        while len(found := children.read_text().split()) < 2:
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(number)
        assert process.wait() != 0
    while any(Path(f"/proc/{one}").exists() and not _is_dead(one) for one in found):
        time.sleep(0.05)


def _is_dead(process):
    """Return whether only the name of a process is left, which its new parent may never ask for."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_a_question_for_others_counts_where_no_response_follows():
    cluster = view_of_part()
    cluster.list("v1", "Pod", "")
    with pytest.raises(apply_parts.NeedsMoreObjects) as asked:
        list(apply_parts.without_lookups(iter(()), cluster))
    assert asked.value.kinds == {"Pod"}


GENERATES = """
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: makes}
spec:
  rules:
  - name: quota
    match: {any: [{resources: {kinds: [%s]}}]}
    generate:
      apiVersion: v1
      kind: ConfigMap
      name: "made-{{ request.object.metadata.name }}"
      namespace: a
      data: {data: {a: b}}
"""


@pytest.mark.parametrize("kind", ["Secret", "Pod"])
def test_processes_share_runs_that_generate_objects(given, kyvsim, parted, notes, kind):
    policies = "---".join((POLICY, GENERATES % kind))
    command = given(policies, STREAM)
    alone, two = (kyvsim(*command, "-j", jobs) for jobs in ("1", "2"))
    assert alone == two
    assert parted == [True]
    assert notes == [[], []]


STEPS = """
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: steps}
spec:
  rules:
  - name: steps
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate:
      message: "no"
      deny:
        conditions:
          all:
          - key: "{{ length(to_string([request.object, request.object, request.object])) }}"
            operator: GreaterThan
            value: 1
"""
WHOLE = [
    (POLICY, ("--namespace-labels", "a:b=c"), "--namespace-labels may need all resources"),
    (POLICY, ("--skip-others",), "--skip-others may need all resources"),
]


LOOKS_UP_BESIDE = """
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: looking}
spec:
  rules:
  - name: plain
    match: {any: [{resources: {kinds: [Pod, ConfigMap]}}]}
    validate: {message: m, pattern: {metadata: {name: "?*"}}}
  - name: beside
    match: {any: [{resources: {kinds: [Pod, ConfigMap]}}]}
    context: [{name: found, %s}]
    validate:
      message: m
      deny: {conditions: {all: [{key: "{{ %s }}", operator: Equals, value: x}]}}
"""


MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m%d, namespace: a}\ndata: {a: b}\n"


@pytest.mark.parametrize(
    ("context", "key"),
    [
        ("apiCall: {urlPath: /api/v1/configmaps, jmesPath: length(items)}", "found"),
        ("configMap: {name: 'm{{ request.object.metadata.name }}', namespace: a}", "found.data"),
    ],
)
def test_a_note_names_the_rule_that_looks_up_other_objects(
    given, kyvsim, notes, parted, monkeypatch, context, key
):
    policies = "---".join((POLICY, LOOKS_UP_BESIDE % (context, key)))
    many = "---\n".join(MAP % number for number in range(90))
    alone, one, two = both(given, kyvsim, monkeypatch, policies, many)
    assert alone == one == two
    assert parted == [False, True]
    why = "rule `looking/beside` looks up many of the resources: objects of kind ConfigMap"
    assert notes == [[], [f"note: all resources are read before evaluation: {why}\n"], []]


def test_namespaces_in_all_blocks_are_read_without_the_text_around_them(
    given, kyvsim, parted, monkeypatch
):
    kept = []
    real = apply_streamed.shared_among
    monkeypatch.setattr(
        apply_streamed, "shared_among", lambda *some: (kept.append(real(*some)), kept[-1])[1]
    )
    spaces = (NAMESPACE.replace("{name: a,", f"{{name: n{number},") for number in range(59))
    each = zip((*spaces, NAMESPACE), pods(60), strict=True)
    resources = "".join(f"{space}---\n{one}" for space, one in each)
    alone, one, two = both(given, kyvsim, monkeypatch, TEAM, resources)
    assert alone == one == two
    assert "60 of 60 results failed" in alone[1]
    assert parted == [True, True]
    assert len(kept[0]) == 60
    assert not any(document.line(number) for document in kept[0] for number in range(10))


@pytest.mark.parametrize(("policies", "options", "why"), WHOLE, ids=[one[2] for one in WHOLE])
def test_a_note_says_why_processes_cannot_share_blocks(
    given, kyvsim, notes, policies, options, why
):
    command = (*given(policies, STREAM), *options)
    alone, two = (kyvsim(*command, "-j", jobs) for jobs in ("1", "2"))
    assert alone == two
    assert notes == [[], [f"note: all resources are read before evaluation: {why}\n"]]


def test_a_note_says_why_one_process_does_all(given, kyvsim, notes):
    command = (*given(STEPS, STREAM), "--budget", "run=2000")
    alone, two = (kyvsim(*command, "-j", jobs) for jobs in ("1", "2"))
    assert alone == two
    why = "--budget run=N counts the steps of all resources"
    assert notes == [[], [f"note: -j 2 has no effect: {why}\n"]]


@pytest.fixture
def processes(monkeypatch):
    """The numbers of the processes that shared the resources of each run."""
    found = []
    real = apply_blocks.run_in_processes

    def watched(application, jobs, documents, watch):
        run = real(application, jobs, documents, watch)
        found.append(jobs)
        return run

    monkeypatch.setattr(apply_blocks, "run_in_processes", watched)
    return found


@pytest.mark.parametrize("options", [*FORMATS, ("--namespace-labels", "a:b=c")], ids=" ".join)
@pytest.mark.parametrize("policies", [POLICY + "---" + READS, MUTATES, MAKES, TEAM], ids=range(4))
@pytest.mark.usefixtures("in_memory")
def test_resources_in_memory_are_shared(given, kyvsim, processes, notes, policies, options):
    command = (*given(policies, STREAM + NAMESPACE), *options)
    alone, two, three = (kyvsim(*command, "-j", jobs) for jobs in ("1", "2", "3"))
    assert alone == two == three
    assert alone[1]
    assert processes == [2, 3]
    assert notes == [[], [], []]


@pytest.mark.usefixtures("in_memory")
def test_many_rules_and_resources_are_shared_by_default(given, kyvsim, processes, monkeypatch):
    command = given(POLICY, STREAM)
    alone = kyvsim(*command)
    assert processes == []
    monkeypatch.setattr(apply_command, "_MANY", 60)
    monkeypatch.setattr(apply_blocks, "processors", lambda: 2)
    assert kyvsim(*command) == alone
    assert kyvsim(*command, "-j", "1") == alone
    assert processes == [2]


@pytest.mark.usefixtures("in_memory")
def test_a_process_that_is_lost_with_resources_in_memory_loses_nothing(
    given, kyvsim, processes, notes, monkeypatch
):
    command = given(POLICY, STREAM)
    alone = kyvsim(*command, "-j", "1")
    own, real = os.getpid(), apply_processes.responses_of

    def dying(*arguments):
        if os.getpid() != own:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*arguments)

    monkeypatch.setattr(apply_processes, "responses_of", dying)
    assert kyvsim(*command, "-j", "2") == alone
    assert processes == []
    assert notes == [[], ["note: -j 2 has no effect: a process was lost\n"]]
