import io
import json
import sys

import pytest
import yaml

from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.result import RuleStatus
from kyvsim.model.source import Location

BASIC = ("apply", "p.yaml", "-r", "r.yaml")
ERROR = Diagnostic(
    "KV001", Severity.ERROR, "unknown field `matsch`\x1b[0m", Location("p.yaml", 3, 5)
)
WARNING = Diagnostic("KV002", Severity.WARNING, "empty file", Location("r.yaml"))
SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}


def test_lists_split_at_commas_and_repeat(engine, calls, kyvsim):
    del engine
    status, _, _ = kyvsim(
        "apply", "p.yaml", "q", "-r", "a,b", "--resource", "c", "--resources=d", "-e", "x,y",
        "--target-resource", "t", "--target-resources=u", "-s", "a=1,b=2", "--crd-path", "k",
    )  # fmt: skip
    assert status == 0
    ((inputs, stdin),) = calls
    assert inputs.policies == ("p.yaml", "q")
    assert inputs.resources == ("a", "b", "c", "d")
    assert inputs.exceptions == ("x", "y")
    assert inputs.targets == ("t", "u")
    assert inputs.set_values == ("a=1", "b=2")
    assert inputs.crd_paths == ("k",)
    assert inputs.model == "kyverno-1.19"
    assert stdin is None


def test_go_spellings_are_taken(engine, calls, kyvsim):
    del engine
    status, out, _ = kyvsim("apply", "p", "-r=a", "-t=false", "--table=true", "--audit-warn=false")
    assert status == 0
    assert calls[0][0].resources == ("a",)
    assert out.startswith("ID")


def test_standard_input_is_read_when_a_path_is_a_dash(engine, calls, kyvsim, monkeypatch):
    del engine
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"kind: Pod")))
    assert kyvsim("apply", "p", "-r", "-")[0] == 0
    assert calls[0][1] == b"kind: Pod"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["apply", "p", "-r", "r", "-f", "v", "-s", "a=1"], "either --set or --values-file"),
        (["apply", "-r", "r"], "no policy given"),
        (["apply", "p", "-r", "-", "-e", "-"], "only one of --resource and --exception"),
        (["apply", "p", "-r", "r", "--crd-path", "-", "-f", "-"], "can hold only one of"),
        (["apply", "p", "-r", "r", "-o", "json"], "chosen with --output-format"),
        (["apply", "p", "-r", "r", "--exclude", "!"], "--exclude !: "),
        (["apply", "-", "-r", "-"], "only one of the policies and --resource"),
        (["apply", "p"], "no resource given"),
        (["apply", "p", "-r", "r", "-s", "a"], "--set a: not of the form name=value"),
        (["apply", "p", "-r", "r", "--warn-exit-code", "x"], "not a valid integer"),
        (["apply", "p", "--cluster"], "kyvsim works offline: --cluster"),
        (["apply", "p", "-c"], "kyvsim works offline: --cluster"),
        (["apply", "p", "-n", "default"], "kyvsim works offline: --namespace"),
        (["apply", "p", "-r", "r", "--registry"], "kyvsim works offline: --registry"),
        (["apply", "https://github.com/x/y", "-r", "r"], "kyvsim works offline: download https"),
        (
            ["apply", "p", "-r", "r", "--json", "x"],
            "either resources or payloads (--json), not both",
        ),
        (["apply", "p", "-r", "r", "--generated-exception-ttl", "x"], "x: not a time such as"),
        (
            ["apply", "p", "-r", "r", "--generate-exceptions", "--output-format", "csv"],
            "--generate-exceptions supports yaml, json; not csv",
        ),
        (["apply", "p", "-r", "r", "--continue-on-fail"], "always continues after an error"),
        (["apply", "p", "-r", "r", "-v", "4"], "-v: kyvsim writes no log"),
        (["apply", "p", "-r", "r", "--warn-no-pass"], "without --warn-exit-code N: add it"),
        (["apply", "p", "-r", "r", "-t", "-p"], "--policy-report and --table cannot be combined:"),
        (["apply", "p", "-r", "r", "-t", "-i"], "--table and --stdin cannot be combined"),
        (
            ["apply", "p", "-r", "r", "-t", "--output-format", "json"],
            "--output-format json cannot be combined",
        ),
        (
            ["apply", "p", "-r", "r", "-i", "--output-format", "yaml"],
            "--output-format yaml cannot be combined",
        ),
        (["apply", "p", "-r", "r", "--diff", "--output-format", "json"], "--diff applies to"),
        (["apply", "p", "-r", "r", "--diff", "-p"], "and cannot be combined with --policy-report"),
        (["apply", "p", "-r", "r", "--diff", "-i"], "and cannot be combined with --stdin"),
        (["test", "p", "-o", "report.json"], "a path follows the format, as in json=report.json"),
        (
            ["apply", "p", "-r", "r", "--output-format", "json=x", "--output-format", "yaml=./x"],
            "--output-format: json and yaml both go to ./x",
        ),
        (["apply", "p", "-r", "r", "-o", "x", "--output-format", "json=x"], "--output both go to"),
        (
            ["apply", "p", "-r", "r", "--output-format", "json", "--output-format", "text"],
            "not json and text: add =FILE",
        ),
        (["apply", "p", "-r", "r", "-p", "--output-format", "table"], "not table"),
        (["apply", "p", "-r", "r", "--output-format", "jsn"], "choose from text, table, json"),
        (["apply", "p", "-r", "r", "--output-format", "x.json"], "as in json=x.json"),
        (["apply", "p", "-r", "r", "--output-format", "json="], "missing file after ="),
        (["apply", "p", "--resorce", "r"], "(Did you mean one of: '--old-resource', '--resource'"),
        (["aply", "p"], "Did you mean 'apply'?"),
    ],
)
def test_bad_usage_is_explained(engine, kyvsim, arguments, message):
    del engine
    status, out, err = kyvsim(*arguments)
    assert status == 2
    assert out == ""
    assert message in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("status", "options", "expected"),
    [
        (RuleStatus.PASS, (), 0),
        (RuleStatus.SKIP, (), 0),
        (RuleStatus.FAIL, (), 1),
        (RuleStatus.ERROR, (), 1),
        (RuleStatus.WARN, (), 0),
        (RuleStatus.WARN, ("--warn-exit-code", "3"), 3),
        (RuleStatus.FAIL, ("--audit-warn", "--warn-exit-code", "3"), 3),
        (RuleStatus.FAIL, ("--warn-exit-code", "3"), 1),
        (RuleStatus.SKIP, ("--warn-no-pass", "--warn-exit-code", "4"), 4),
        (RuleStatus.PASS, ("--warn-no-pass", "--warn-exit-code", "4"), 0),
    ],
)
def test_exit_status(engine, kyvsim, status, options, expected, respond):
    engine(respond(status))
    assert kyvsim(*BASIC, *options)[0] == expected


def test_unusable_input_wins_and_the_rest_is_reported(engine, kyvsim, respond):
    engine(respond(RuleStatus.FAIL), diagnostics=[WARNING, ERROR])
    status, out, err = kyvsim(*BASIC)
    assert status == 2
    assert out.splitlines()[-2:] == [
        "INCOMPLETE: 1 error in 1 input · 1 of 1 result failed · 1 resource · 1 warning ·",
        "            Kyverno 1.19.1 · exit status 2",
    ]
    assert err.splitlines() == [
        "r.yaml: warning KV002: empty file",
        "p.yaml:3:5: error KV001: unknown field `matsch`\\x1b[0m",
    ]


def test_errors_are_reported_once(engine, kyvsim, respond):
    for number in (1, 20):
        engine(*[respond(RuleStatus.FAIL)] * number, diagnostics=[ERROR])
        _, out, err = kyvsim(*BASIC, "--show", "all")
        assert (out.count("KV001"), err.count("KV001")) == (0, 1)
    engine(*[respond(RuleStatus.FAIL)] * 20, diagnostics=[ERROR])
    _, out, err = kyvsim(*BASIC, "--output-format", "json")
    assert json.loads(out)["ending"]["text"] == err.splitlines()[-1]
    assert err.splitlines()[-1].startswith("INCOMPLETE: 1 error in 1 input · ")
    assert err.count("KV001") == 1


def test_warnings_about_input_do_not_change_the_exit_status(engine, kyvsim, respond):
    engine(respond(RuleStatus.PASS), diagnostics=[WARNING])
    assert kyvsim(*BASIC)[0] == 0


def test_json_is_all_that_standard_output_holds(engine, kyvsim, respond):
    engine(respond(RuleStatus.PASS), diagnostics=[ERROR])
    status, out, _ = kyvsim(*BASIC, "--output-format", "json")
    found = json.loads(out)
    assert status == 2
    assert found["summary"]["pass"] == 1
    assert found["diagnostics"][0]["code"] == "KV001"


def test_yaml_has_what_json_has(engine, kyvsim, respond):
    engine(respond(RuleStatus.PASS), diagnostics=[ERROR])
    _, written, _ = kyvsim(*BASIC, "--output-format", "json")
    engine(respond(RuleStatus.PASS), diagnostics=[ERROR])
    assert yaml.safe_load(kyvsim(*BASIC, "--output-format", "yaml")[1]) == json.loads(written)


def test_reports_come_in_yaml_and_json(engine, kyvsim, respond):
    engine(respond(RuleStatus.PASS))
    report = yaml.safe_load(kyvsim(*BASIC, "-p")[1])
    engine(respond(RuleStatus.PASS))
    assert json.loads(kyvsim(*BASIC, "-p", "--output-format", "json")[1]) == report


def test_stdin_mode_prints_manifests_and_nothing_else(engine, kyvsim, respond):
    engine(respond(RuleStatus.PASS, changed=True))
    status, out, err = kyvsim(*BASIC, "--stdin")
    assert status == 0
    assert yaml.safe_load(out)["spec"] == {"hostNetwork": False}
    assert err.splitlines() == [
        "pass: 1, fail: 0, warn: 0, error: 0, skip: 0",
        "PASSED: 1 passed · 1 resource · Kyverno 1.19.1 · exit status 0",
    ]


def test_objects_go_to_one_file(engine, kyvsim, tmp_path, respond):
    engine(respond(RuleStatus.PASS, changed=True), respond(RuleStatus.PASS, created=[SECRET]))
    place = tmp_path / "deep" / "all.yaml"
    _, out, err = kyvsim(*BASIC, "-o", str(place))
    assert err == f"wrote 2 objects to {place}\n"
    changed, created = yaml.safe_load_all(place.read_text())
    assert changed["spec"] == {"hostNetwork": False}
    assert created == SECRET
    assert "hostNetwork" not in out
    assert [path.name for path in place.parent.iterdir()] == ["all.yaml"]


def test_objects_go_to_files_of_a_folder(engine, kyvsim, tmp_path, respond):
    engine(respond(RuleStatus.PASS, changed=True), respond(RuleStatus.PASS, created=[SECRET]))
    kyvsim(*BASIC, "-o", str(tmp_path / "out"))
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == ["guard-generated.yaml", "web-mutated.yaml"]


@pytest.mark.parametrize("name", ["../../evil", "/etc/evil", "..", ".hidden", "a/b"])
def test_names_of_users_stay_inside_the_folder(engine, kyvsim, tmp_path, name, respond):
    engine(respond(RuleStatus.PASS, name=name, changed=True))
    folder = tmp_path / "x" / "out"
    assert kyvsim(*BASIC, "-o", str(folder))[0] == 0
    (written,) = folder.iterdir()
    assert written.name.endswith("-mutated.yaml")
    assert not written.name.startswith(".")
    assert list(tmp_path.rglob("*evil*")) in ([], [written])


@pytest.mark.parametrize("path", ["", "web-mutated.yaml"])
def test_links_are_not_followed(engine, kyvsim, tmp_path, respond, path):
    engine(respond(RuleStatus.PASS, changed=True))
    precious, link = tmp_path / "precious", tmp_path / "web-mutated.yaml"
    precious.write_text("keep")
    link.symlink_to(precious)
    status, _, err = kyvsim(*BASIC, "-o", str(tmp_path / path))
    assert status == 2
    assert "symbolic link" in err
    assert precious.read_text() == "keep"
    assert sorted(tmp_path.iterdir()) == [precious, link]


def test_a_place_that_takes_no_files_is_an_error(engine, kyvsim, tmp_path, respond):
    engine(respond(RuleStatus.PASS))
    (tmp_path / "file").write_text("")
    status, out, err = kyvsim(*BASIC, "-o", str(tmp_path / "file" / "out.yaml"))
    assert (status, out) == (2, "")
    assert err.startswith("error: cannot write to ")


def test_a_failed_run_leaves_no_files(kyvsim, engine, monkeypatch, tmp_path, respond):
    def broken():
        yield respond(RuleStatus.PASS, changed=True)
        raise RuntimeError("boom\nboom")

    engine(*[])
    monkeypatch.setattr("kyvsim.cli.apply.is_terminal", lambda stream: stream is sys.stderr)
    monkeypatch.setattr("kyvsim.cli.apply.with_progress", lambda *_: broken())
    status, _, err = kyvsim(*BASIC, "-o", str(tmp_path))
    assert status == 2
    assert err.startswith("internal error: RuntimeError: boom boom; ")
    assert len(err.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_ends_with_130(kyvsim, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("kyvsim.cli.apply.application_of", interrupted)
    status, _, err = kyvsim(*BASIC)
    assert status == 130
    assert err.split() == ["interrupted"]
