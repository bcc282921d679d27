"""Every command writes one valid document in every machine-readable format for unusable input."""

import json
from functools import cache
from pathlib import Path

import jsonschema
import pytest
import xmlschema
import yaml

from kyvsim.cli import main
from kyvsim.report.formats import FORMATS_OF

ROOT = Path(__file__).parents[3]
OWN = ROOT / "docs/output.schema.json"
SCHEMAS = ROOT / "tests/unit/report/schemas"
JUNIT = xmlschema.XMLSchema(SCHEMAS / "junit.xsd")
OF_FORMAT = {
    "sarif": "sarif-2.1.0",
    "gitlab": "gitlab-code-quality",
    "policy-report": "policy-report",
    "policy-report-json": "policy-report",
    "open-report": "open-report",
    "open-report-json": "open-report",
}
"""Formats that others define, and the files of their schemas."""
POLICY = """\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: no-latest}
spec:
  rules:
  - name: tag
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate: {message: no latest, pattern: {spec: {containers: [{image: "!*:latest"}]}}}
"""
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {containers: [{name: web, image: "nginx:latest"}]}
"""
TEST = """\
apiVersion: cli.kyverno.io/v1alpha1
kind: Test
metadata: {name: t}
policies: [POLICY]
resources: [RESOURCE]
results: [{policy: no-latest, rule: tag, kind: Pod, resources: [web], result: fail}]
"""
FILES = {
    "policy.yaml": POLICY,
    "pod.yaml": POD,
    "broken.yaml": "a: [",
    "unknown.yaml": POLICY.replace("ClusterPolicy", "ClusterPolcy"),
    "empty.yaml": "",
}
INPUTS = {
    "missing file": ("missing.yaml", "pod.yaml"),
    "broken YAML": ("broken.yaml", "pod.yaml"),
    "unknown kind": ("unknown.yaml", "pod.yaml"),
    "swapped": ("pod.yaml", "policy.yaml"),
    "empty file": ("empty.yaml", "pod.yaml"),
    "missing manifest": ("policy.yaml", "missing.yaml"),
    "broken manifest": ("policy.yaml", "broken.yaml"),
}


def arguments(command, policy, resource):
    """Return the arguments of a command with these files, and [] if it reads no manifests."""
    if command == "test":
        text = TEST.replace("POLICY", policy).replace("RESOURCE", resource)
        Path("kyverno-test.yaml").write_text(text, "utf-8")
        return ["test", "kyverno-test.yaml"]
    if command in {"lint", "migrate", "chainsaw"}:
        return [command, policy] if resource == "pod.yaml" else []
    if command in {"diff", "equal"}:
        Path("old.yaml").write_text(POLICY, "utf-8")
        return [command, "old.yaml", policy, "--resource", resource]
    return [command, policy, "--resource", resource]


@cache
def validator(name):
    """Return the validator for the documents of a format."""
    path = SCHEMAS / f"{OF_FORMAT[name]}.json" if name in OF_FORMAT else OWN
    return jsonschema.Draft7Validator(json.loads(path.read_text("utf-8")))


def check(name, media, text):
    """Raise an error if `text` is not one valid document."""
    if media == "application/xml":
        JUNIT.validate(text)
    elif "json" in media or media == "application/yaml":
        documents = [json.loads(text)] if "json" in media else [*yaml.safe_load_all(text)]
        assert len(documents) < 2
        if name in {"json", "yaml", *OF_FORMAT}:
            validator(name).validate(documents[0])
    else:
        assert text.strip()


@pytest.mark.parametrize("kind", INPUTS)
@pytest.mark.parametrize("command", [one for one in FORMATS_OF if one != "test --coverage"])
def test_there_is_one_valid_document(command, kind, capfdbinary, tmp_path, monkeypatch):
    if (command, kind) == ("lint", "swapped"):
        pytest.skip("lint also reads manifests")
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        Path(name).write_text(text, "utf-8")
    words = arguments(command, *INPUTS[kind])
    for name, format_ in FORMATS_OF[command].items() if words else ():
        if not format_.for_people:
            assert main.run([*words, "--output-format", name]) == 2, name
            out, err = capfdbinary.readouterr()
            assert b"INCOMPLETE" in err, name
            check(name, format_.media, out.decode())


@pytest.mark.parametrize("command", ["explain", "simulate"])
def test_the_document_and_the_page_have_the_error(command, capfdbinary, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("pod.yaml").write_text(POD, "utf-8")
    words = [command, "missing.yaml", "--resource", "pod.yaml", "--output-format"]
    main.run([*words, "json"])
    (found,) = json.loads(capfdbinary.readouterr().out)["diagnostics"]
    assert (found["code"], found["file"]) == ("KV001", "missing.yaml")
    main.run([*words, "html"])
    page = capfdbinary.readouterr().out.decode()
    assert "INCOMPLETE: 1 error in 1 input" in page
    assert "missing.yaml: error KV001" in page
    assert "Timeline" not in page
    main.run([*words, "text"])
    assert capfdbinary.readouterr().out.decode().splitlines()[-1].startswith("INCOMPLETE: 1 error")
