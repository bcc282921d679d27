import json

import pytest

from kyvsim.api.lint import lint
from kyvsim.linting.queries import misread_queries
from kyvsim.load.edits import with_edits


def denies(expression, **rule):
    condition = {"key": f"{{{{ {expression} }}}}", "operator": "Equals", "value": "x"}
    return {"validate": {"deny": {"conditions": {"any": [condition]}}}, **rule}


CONFIG = {"context": [{"name": "settings", "configMap": {"name": "a", "namespace": "b"}}]}
OWNER = {"context": [{"name": "owner", "variable": {"value": "x"}}]}


@pytest.mark.parametrize(
    ("expression", "code"),
    [
        ("request.object.spec.hostPID || true", "KV301"),
        ("request.object.spec.hostPID || none", "KV301"),
        ('request.object.spec.hostPID || "none"', "KV301"),
        ("starts_with(element.image, 'a/' || 'b/')", "KV301"),
        ('request.object.spec.hostPID || ""', "KV301"),
        ("length(request.object.spec.volumes || [])", "KV301"),
        ('request.object.spec.volumes[].name | [0] || "null"', "KV301"),
        ("request.object.spec.hostPID || `true`", "KV302"),
        ("request.object.spec.a || request.object.spec.b || `true`", "KV302"),
        ("request.object.spec.a == 'b' || `true`", "KV302"),
        ("request.object.spec.hostNetwork || 'true'", "KV302"),
        ('request.object.spec.containers[?name == "web"]', "KV303"),
        ('request.object.spec.containers[?name != "my-web"]', "KV303"),
        ('split(request.object.spec.nodeName, "/")', "KV303"),
        ('contains(request.object.spec.nodeName, "gpu")', "KV303"),
        ("length(request.object.spec.containers) > '2'", "KV304"),
        ("request.object.spec.priority <= 'a'", "KV304"),
        ("length(request.object.spec.containers) == '2'", "KV304"),
        ("request.object.metadata.labels.company.team", "KV305"),
        ("request.object.spec.nodeSelector.company.pool || ''", "KV305"),
        ("request.object.metadata.annotations.a.b.c", "KV305"),
    ],
)
def test_a_query_that_means_something_else(remarks, expression, code):
    ((found, path, _),) = remarks(misread_queries, denies(expression))
    assert (found, path) == (code, "spec/rules/0/validate/deny/conditions/any/0/key")


def test_a_key_of_a_config_map_with_dots(remarks):
    ((code, _, text),) = remarks(misread_queries, denies("settings.data.app.port", **CONFIG))
    assert code == "KV305"
    assert '`data."app.port"`' in text


@pytest.mark.parametrize(
    ("expression", "rule"),
    [
        ("request.object.spec.hostPID || `false`", {}),
        ("request.object.spec.hostPID || null", {}),
        ("request.object.spec.hostPID || 'none'", {}),
        ("request.object.spec.type || 'true'", {}),
        ("request.object.spec.volumes || `[]`", {}),
        ("request.object.spec.volumes[] | [0]", {}),
        ("request.object.spec.hostPID || owner", OWNER),
        ("request.object.metadata.labels.enabled || `true`", {}),
        ("settings.data.enabled || `true`", CONFIG),
        ("request.object.spec.containers[?name == 'web']", {}),
        ("request.object.spec.containers[].ports[?containerPort == hostPort]", {}),
        ("request.object.spec.containers[?\"my-name\" == 'a']", {}),
        ('request.object.metadata.labels."app.kubernetes.io/name"', {}),
        ('length("my-list")', {}),
        ("length(request.object.spec.containers) > `2`", {}),
        ("request.object.metadata.labels.company", {}),
        ("request.object.spec.selector.matchLabels", {}),
        ("settings.data.app", CONFIG),
    ],
)
def test_queries_that_are_fine(remarks, expression, rule):
    assert remarks(misread_queries, denies(expression, **rule)) == []


def test_the_list_of_a_loop_is_a_query(remarks):
    loop = {"list": 'request.object.spec.containers[?name == "a"]', "deny": {}}
    ((code, path, _),) = remarks(misread_queries, {"validate": {"foreach": [loop]}})
    assert (code, path) == ("KV303", "spec/rules/0/validate/foreach/0/list")


@pytest.mark.parametrize(
    ("written", "fixed"),
    [
        ("'{{ a.b || \"none\" }}'", "'{{ a.b || ''none'' }}'"),
        ("'{{ a.b || \"false\" }}'", "'{{ a.b || ''false'' }}'"),
        ("'{{ request.object.a || false }}'", "'{{ request.object.a || `false` }}'"),
        ('"{{ request.object.a || none }}"', "\"{{ request.object.a || 'none' }}\""),
        ('"{{ request.object.a || [] }}"', '"{{ request.object.a || `[]` }}"'),
        (
            '"{{ request.object.metadata.labels.a.b }}"',
            '"{{ request.object.metadata.labels.\\"a.b\\" }}"',
        ),
    ],
)
def test_fixes_keep_the_quotes_of_yaml(tmp_path, written, fixed):
    text = f"""apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {{name: p}}
spec:
  rules:
  - name: r
    match: {{any: [{{resources: {{kinds: [Service]}}}}]}}
    context:
    - name: a
      variable: {{value: x}}
    validate:
      message: m
      deny:
        conditions:
          any:
          - key: {written}
            operator: Equals
            value: x
"""
    path = tmp_path / "p.yaml"
    path.write_text(text)
    (fix,) = (one.fix for one in lint([str(path)]).diagnostics)
    assert with_edits(text, fix.edits) == text.replace(written, fixed)


def test_conditions_of_exceptions_and_cleanup_policies(tmp_path):
    conditions = {"any": [{"key": "{{ a.b || none }}", "operator": "Equals", "value": "x"}]}
    match = {"any": [{"resources": {"kinds": ["Service"]}}]}
    exceptions = [{"policyName": "p", "ruleNames": ["r"]}]
    for kind, spec in (
        ("PolicyException", {"exceptions": exceptions}),
        ("ClusterCleanupPolicy", {"schedule": "* * * * *"}),
    ):
        data = {
            "apiVersion": "kyverno.io/v2",
            "kind": kind,
            "metadata": {"name": "p"},
            "spec": {**spec, "match": match, "conditions": conditions},
        }
        file = tmp_path / f"{kind}.json"
        file.write_text(json.dumps(data))
        found = [one for one in lint([str(file)]).diagnostics if one.code == "KV301"]
        assert len(found) == 1, kind
