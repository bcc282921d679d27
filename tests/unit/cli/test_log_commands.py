"""No command of a CI log gets out: every format of every command, and standard error."""

import csv
import io
import json
import xml.etree.ElementTree as ET

import pytest
import yaml

from kyvsim.report.formats import FORMATS_OF, has_log_command

EVIL = "x ##[stop] ##vso[task.x]y ##teamcity[z] ::add-mask::w\n::error::first"
POLICY = {
    "apiVersion": "kyverno.io/v1",
    "kind": "ClusterPolicy",
    "metadata": {
        "name": "p",
        "annotations": {
            "policies.kyverno.io/category": EVIL,
            "policies.kyverno.io/severity": "low",
        },
    },
    "spec": {
        "rules": [
            {
                "name": "r ##[r] ::r::",
                "match": {"any": [{"resources": {"kinds": ["ConfigMap"]}}]},
                "validate": {
                    "message": EVIL,
                    "pattern": {"metadata": {"annotations": {EVIL: "?*"}}},
                },
            },
            {
                "name": "m",
                "match": {"any": [{"resources": {"kinds": ["ConfigMap"]}}]},
                "mutate": {"patchStrategicMerge": {"data": {"added": EVIL}}},
            },
            {
                "name": "g",
                "match": {"any": [{"resources": {"kinds": ["ConfigMap"]}}]},
                "generate": {
                    "apiVersion": "v1",
                    "kind": "Secret",
                    "name": "made",
                    "namespace": "default",
                    "data": {"stringData": {"text": EVIL}},
                },
            },
        ],
    },
}
RESOURCE = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "c", "namespace": "default", "annotations": {"note": EVIL}},
    "data": {"k": EVIL},
}
OTHER = {**POLICY, "spec": {"rules": POLICY["spec"]["rules"][1:]}}
SCENARIO = {
    "apiVersion": "kyvsim/v1",
    "kind": "Scenario",
    "name": f"story {EVIL}",
    "settings": {"install": "ci"},
    "policies": [POLICY],
    "steps": [{"name": EVIL, "create": RESOURCE}, {"wait": "1s"}],
    "expect": [{"finally": {"kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"k": EVIL}}}],
}
TEST = {
    "apiVersion": "cli.kyverno.io/v1alpha1",
    "kind": "Test",
    "metadata": {"name": "t"},
    "policies": ["p.yaml"],
    "resources": ["r ##[f] ::f::.yaml"],
    "results": [
        {"policy": "p", "rule": name, "kind": "ConfigMap", "resources": ["c"], "result": "skip"}
        for name in ("r ##[r] ::r::", "m", f"no {EVIL}")
    ],
}
CHAINSAW = {
    "apiVersion": "chainsaw.kyverno.io/v1alpha1",
    "kind": "Test",
    "metadata": {"name": "t"},
    "spec": {
        "steps": [
            {
                "name": f"s {EVIL}",
                "try": [
                    {"script": {"content": f"echo '{EVIL}'"}},
                    {"create": {"resource": RESOURCE}},
                    {"assert": {"resource": {**RESOURCE, "data": {"k": f"other {EVIL}"}}}},
                ],
            }
        ]
    },
}
MANIFEST = "r ##[f] ::f::.yaml"

CALLS = {
    "apply": (FORMATS_OF["apply"], ["apply", "p.yaml", "-r", MANIFEST, "--detailed-results"]),
    "apply-objects": ({"text": None}, ["apply", "p.yaml", "-r", MANIFEST, "--show", "objects"]),
    "lint": (FORMATS_OF["lint"], ["lint", "p.yaml", "bad.yaml"]),
    "explain": (FORMATS_OF["explain"], ["explain", "p.yaml", "-r", MANIFEST]),
    "diff": (FORMATS_OF["diff"], ["diff", "p.yaml", "o.yaml", "-r", MANIFEST]),
    "test": (FORMATS_OF["test"], ["test", ".", "--detailed-results"]),
    "coverage": (FORMATS_OF["test"], ["test", ".", "--coverage"]),
    "equal": (FORMATS_OF["equal"], ["equal", "p.yaml", "o.yaml", "--max-cases", "20"]),
    "migrate": (FORMATS_OF["migrate"], ["migrate", "p.yaml"]),
    "upgrade": (FORMATS_OF["upgrade"], ["upgrade", "p.yaml", "-r", MANIFEST, "--to", "1.20"]),
    "simulate": (FORMATS_OF["simulate"], ["simulate", "s.yaml"]),
    "chainsaw": (FORMATS_OF["chainsaw"], ["chainsaw", "chainsaw-test.yaml"]),
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The working folder, with the files above."""
    files = {"p.yaml": POLICY, "o.yaml": OTHER, MANIFEST: RESOURCE, "s.yaml": SCENARIO}
    files |= {"kyverno-test.yaml": TEST, "chainsaw-test.yaml": CHAINSAW}
    for name, data in files.items():
        (tmp_path / name).write_text(yaml.safe_dump(data), encoding="utf-8")
    (tmp_path / "bad.yaml").write_text(
        f"apiVersion: kyverno.io/v1\nkind: ClusterPolicy\n{json.dumps(EVIL)}: x\n"
        'metadata: {name: "##[n]"}\nspec: {"##vso[u]": 1, rules: []}\n',
        encoding="utf-8",
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def without_own(text):
    """Return the lines of a log without the commands that the program means."""
    return "\n".join(
        line.partition(" ")[2].replace("::", ": ", 1)
        if line.startswith(("::error ", "::warning ", "::notice "))
        else line
        for line in text.split("\n")
    )


@pytest.mark.parametrize(
    ("name", "format_"), [(name, one) for name, (known, _) in CALLS.items() for one in known]
)
@pytest.mark.usefixtures("folder")
def test_no_command_gets_out(kyvsim, name, format_):
    _, arguments = CALLS[name]
    shown = [] if name == "apply-objects" else ["--output-format", format_]
    _, out, err = kyvsim(*arguments, *shown)
    assert out
    out = without_own(out) if format_ == "github" else out
    assert "\r" not in out + err
    assert "\x1b" not in out + err
    if format_ != "html":  # it has style sheets of our own
        assert not has_log_command(out)
    assert "##[" not in out
    assert "##vso[" not in out
    assert not has_log_command(err)


def test_files_hold_what_standard_output_does(folder, kyvsim):
    for format_ in FORMATS_OF["apply"]:
        target = folder / f"out.{format_}"
        kyvsim("apply", "p.yaml", "-r", MANIFEST, f"--output-format={format_}={target}")
        written = target.read_text(encoding="utf-8")
        assert "##[" not in written, format_
        assert "##vso[" not in written, format_


@pytest.mark.usefixtures("folder")
def test_machine_formats_hold_the_text_itself(kyvsim):
    call = ("apply", "p.yaml", "-r", MANIFEST, "--output-format")
    document = json.loads(kyvsim(*call, "json")[1])
    assert EVIL in next(one["message"] for one in document["results"] if one["result"] == "fail")
    document = yaml.safe_load(kyvsim(*call, "yaml")[1])
    assert EVIL in next(one["message"] for one in document["results"] if one["result"] == "fail")
    manifests = list(yaml.safe_load_all(kyvsim(*call, "manifests")[1]))
    assert any(one["metadata"]["annotations"].get("note") == EVIL for one in manifests if one)
    log = json.loads(kyvsim(*call, "sarif")[1])
    assert any(EVIL in one["message"]["text"] for one in log["runs"][0]["results"])
    root = ET.fromstring(kyvsim(*call, "junit")[1])
    assert any(EVIL in one.get("message") for one in root.iter("failure"))
    rows = list(csv.DictReader(io.StringIO(kyvsim(*call, "csv")[1])))
    assert any("\\x23#[stop]" in one["message"] for one in rows)


@pytest.mark.usefixtures("folder")
def test_annotations_for_github_still_work(kyvsim):
    _, out, _ = kyvsim("apply", "p.yaml", "-r", MANIFEST, "--output-format", "github")
    assert any(line.startswith("::error file=") for line in out.splitlines())
    assert "\\x23#[stop]" in out


ARGUMENT = "::error::x ##[y]\r::warning::z\x1b[2J"


@pytest.mark.parametrize(
    "arguments",
    [
        [ARGUMENT],
        [f"--{ARGUMENT}"],
        ["apply", f"--{ARGUMENT}"],
        ["apply", ARGUMENT, "-r", ARGUMENT],
        ["apply", "p.yaml", "--output-format", ARGUMENT],
        ["apply", "p.yaml", "-r", MANIFEST, "--set", ARGUMENT],
        ["lint", ARGUMENT],
        ["test", ARGUMENT],
        ["simulate", ARGUMENT],
        ["rule", ARGUMENT],
        ["explain", "p.yaml", "-r", MANIFEST, "--rule", ARGUMENT],
        ["jp", "query", ARGUMENT],
        ["jp", "query", "-i", MANIFEST, "metadata.annotations.note"],
        ["jp", "query", "-u", "-i", MANIFEST, "metadata.annotations.note"],
        ["jp", "query", "-i", MANIFEST, f"'{ARGUMENT}'"],
        ["jp", "parse", "'##[x] ::y::'"],
        ["jp", "function", ARGUMENT],
        ["cel", "check", ARGUMENT],
        ["cel", "check", "'##[x] ::y::'"],
        ["cel", "eval", "-r", MANIFEST, "object.metadata.annotations.note + '\\r::error::x'"],
        ["cel", "functions", ARGUMENT],
        ["schema", ARGUMENT],
        ["config", ARGUMENT],
        ["completion", ARGUMENT],
    ],
    ids=lambda one: one[0][:10],
)
@pytest.mark.usefixtures("folder")
def test_arguments_are_echoed_as_text(kyvsim, arguments):
    _, out, err = kyvsim(*arguments)
    assert out + err
    for text in (out, err):
        assert not has_log_command(text)
        assert "\r" not in text
        assert "\x1b" not in text


@pytest.mark.usefixtures("folder")
def test_results_of_queries_are_the_same_data(kyvsim):
    _, out, _ = kyvsim("jp", "query", "-i", MANIFEST, "metadata.annotations.note")
    assert json.loads(out.split("\n", 1)[1]) == EVIL
    _, out, _ = kyvsim("cel", "eval", "-r", MANIFEST, "object.metadata.annotations.note")
    assert json.loads(out.split("\n", 1)[1].partition(" ")[2]) == EVIL


@pytest.mark.usefixtures("folder")
def test_a_traceback_is_text_too(kyvsim, monkeypatch):
    def broken(*_):
        raise RuntimeError("##[x]\r::error::y")

    monkeypatch.setenv("KYVSIM_TRACEBACK", "1")
    monkeypatch.setattr("kyvsim.cli.lint.lint", broken)
    status, out, err = kyvsim("lint", "p.yaml")
    assert status == 2
    assert "Traceback" in err
    assert not has_log_command(out + err)
    assert "\r" not in err
