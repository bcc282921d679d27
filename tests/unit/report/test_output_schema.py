"""The JSON of every command keeps docs/output.schema.json."""

import copy
import json
from pathlib import Path

import jsonschema
import pytest
import yaml

from kyvsim.cli import main
from kyvsim.report.formats import FORMATS_OF
from kyvsim.report.object_text import SCHEMA as VERSION
from kyvsim.report.object_text import document_origin

ROOT = Path(__file__).parents[3]
SCHEMA = json.loads((ROOT / "docs/output.schema.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft7Validator(SCHEMA)
GOLDEN = [
    path
    for path in sorted((ROOT / "tests/golden").glob("*/*/stdout"))
    if path.read_text(encoding="utf-8").startswith("{")
    and "json" in (path.parent / "cmd").read_text(encoding="utf-8")
    and '"kyvsim": {"command"' in path.read_text(encoding="utf-8")
]
REPORT = {"apiVersion", "kind", "metadata", "results", "source", "summary"}
LIST = {"apiVersion", "kind", "items"}
COMMANDS = [*FORMATS_OF, "report", "config", "rule"]
RUN = ["policies/", "--resource", "fixtures/resources/"]
POLICY = "fixtures/policy-sets/old/images.yaml"
ARGUMENTS = {
    "apply": ["apply", *RUN, "--check-idempotent"],
    "test": ["test", "fixtures/tests/"],
    "lint": ["lint", "fixtures/menagerie/policies.yaml"],
    "diff": ["diff", "fixtures/policy-sets/old", "fixtures/policy-sets/new", *RUN[1:]],
    "explain": ["explain", *RUN],
    "simulate": ["simulate", "policies/intercept-proxy", "-r", "fixtures/resources/pods.yaml"],
    "equal": ["equal", "fixtures/equal/registries.yaml", "fixtures/equal/registries-wrong.yaml"],
    "migrate": ["migrate", POLICY],
    "upgrade": ["upgrade", POLICY],
    "config": ["config", "--all"],
    "rule": ["rule"],
    "chainsaw": ["chainsaw", "tests/golden/chainsaw"],
}


def document_of(command, capfdbinary, tmp_path):
    """Return the document of a command, from this repository's policies."""
    if command == "test --coverage":
        file = tmp_path / "coverage.json"
        main.run(["test", "fixtures/tests/team", "--coverage-report", f"json={file}"])
        return json.loads(file.read_text(encoding="utf-8"))
    if command == "report":
        options = ["--engine", "processes", "--partials", str(tmp_path / "parts")]
        main.run(["apply", *RUN, *options])
        capfdbinary.readouterr()
        main.run(["report", "summary", str(tmp_path / "parts"), "--output-format", "json"])
    else:
        main.run([*ARGUMENTS[command], "--output-format", "json"])
    return json.loads(capfdbinary.readouterr().out)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_document_of_each_command_is_valid(command, capfdbinary, tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    document = document_of(command, capfdbinary, tmp_path)
    assert document["kyvsim"] == document_origin(command)
    VALIDATOR.validate(document)


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.parent.name)
def test_golden_documents_are_valid(path):
    VALIDATOR.validate(json.loads(path.read_text(encoding="utf-8")))


def test_there_are_golden_documents_of_most_commands():
    commands = {path.parent.parent.name for path in GOLDEN}
    assert commands >= {"apply", "diff", "equal", "explain", "lint", "migrate", "simulate", "test"}


def test_yaml_has_the_same_fields(capfdbinary, monkeypatch):
    monkeypatch.chdir(ROOT)
    for arguments in (ARGUMENTS["apply"], ARGUMENTS["test"]):
        main.run([*arguments, "--output-format", "yaml"])
        VALIDATOR.validate(yaml.safe_load(capfdbinary.readouterr().out))


@pytest.mark.parametrize(("option", "fields"), [("-p", REPORT), ("--generate-exceptions", LIST)])
def test_objects_for_a_cluster_have_only_fields_of_their_kind(
    option, fields, capfdbinary, monkeypatch
):
    monkeypatch.chdir(ROOT)
    main.run(["apply", *RUN, option, "--output-format", "json"])
    document = json.loads(capfdbinary.readouterr().out)
    assert document.keys() == fields


def test_the_schema_is_valid_and_names_every_command():
    jsonschema.Draft7Validator.check_schema(SCHEMA)
    named = [one["if"]["properties"]["kyvsim"]["properties"]["command"] for one in SCHEMA["allOf"]]
    assert sorted(one["const"] for one in named) == sorted(COMMANDS)
    assert SCHEMA["definitions"]["origin"]["properties"]["schema"]["const"] == VERSION


def broken():
    """Yield documents of which one part is wrong."""
    path = ROOT / "tests/golden/apply/format-json/stdout"
    document = json.loads(path.read_text(encoding="utf-8"))
    for change in (
        lambda one: one.pop("kyvsim"),
        lambda one: one["kyvsim"].update(command="appply"),
        lambda one: one["kyvsim"].update(schema=VERSION + 1),
        lambda one: one.pop("results"),
        lambda one: one.update(unknown=1),
        lambda one: one["results"][0].update(result="passed"),
        lambda one: one["results"][0].pop("location"),
        lambda one: one["results"][0]["location"].update(line="1"),
        lambda one: one["ending"].update(verdict="GOOD"),
    ):
        changed = copy.deepcopy(document)
        change(changed)
        yield changed


@pytest.mark.parametrize("document", [*broken()], ids=lambda _: "")
def test_other_documents_are_not_valid(document):
    assert not VALIDATOR.is_valid(document)
