"""`apply` with random policies and objects: the same output for any number of processes."""

import random

import pytest

from kyvsim.api import apply_streamed
from kyvsim.cli import apply as apply_command

pytestmark = pytest.mark.slow

NAMES = ("a", "b", "c", "d")
KINDS = ("Pod", "ConfigMap", "Secret", "Deployment", "Widget")
PLURALS = {"Pod": "pods", "ConfigMap": "configmaps", "Secret": "secrets"}
SPECS = {
    "Pod": "spec: {containers: [{name: c, image: 'nginx:%s'}]}",
    "ConfigMap": "data: {value: '%s'}",
    "Secret": "stringData: {value: '%s'}",
    "Deployment": "spec: {selector: {}, template: {spec: {containers: [{name: c, image: '%s'}]}}}",
    "Widget": "spec: {size: '%s'}",
}
VERSIONS = {"Deployment": "apps/v1", "Widget": "example.com/v1"}
POLICY = """
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {{name: p{number}}}
spec:
  rules:
  - name: r{number}
    match: {{any: [{{resources: {{kinds: [{kind}]}}}}]}}
    {body}
"""
BODIES = (
    # validate
    """validate:
      {message: 'not {{ request.object.metadata.name }}', pattern: {metadata: {name: '!X'}}}""",
    # lookups
    """context: [{name: found, configMap: {name: X, namespace: n}}]
    validate: {message: 'it is {{ found.data.value }}', deny: {}}""",
    """context:
    - {name: found, apiCall: {urlPath: /api/v1/namespaces/n/PLURAL, jmesPath: length(items)}}
    validate: {message: 'there are {{ found }}', deny: {}}""",
    """context: [{name: found, apiCall: {urlPath: /apis/example.com/v1/widgets, jmesPath: items}}]
    validate: {message: 'there are {{ length(found) }}', deny: {}}""",
    # mutate
    "mutate: {patchStrategicMerge: {metadata: {labels: {+(a): X}}}}",
    """mutate:
      patchStrategicMerge: {spec: {volumes: [{name: v, configMap: {name: X}}]}}""",
    """mutate:
      targets: [{apiVersion: '*', kind: KIND, namespace: n, name: '*'}]
      patchStrategicMerge: {metadata: {annotations: {by: '{{ request.object.metadata.name }}'}}}""",
    # generate
    "generate: {apiVersion: v1, kind: ConfigMap, name: X, namespace: n, data: {data: {a: X}}}",
    """generate:
      {apiVersion: v1, kind: Secret, name: 'copy-{{ request.object.metadata.name }}', namespace: m,
       clone: {name: X, namespace: n}}""",
    """generate:
      {namespace: '{{ request.object.metadata.name }}',
       cloneList: {namespace: n, kinds: [v1/ConfigMap, v1/Secret]}}""",
)
OTHERS = """
apiVersion: kyverno.io/v2
kind: ClusterCleanupPolicy
metadata: {name: clean}
spec:
  schedule: "0 * * * *"
  match: {any: [{resources: {kinds: [KIND]}}]}
---
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: reads}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], resources: [PLURAL], operations: [CREATE]}
  validations:
  - expression: >-
      resource.List("v1", "configmaps", "n").items.size() > 2
    message: few maps
"""
FORMATS = ("", "--detailed-results", "--show objects", "--output-format json", "--policy-report")


def _filled(text, kind, name):
    plural = PLURALS.get(kind, "pods")
    return text.replace("KIND", kind).replace("PLURAL", plural).replace("X", name)


def policies(chance):
    """Return random policies as YAML."""
    bodies = chance.choices(BODIES, k=chance.randint(1, 4))
    found = [
        POLICY.format(
            number=number,
            kind=chance.choice(KINDS),
            body=_filled(body, chance.choice(KINDS), chance.choice(NAMES)),
        )
        for number, body in enumerate(bodies)
    ]
    if chance.random() < 0.5:
        found.append(_filled(OTHERS, chance.choice(KINDS), "a"))
    return "---".join(found)


def objects(chance):
    """Return random objects as YAML, in some cases with an invalid document among them."""
    found = []
    for number in range(chance.randint(4, 40)):
        kind, value = chance.choice(KINDS), chance.choice(NAMES)
        name = value if chance.random() < 0.5 else f"x{number}"
        head = f"apiVersion: {VERSIONS.get(kind, 'v1')}\nkind: {kind}\n"
        found.append(f"{head}metadata: {{name: {name}, namespace: n}}\n{SPECS[kind] % value}\n")
    if chance.random() < 0.3:
        bad = chance.choice(("a: [\n", "kind: Pod\n", "apiVersion: v1\nkind: 1\n"))
        found.insert(chance.randrange(len(found)), bad)
    return "---\n".join(found)


@pytest.mark.parametrize("seed", [*range(40), 151, 188, 210, 246])
def test_processes_and_blocks_change_nothing(kyvsim, tmp_path, monkeypatch, seed):
    chance = random.Random(seed)
    policy, resource = tmp_path / "policies.yaml", tmp_path / "resources.yaml"
    policy.write_text(policies(chance))
    resource.write_text(objects(chance))
    options = chance.choice(FORMATS).split()
    command = ("apply", str(policy), "-r", str(resource), *options)

    def run(jobs):
        status, out, err = kyvsim(*command, "-j", jobs, "--now", "2026-01-01T00:00:00Z")
        lines = err.splitlines(keepends=True)
        return status, out, [line for line in lines if not line.startswith("note: ")]

    alone = run("1")
    assert run("2") == alone
    assert run("3") == alone
    monkeypatch.setattr(apply_command, "_LARGE", 0)
    monkeypatch.setattr(apply_streamed, "_BLOCK", 200)
    assert run("1") == alone
    assert run("2") == alone
