"""Runs that are spread: what they show, and what becomes of them when something goes wrong."""

import bz2
import gzip
import json
import lzma
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from spread_inputs import NAMESPACE, ODD_STREAMS, POLICY, READS, STREAM, TEAM, pods, stream

from kyvsim.fleet import run, work

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("older_release")]

HERE = ("--engine", "processes", "-j", "1", "--piece-size", "1k")
FORMATS = (
    (),
    ("--show", "objects"),
    ("--detailed-results",),
    ("--show", "objects", "--detailed-results"),
    ("--output-format", "json"),
    ("--audit-warn", "--strict"),
)


@pytest.mark.parametrize("options", FORMATS, ids=" ".join)
def test_formats_are_those_of_one_process(given, kyvsim, options):
    command = (*given(POLICY, a=STREAM, b=stream(*pods(9, 60))), *options)
    alone = kyvsim(*command)
    assert alone[0] in {1, 2}
    assert kyvsim(*command, *HERE) == alone


@pytest.mark.parametrize(("least", "status"), [("critical", 0), ("high", 0), ("low", 1)])
@pytest.mark.parametrize("shape", [(), ("--output-format", "json")], ids=["text", "json"])
def test_failures_below_a_severity_do_not_count(given, kyvsim, tmp_path, least, status, shape):
    mild = POLICY.replace(
        "metadata: {name: ", "metadata: {annotations: {policies.kyverno.io/severity: low}, name: "
    )
    assert mild != POLICY
    command = (*given(mild, a=stream(*pods(9, 60))), "--fail-on", least, *shape)
    alone = kyvsim(*command)
    assert alone[0] == status
    assert kyvsim(*command, *HERE) == alone
    kyvsim(*command, *HERE, "--partials", tmp_path / "p")
    assert kyvsim("report", "merge", "--fail-on", least, *shape, tmp_path / "p") == alone
    assert kyvsim("report", "summary", "--fail-on", least, tmp_path / "p")[0] == status
    assert kyvsim("report", "summary", tmp_path / "p")[0] == 1


DEPLOYMENT = (
    "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d, namespace: a}\n"
    "spec:\n  selector: {matchLabels: {a: b}}\n  template:\n    metadata: {labels: {a: b}}\n"
    "    spec: {containers: [{name: c, image: 'a:latest'}]}\n"
)


def test_deprecated_kinds_are_reported_like_those_of_one_process(given, kyvsim, monkeypatch):
    monkeypatch.setenv("KYVSIM_KYVERNO", "1.19.1")
    command = given(POLICY, a=stream(*pods(9)))
    alone = kyvsim(*command)
    assert "ClusterPolicy is deprecated" in alone[2]
    assert kyvsim(*command, *HERE) == alone


def test_derived_rules_count_with_the_written_one(given, kyvsim):
    policies = POLICY.replace("object.metadata.name != 'p7'", "false")
    command = given(policies, a=stream(*pods(9), DEPLOYMENT, DEPLOYMENT))
    status, out, err = alone = kyvsim(*command)
    assert (status, err) == (1, "")
    assert "all 2 rules that applied" in out
    assert kyvsim(*command, *HERE) == alone


OWNERLESS = pods(1)[0].replace("  namespace: a\n", "  namespace: a\n  labels: {a: 1}\n")


@pytest.mark.parametrize("options", [(), ("--output-format", "json"), ("--strict",)], ids=" ".join)
def test_objects_that_an_api_server_refuses_are_counted_over_all_pieces(
    given, kyvsim, tmp_path, options
):
    more = stream(*pods(30), OWNERLESS)
    command = (
        *given(POLICY, a=stream(*pods(40), OWNERLESS, *pods(9), OWNERLESS), b=more),
        *options,
    )
    alone = kyvsim(*command)
    assert alone[0] == (2 if options == ("--strict",) else 1)
    assert "KV233" in alone[2]
    assert "(3 times)" in alone[2]
    assert kyvsim(*command, *HERE) == alone
    for name in ("a", "b"):
        some = (*command[:2], "-r", f"{name}.yaml", *HERE, "--partials", tmp_path / name)
        assert kyvsim(*some)[0] in {0, 1}
    merged = kyvsim("report", "merge", *options, tmp_path / "a", tmp_path / "b")
    assert (merged[0], merged[2]) == (alone[0], alone[2])


@pytest.mark.parametrize("name", ODD_STREAMS)
@pytest.mark.parametrize("options", [(), ("--output-format", "json")], ids=["text", "json"])
def test_odd_input_is_told_the_same_way(given, kyvsim, name, options):
    command = (*given(POLICY, a=ODD_STREAMS[name]), *options)
    assert without_reason(kyvsim(*command, *HERE)) == without_reason(kyvsim(*command))


def without_reason(outcome):
    """Leave out KV070, whose reason is that of an object that only `apply` explains."""
    status, *outputs = outcome
    return status, *([one for one in text.split("\n") if "KV070" not in one] for text in outputs)


def test_what_is_no_text_is_no_input_at_all(given, kyvsim, tmp_path):
    command = given(POLICY, a=STREAM, b=stream(*pods(3)))
    data = (tmp_path / "a.yaml").read_bytes()
    (tmp_path / "a.yaml").write_bytes(data.replace(b"p50", b"p\xff0"))
    alone = kyvsim(*command)
    assert alone[0] == 2
    assert "KV005" in alone[2]
    spread = kyvsim(*command, *HERE)
    assert spread[:2] == alone[:2]
    assert spread[2] == alone[2]


@pytest.mark.parametrize("policies", [READS, TEAM])
@pytest.mark.parametrize("options", [(), ("--output-format", "json")], ids=["text", "json"])
def test_rules_see_all_objects_of_a_file(given, kyvsim, policies, options):
    command = (*given(f"{POLICY}---{policies}", a=stream(STREAM, NAMESPACE)), *options)
    alone = kyvsim(*command)
    assert "few" in alone[1] or "team" in alone[1]
    assert kyvsim(*command, *HERE) == alone


def test_files_of_a_cluster_are_seen_together(given, kyvsim):
    command = given(f"{POLICY}---{READS}", a=stream(*pods(2)), b=stream(*pods(30, 2)))
    alone = kyvsim(*command)
    assert kyvsim(*command, *HERE, "--cluster-per", "all") == alone
    assert kyvsim(*command, *HERE, "--cluster-per", "folder") == alone
    _, out, err = kyvsim(*command, *HERE)
    assert "KV083" in err
    assert "there are 29" in out
    assert "there are 31" not in out
    assert "there are 31" in alone[1]
    _, said, err = kyvsim(*command, *HERE, "--cluster-per", "file")
    assert err == ""
    assert said.partition("\nFAILED")[0] == out.partition("\nFAILED")[0]


def test_two_processes_tell_the_same(given, kyvsim):
    command = given(f"{POLICY}---{TEAM}", a=STREAM, b=stream(NAMESPACE, *pods(200)))
    spread = ("--engine", "processes", "-j", "2", "--piece-size", "2k", "--cluster-per", "all")
    assert kyvsim(*command, *spread) == kyvsim(*command)


PACKINGS = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


@pytest.mark.parametrize("suffix", PACKINGS)
def test_packed_files_are_read(given, kyvsim, tmp_path, suffix):
    alone = kyvsim(*given(POLICY, a=STREAM), "--show", "objects")
    packed = tmp_path / f"a.yaml{suffix}"
    packed.write_bytes(PACKINGS[suffix](STREAM.encode()))
    spread = kyvsim("apply", "policies.yaml", "-r", packed.name, *HERE, "--show", "objects")
    assert spread[1].replace(packed.name, "a.yaml") == alone[1]
    packed.write_bytes(PACKINGS[suffix](STREAM.encode())[:-20])
    status, _, err = kyvsim("apply", "policies.yaml", "-r", packed.name, "-r", "a.yaml", *HERE)
    assert status == 2
    assert f"{packed.name}: error KV080: the compressed data is damaged or truncated" in err


def test_zstandard(given, kyvsim, tmp_path):
    zstandard = pytest.importorskip("zstandard", reason="files in zstd need zstandard")
    alone = kyvsim(*given(POLICY, a=STREAM), "--show", "objects")
    packed = tmp_path / "a.yaml.zst"
    half = len(STREAM) // 2
    parts = (STREAM[:half].encode(), STREAM[half:].encode())
    packed.write_bytes(b"".join(map(zstandard.compress, parts)))
    spread = kyvsim("apply", "policies.yaml", "-r", packed.name, *HERE, "--show", "objects")
    assert spread[1].replace(packed.name, "a.yaml") == alone[1]
    packed.write_bytes(packed.read_bytes()[:-9])
    status, _, err = kyvsim("apply", "policies.yaml", "-r", packed.name, *HERE)
    assert status == 2
    assert "ends before the end of a frame" in err


def test_folders_and_patterns(given, kyvsim, tmp_path):
    given(POLICY)
    (tmp_path / "dumps/east").mkdir(parents=True)
    (tmp_path / "dumps/west").mkdir()
    (tmp_path / "dumps/east/a.yaml").write_text(stream(*pods(5)))
    (tmp_path / "dumps/west/b.json.gz").write_bytes(
        gzip.compress(b'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p7"},"spec":{}}')
    )
    (tmp_path / "dumps/west/notes.txt").write_text("no dump")
    (tmp_path / "dumps/.hidden.yaml").write_text("a: [")
    by_folder = kyvsim("apply", "policies.yaml", "-r", "dumps", *HERE)
    assert by_folder[0] == 1
    assert "dumps/west/b.json.gz:1:1" in by_folder[1]
    assert "6 resources" in by_folder[1]
    assert kyvsim("apply", "policies.yaml", "-r", "dumps/*/*.[yj]*", *HERE) == by_folder


WRONG = {
    "a scheme": (("-r", "nonsense://a/b.yaml"), "nonsense://a/b.yaml: protocol not known"),
    "no file": (("-r", "a.yml"), "a.yml: no such file or folder: did you mean `a.yaml`?"),
    "an empty pattern": (("-r", "dump*.yaml"), "dump*.yaml: no file matches the pattern"),
    "an empty folder": (("-r", "empty"), "no YAML or JSON file in this folder, compressed or not"),
    "no scheduler": (("-r", "a.yaml", "--engine", "dask"), "--engine dask needs --scheduler"),
    "no engine": (("-r", "a.yaml", "--scheduler", "tcp://a:1"), "--scheduler requires"),
    "a table": (("-r", "a.yaml", "--table"), "--table cannot be combined with --engine"),
    "all": (("-r", "a.yaml", "--show", "all"), "partial reports group identical results"),
    "a format": (("-r", "a.yaml", "--output-format", "csv"), "--output-format csv cannot be"),
    "a file": (("-r", "a.yaml", "--output-format", "json=x.json"), "json=FILE cannot be combined"),
    "standard input": (("-r", "-"), "standard input cannot be distributed"),
    "a size": (("-r", "a.yaml", "--piece-size", "much"), "not a size such as 8MB"),
    "resume": (("-r", "a.yaml", "--resume"), "--resume requires --partials"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_is_said_in_one_line(given, kyvsim, tmp_path, name):
    given(POLICY, a=STREAM)
    (tmp_path / "empty").mkdir()
    options, text = WRONG[name]
    status, out, err = kyvsim("apply", "policies.yaml", "--engine", "processes", *options)
    assert (status, out) == (2, "")
    assert text in err
    assert len([one for one in err.splitlines() if one.startswith("error: ")]) == 1


def test_options_of_a_fleet_alone_are_refused(given, kyvsim):
    status, _, err = kyvsim(*given(POLICY, a=STREAM), "--cluster-per", "all")
    assert status == 2
    assert "--cluster-per applies to distributed runs only" in err


def test_a_refused_values_file_ends_the_run(given, kyvsim, tmp_path):
    command = given(POLICY, a=STREAM)
    (tmp_path / "values.yaml").write_text("a: 1\n")
    status, out, err = kyvsim(*command, *HERE, "-f", "values.yaml", "--partials", "out")
    assert (status, out) == (2, "")
    assert "a file that all results depend on was rejected" in err
    assert not (tmp_path / "out/run.json").exists()


def test_values_and_exceptions_reach_the_workers(given, kyvsim, tmp_path):
    command = given(POLICY, a=STREAM)
    (tmp_path / "exception.yaml").write_text(
        "apiVersion: kyverno.io/v2\nkind: PolicyException\nmetadata: {name: one, namespace: a}\n"
        "spec:\n  exceptions: [{policyName: small-names, ruleNames: [no-latest]}]\n"
        "  match: {any: [{resources: {kinds: [Pod], names: [p1]}}]}\n"
    )
    command = (*command, "-e", "exception.yaml")
    alone = kyvsim(*command)
    assert "with 1 exception" in alone[1]
    assert "/p1 " not in alone[1]
    assert kyvsim(*command, *HERE) == alone


def test_what_is_supposed_of_requests_travels(given, kyvsim):
    command = (*given(TEAM, a=STREAM), "--namespace-labels", "a:team=a", "--as", "jane")
    alone = kyvsim(*command)
    assert alone[0] == 1
    assert kyvsim(*command, *HERE) == alone


# Partial reports


def test_partial_reports_make_up_the_run(given, kyvsim):
    files = given(POLICY, a=ODD_STREAMS["malformed"], b=STREAM)
    command = (*files, "--detailed-results")
    alone = kyvsim(*command)
    status, out, err = kyvsim(*command, *HERE, "--partials", "out")
    assert (status, err.splitlines()) == (alone[0], alone[2].splitlines()[:1])
    assert out.splitlines()[0].split() == ["CLUSTER", "PASS", "FAIL", "WARN", "ERROR", "SKIP"]
    assert kyvsim("report", "merge", "out", "--detailed-results") == alone
    whole = kyvsim(*command, "--show", "objects")
    assert kyvsim("report", "merge", "out", "--detailed-results", "--show", "objects") == whole
    as_json = kyvsim(*files, "--output-format", "json")
    assert kyvsim("report", "merge", "out", "--output-format", "json") == as_json
    assert kyvsim("report", "summary", "out")[1] == out


def test_runs_of_several_folders_are_merged_in_any_order(given, kyvsim):
    alone = kyvsim(*given(POLICY, a=STREAM, b=stream(*pods(20, 60))))
    kyvsim("apply", "policies.yaml", "-r", "b.yaml", *HERE, "--partials", "one")
    kyvsim("apply", "policies.yaml", "-r", "a.yaml", *HERE, "--partials", "two")
    kyvsim("apply", "policies.yaml", "-r", "a.yaml", "-r", "b.yaml", *HERE, "--partials", "three")
    for folders in (("one", "two"), ("two", "one"), ("one", "two", "three"), ("three", "one")):
        assert kyvsim("report", "merge", *folders) == alone


def test_counts_by_all_that_results_have(given, kyvsim):
    kyvsim(*given(POLICY, a=STREAM, b=stream(*pods(20, 60))), *HERE, "--partials", "out")
    by = "cluster,namespace,policy,rule"
    _, out, _ = kyvsim("report", "summary", "out", "--by", by, "--output-format", "json")
    told = json.loads(out)
    row = next(
        one for one in told["counts"] if (one["cluster"], one["rule"]) == ("a.yaml", "no-latest")
    )
    assert row == {
        "cluster": "a.yaml",
        "namespace": "a",
        "policy": "small-names",
        "rule": "no-latest",
        "pass": 20,
        "fail": 40,
        "warn": 0,
        "error": 0,
        "skip": 0,
    }
    assert told["summary"] == {"pass": 106, "fail": 54, "warn": 0, "error": 0, "skip": 0}
    status, _, err = kyvsim("report", "summary", "out", "--by", "colour")
    assert status == 2
    assert "choose from cluster, namespace, policy, rule" in err


def test_rows_that_were_not_kept_are_not_shown_as_if_there_were_none(given, kyvsim):
    kyvsim(*given(POLICY, a=STREAM), *HERE, "--partials", "out")
    status, out, err = kyvsim("report", "merge", "out", "--detailed-results")
    assert (status, out) == (2, "")
    assert "contain no passed and skipped rules" in err


@pytest.fixture
def evaluated(monkeypatch):
    """The pieces that are evaluated, by file and first byte."""
    found = []

    def watched(assignment, item):
        found.append((item.files[0].name, item.first))
        return work.evaluate(assignment, item)

    monkeypatch.setattr(run, "evaluate", watched)
    return found


def test_what_is_there_is_not_evaluated_again(given, kyvsim, tmp_path, evaluated):
    command = (*given(POLICY, a=STREAM, b=stream(*pods(9))), *HERE, "--partials", "out")
    whole = kyvsim(*command)
    pieces = [*evaluated]
    assert len(pieces) > 5
    evaluated.clear()
    assert kyvsim(*command, "--resume") == whole
    assert evaluated == []
    files = sorted((tmp_path / "out").glob("*.jsonl"))
    files[0].unlink()
    files[1].write_bytes(files[1].read_bytes()[:-30])
    files[2].write_bytes(files[2].read_bytes().replace(b'"resources": ', b'"resources": 1'))
    (tmp_path / "out/left-behind.jsonl.1234.tmp").write_text("half")
    assert kyvsim(*command, "--resume") == whole
    assert len(evaluated) == 3
    assert kyvsim("report", "summary", "out") == whole


def test_a_changed_file_is_evaluated_again(given, kyvsim, tmp_path, evaluated):
    command = (*given(POLICY, a=STREAM, b=stream(*pods(9))), *HERE, "--partials", "out")
    kyvsim(*command)
    evaluated.clear()
    (tmp_path / "b.yaml").write_text(stream(*pods(9, 7)))
    _, out, _ = kyvsim(*command, "--resume")
    assert {name for name, _ in evaluated} == {"b.yaml"}
    assert "69 resources" in out


def test_reports_of_other_policies_are_not_gone_on_with(given, kyvsim, tmp_path):
    command = (*given(POLICY, a=STREAM), *HERE, "--partials", "out")
    kyvsim(*command)
    before = {path: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    (tmp_path / "policies.yaml").write_text(TEAM)
    status, out, err = kyvsim(*command, "--resume")
    assert (status, out) == (2, "")
    assert "a partial report of different policies, options or versions" in err
    status, out, err = kyvsim(*command)
    assert (status, out) == (2, "")
    assert "--resume continues them" in err
    assert {path: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before
    kyvsim(*command, "--partials", "other")
    status, out, err = kyvsim("report", "merge", "out", "other")
    assert (status, out) == (2, "")
    assert "different policies" in err


def test_an_unfinished_run_is_told_as_such(given, kyvsim, tmp_path):
    kyvsim(*given(POLICY, a=STREAM), *HERE, "--partials", "out")
    sorted((tmp_path / "out").glob("*.jsonl"))[1].unlink()
    status, out, err = kyvsim("report", "merge", "out")
    assert status == 2
    assert "a.yaml: error KV082: no report on its bytes 1024 to 2048" in err
    assert "INCOMPLETE" in out
    (tmp_path / "out/end.json").unlink()
    assert "the run was not finished" in kyvsim("report", "summary", "out")[2]
    status, _, err = kyvsim("report", "merge", "nowhere")
    assert status == 2
    assert "nowhere: no partial reports found" in err


def test_two_runs_do_not_write_to_one_folder(given, kyvsim, tmp_path):
    fcntl = pytest.importorskip("fcntl", reason="locks of files need fcntl")
    command = (*given(POLICY, a=STREAM), *HERE, "--partials", "out")
    (tmp_path / "out").mkdir()
    with (tmp_path / "out/.lock").open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        status, out, err = kyvsim(*command)
    assert (status, out) == (2, "")
    assert "out: another run is writing its partial reports there" in err
    assert kyvsim(*command)[0] == 1


# What goes wrong on the way


def test_an_item_that_cannot_be_evaluated_is_told_and_the_rest_goes_on(given, kyvsim, monkeypatch):
    command = given(POLICY, a=STREAM, b=stream(*pods(9)))

    def failing(assignment, item):
        if item.files[0].name == "a.yaml" and item.first == 2048:
            raise MemoryError("no room")
        return work.evaluate(assignment, item)

    monkeypatch.setattr(run, "evaluate", failing)
    status, out, err = kyvsim(*command, *HERE, "--partials", "out")
    assert status == 2
    text = "bytes 2048 to 3072: it cannot be evaluated: MemoryError: no room"
    assert f"a.yaml: error KV081: {text}" in err
    assert "b.yaml" in out
    monkeypatch.setattr(run, "evaluate", work.evaluate)
    assert kyvsim(*command, *HERE, "--partials", "out", "--resume")[0] == 1
    assert kyvsim("report", "merge", "out") == kyvsim(*command)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="processes are killed by signal")
def test_a_piece_that_kills_its_process_is_told_and_the_rest_goes_on(given, kyvsim, tmp_path):
    command = given(POLICY, a=stream(*pods(40)), b=stream(*pods(9)))
    (tmp_path / "poisoned.py").write_text(
        "import os, signal\n"
        "from kyvsim.fleet import files, work\n"
        "read = files.read_piece\n"
        "def read_piece(file, first, last):\n"
        "    data = read(file, first, last)\n"
        "    if b'name: p21\\n' in data:\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return data\n"
        "work.read_piece = read_piece\n"
    )
    (tmp_path / "main.py").write_text(
        "import poisoned\n"
        "from kyvsim.cli.main import main\n"
        "if __name__ == '__main__':\n"
        "    main()\n"
    )
    spread = ("--engine", "processes", "-j", "2", "--piece-size", "1k", "--partials", "out")
    done = subprocess.run(
        [sys.executable, "main.py", *command, *spread],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert done.returncode == 2, done.stderr
    assert "every process that works on it ends" in done.stderr
    assert done.stderr.count("KV081") == 1
    status, _, err = kyvsim(*command, *spread, "--resume")
    assert status == 1, err
    assert kyvsim("report", "merge", "out") == kyvsim(*command)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="asks the kernel for children")
def test_a_killed_run_leaves_nothing_half_written_and_can_be_resumed(given, kyvsim, tmp_path):
    command = (*given(POLICY, a=stream(*pods(4000))), "--engine", "processes", "--partials", "out")
    command = (*command, "-j", "2", "--piece-size", "2k")
    with subprocess.Popen(
        [sys.executable, "-m", "kyvsim", *command],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        while not [*(tmp_path / "out").glob("*.jsonl")]:
            assert process.poll() is None
            time.sleep(0.01)
        found = children.read_text().split()
        process.kill()
        process.wait()
    assert kyvsim("report", "merge", "out")[0] == 2
    assert kyvsim(*command, "--resume")[0] == 1
    assert kyvsim("report", "merge", "out") == kyvsim(*given(POLICY, a=stream(*pods(4000))))
    end = time.monotonic() + 30
    while any(_is_running(one) for one in found):
        assert time.monotonic() < end
        time.sleep(0.05)


def _is_running(process):
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_urls(given, kyvsim):
    fsspec = pytest.importorskip("fsspec", reason="URLs need fsspec")
    command = given(POLICY, a=STREAM)
    memory = fsspec.filesystem("memory")
    memory.pipe("/dumps/east/pods.yaml", STREAM.encode())
    memory.pipe("/dumps/west/pods.yaml.gz", gzip.compress(stream(*pods(9)).encode()))
    spread = ("-r", "memory://dumps/**/pods.*", *HERE, "--partials", "memory://out")
    try:
        status, out, err = kyvsim("apply", "policies.yaml", *spread)
        assert (status, err) == (1, "")
        assert "memory:///dumps/west/pods.yaml.gz" in out
        assert "69 resources" in out
        assert kyvsim("apply", "policies.yaml", *spread)[0] == 2
        assert kyvsim("apply", "policies.yaml", *spread, "--resume")[1] == out
        merged = kyvsim("report", "merge", "memory://out")[1]
        assert "memory:///dumps/east/pods.yaml:11:1" in merged
    finally:
        memory.rm("/", recursive=True)
    assert command
