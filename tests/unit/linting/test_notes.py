"""Errors whose message is Kyverno's, or Go's, have a second line with the cause and the remedy."""

import pytest

from kyvsim.api.lint import lint

POLICY = """apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: p}
spec:
  rules:
  - name: r
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
"""


def noted(tmp_path, text):
    path = tmp_path / "p.yaml"
    path.write_text(text)
    return [(one.code, *one.excerpt) for one in lint([str(path)]).diagnostics if one.excerpt]


def denies(key):
    return f"""{POLICY}    validate:
      message: m
      deny: {{conditions: {{any: [{{key: {key}, operator: Equals, value: x}}]}}}}
"""


@pytest.mark.parametrize("text", ["a: {{ x }}", "- {{ x }}", "a: {{ x }}-b", "a: [{{ x }}]"])
def test_a_variable_without_quotes(tmp_path, text):
    ((code, note),) = noted(tmp_path, f"{POLICY}    x:\n      {text}\n")
    assert code == "KV006"
    assert "in quotes" in note


def test_yaml_that_is_broken_elsewhere(tmp_path):
    assert noted(tmp_path, f"{POLICY}    x: [\n") == []
    ((_, note),) = noted(tmp_path, f'{POLICY}    x: "{{{{ x }}}}" b\n')
    assert note.endswith("nothing follows a closing quote")


@pytest.mark.parametrize(
    ("query", "meant"),
    [
        ("labels.app.kubernetes.io/name", 'labels."app.kubernetes.io/name"'),
        ("labels.cost-center", 'labels."cost-center"'),
        ("spec.my-field", 'spec."my-field"'),
        ("labels['app']", 'labels."app"'),
    ],
)
def test_a_key_without_quotes(tmp_path, query, meant):
    ((code, note),) = noted(tmp_path, denies(f'"{{{{ request.object.{query} }}}}"'))
    assert code == "KV112"
    assert note.endswith(f"`{meant}`")


def test_a_key_of_a_context_entry(tmp_path):
    context = "    context: [{name: a, variable: {jmesPath: request.object.my-field}}]\n"
    found = noted(tmp_path, denies("x").replace("    validate:", f"{context}    validate:"))
    assert [code for code, _ in found] == ["KV135"]


def test_a_variable_that_is_broken_otherwise(tmp_path):
    assert noted(tmp_path, denies('"{{ request.object.a[ }}"')) == []


def test_a_helm_template(tmp_path):
    ((code, note),) = noted(tmp_path, denies('"{{`{{ element.name }}`}}"'))
    assert code == "KV112"
    assert "helm template" in note


def test_assertions(tmp_path):
    removed = f"{POLICY}    validate: {{message: m, assert: {{any: []}}}}\n"
    assert [code for code, _ in noted(tmp_path, removed)] == ["KV138"]
    assert noted(tmp_path, f"{POLICY}    validate: {{message: m}}\n") == []


@pytest.mark.parametrize(("value", "found"), [("null", 1), ("true", 0)])
def test_a_label_that_is_set_to_null(tmp_path, value, found):
    patch = f"{{metadata: {{labels: {{a: {value}}}}}}}"
    text = f"{POLICY}    mutate: {{patchStrategicMerge: {patch}}}\n"
    assert len(noted(tmp_path, text)) == found


@pytest.mark.parametrize(
    ("old", "new"), [("overlay", "patchStrategicMerge"), ("patches", "patchesJson6902")]
)
def test_fields_that_were_replaced(tmp_path, old, new):
    path = tmp_path / "p.yaml"
    path.write_text(f"{POLICY}    mutate: {{{old}: {{}}}}\n")
    (one,) = lint([str(path)]).diagnostics
    assert one.message == f"unknown field `spec.rules[0].mutate.{old}`: `{new}` replaced it"
