"""Scenario files and installations."""

import json
from pathlib import Path

import jsonschema
import pytest
import yaml

from kyvsim.load.documents import STRICT, read_documents
from kyvsim.load.scenario import (
    SCENARIO,
    is_scenario,
    load_installation,
    load_scenario,
    scenario_schemas,
)
from kyvsim.load.structure import json_schema
from kyvsim.model.simulation import HELM, Demand, Verb

ROOT = Path(__file__).parents[3]
HEAD = "apiVersion: kyvsim/v1\nkind: Scenario\n"
POD = "{apiVersion: v1, kind: Pod, metadata: {name: p}}"


@pytest.fixture
def read(tmp_path):
    def read_text(text):
        file = tmp_path / "story.yaml"
        file.write_text(HEAD + text)
        documents, remarks = read_documents((str(file),), None, STRICT)
        assert not remarks
        scenario, told = load_scenario(documents[0])
        return scenario, [(one.location.line, one.location.column, one.message) for one in told]

    return read_text


def test_every_field_is_read(read, tmp_path):
    (tmp_path / "pod.yaml").write_text(POD)
    scenario, told = read(
        f"""
description: words
settings:
  model: background-gates-generate
  seed: 7
  start: "2026-05-01T00:00:00Z"
  horizon: 1m30s
  pace: 10ms
  exceptions: false
  actors: {{kubelet: false}}
objects: [pod.yaml, {POD}]
steps:
  - name: a Pod
    as: {{name: ann, groups: [dev]}}
    create: pod.yaml
    expect:
      - denied: no
      - never: {POD}
        within: 5s
  - wait: 500ms
  - patch: {{apiVersion: v1, kind: Pod, name: p, json: [{{op: remove, path: /a}}]}}
  - delete: {{apiVersion: v1, kind: Pod, namespace: lab, name: p}}
expect: [{{finally: {POD}}}]
hazards: {{failOn: warning}}
""".replace("denied: no", "denied: refused")
    )
    assert not told
    assert (scenario.name, scenario.description, scenario.fail_on) == ("story", "words", "warning")
    settings = scenario.settings
    assert (settings.model, settings.seed, settings.horizon) == ("background-gates-generate", 7, 90)
    assert (settings.pace, settings.exceptions, settings.kubelet) == (0.01, False, False)
    assert settings.start.isoformat() == "2026-05-01T00:00:00+00:00"
    assert len(scenario.objects) == 2
    first, wait, patch, delete = scenario.steps
    assert (first.verb, first.user.username) == (Verb.CREATE, "ann")
    assert first.user.groups == ("dev", "system:authenticated")
    assert [(one.demand, one.within) for one in first.expected] == [
        (Demand.DENIED, None),
        (Demand.NEVER, 5.0),
    ]
    assert (wait.verb, wait.seconds) == (Verb.WAIT, 0.5)
    assert (patch.target.name, patch.patch.form) == ("p", "json")
    assert delete.objects[0].data["metadata"] == {"namespace": "lab", "name": "p"}
    assert scenario.expected[0].demand is Demand.FINALLY


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("stpes: []", (3, 1), "unknown field `stpes`: did you mean `steps`?"),
        (
            f"steps:\n  - create: {POD}\n    expect: {{deneid: x}}",
            (5, 14),
            "unknown field `steps[0].expect.deneid`: did you mean `denied`?",
        ),
        (
            f"steps:\n  - create: {POD}\n    wait: 1s",
            (4, 5),
            "`steps[0]` must have exactly one of `create`, `apply`, `update`, `patch`, ",
        ),
        ("settings: {horizon: soon}", (3, 12), "`settings.horizon`: `soon` does not match "),
        ("policies: 3", (3, 1), "`policies` must be text or a list or a mapping, not a whole"),
        (
            "steps:\n  - wait: 1s\n    expect: {denied: x}",
            (5, 14),
            "`denied` expects a request, but this step sends none",
        ),
        (
            f"expect:\n  - finally: {POD}\n    within: 2s",
            (5, 5),
            "`within` has no meaning for `finally`",
        ),
        ("policies: [missing.yaml]", (3, 12), "`missing.yaml`: no such file or folder"),
        ("objects: [{apiVersion: v1, kind: Pod}, {kind: Pod}]", (3, 40), "`objects[1].apiVersion`"),
    ],
)
def test_mistakes_are_told_with_their_place(read, text, place, message):
    scenario, told = read(text)
    assert scenario is None
    line, column, said = told[0]
    assert said.startswith(message)
    assert (line, column) == place


def test_other_versions_are_refused():
    assert is_scenario({"apiVersion": "kyvsim/v2", "kind": "Scenario"})
    assert not is_scenario({"apiVersion": "v1", "kind": "Pod"})


def test_schema_for_editors_is_that_of_the_checker():
    """`kyvsim simulate --schema > docs/scenario.schema.json` writes the file anew."""
    made = json_schema(scenario_schemas()[SCENARIO], "kyvsim scenario")
    kept = (ROOT / "docs/scenario.schema.json").read_text(encoding="utf-8")
    assert json.loads(kept) == made


def test_schema_for_editors_accepts_the_stories():
    schema = json.loads((ROOT / "docs/scenario.schema.json").read_text(encoding="utf-8"))
    stories = sorted((ROOT / "fixtures/scenarios").glob("*.yaml"))
    assert stories
    for story in stories:
        jsonschema.validate(yaml.safe_load(story.read_text(encoding="utf-8")), schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"apiVersion": "kyvsim/v1", "kind": "Scenario", "stpes": []}, schema)


# How Kyverno is installed, by name or by values.


@pytest.fixture
def load(tmp_path):
    """Return what reads a file of values, and tells what is wrong with it."""

    def read(text):
        file = tmp_path / "values.yaml"
        file.write_text(text)
        found, remarks = load_installation(str(file))
        return found, [(one.code, one.message) for one in remarks]

    return read


@pytest.mark.parametrize("name", ["helm", "ci"])
def test_installations_have_names(name):
    found, remarks = load_installation(name)
    assert (found.name, remarks) == (name, ())


def test_values_are_those_of_the_file(load):
    found, remarks = load("features: {policyExceptions: {enabled: true, namespace: x}}\n")
    assert remarks == []
    assert found.exceptions_namespace == "x"
    assert found.name.endswith("values.yaml")


@pytest.mark.parametrize("text", ["", "# defaults\n"])
def test_an_empty_values_file_is_the_chart_with_its_defaults(load, text):
    found, remarks = load(text)
    assert remarks == []
    assert found.values == HELM.values


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "a values file of Kyverno's Helm chart must be one map"),
        ("{}\n---\n{}", "a values file of Kyverno's Helm chart must be one map"),
        (
            "{apiVersion: v1, kind: ConfigMap}",
            "this is an object, not a values file of Kyverno's Helm chart",
        ),
        (
            "features: {policyExceptions: {enabled: 'true'}}",
            "`features.policyExceptions.enabled` must be true or false",
        ),
        ("features: [policyExceptions]", "`features` must be a map"),
        ("config: {excludeGroups: dev}", "`config.excludeGroups` must be a list"),
        (
            "backgroundController: {rbac: {clusterRole: {extraResources: {}}}}",
            "`backgroundController.rbac.clusterRole.extraResources` must be a list",
        ),
    ],
)
def test_what_the_chart_could_not_read_is_an_error(load, text, message):
    found, remarks = load(text)
    assert found is None
    assert remarks == [("KV053", message)]


def test_a_name_that_is_neither_is_told_with_the_likely_one():
    found, (remark,) = load_installation("hlem")
    assert found is None
    assert remark.code == "KV053"
    assert remark.message.endswith("did you mean `helm`?")


@pytest.mark.parametrize(
    "path",
    [
        "features.backgroundScan.enabled",
        "config.matchConditions.a",
        "features.reporting.validate",
        "nameOverride",
        "admissionController.container.extraArgs.maxQueuedEvents",
        "backgroundController.rbac.create",
    ],
)
def test_what_is_not_simulated_is_told(load, path):
    *outer, last = path.split(".")
    text = "".join(f"{{{name}: " for name in outer) + f"{{{last}: false}}" + "}" * len(outer)
    found, remarks = load(text.replace("false", "kyv") if path == "nameOverride" else text)
    assert found is not None
    ((code, message),) = remarks
    assert code == "KV054"
    assert "is not simulated" in message


@pytest.mark.parametrize(
    "name",
    [
        "validatingAdmissionPolicyReports",
        "mutatingAdmissionPolicyReports",
        "generateValidatingAdmissionPolicy",
        "generateMutatingAdmissionPolicy",
    ],
)
def test_what_is_made_of_admission_policies_and_told_of_them_counts(load, name):
    found, remarks = load(f"{{features: {{{name}: {{enabled: false}}}}}}")
    assert remarks == []
    assert found.value("features", name, "enabled") is False
    found, ((code, _),) = load(f"{{features: {{{name}: {{enabled: 'no'}}}}}}")
    assert (found, code) == (None, "KV053")


def test_what_changes_nothing_here_is_passed_over(load):
    text = "{grafana: {enabled: true}, admissionController: {replicas: 3, extraArgs: {v: 4}}}"
    assert load(text)[1] == []
