import pytest

from kyvsim.api.apply import ApplyInputs, open_application

POLICY = """
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: p}
spec:
  background: false
  rules:
  - name: r
    match: {any: [{resources: {kinds: ["*"]}}]}
    context:
    - {name: maps, globalReference: {name: maps, jmesPath: "[].metadata.name"}}
    - {name: day, apiCall: {service: {url: "https://x.io/day"}, jmesPath: day}}
    validate:
      message: "{{ maps }} {{ day }}"
      deny: {}
"""
RESOURCES = """
apiVersion: kyverno.io/v2
kind: GlobalContextEntry
metadata: {name: maps}
spec: {kubernetesResource: {version: v1, resource: configmaps, namespace: a}}
---
apiVersion: v1
kind: Service
metadata: {name: s, namespace: a}
"""
TARGETS = """
apiVersion: v1
kind: ConfigMap
metadata: {name: m, namespace: a}
"""
VALUES = """
apiVersion: cli.kyverno.io/v1alpha1
kind: Values
apiCallResponses:
- url: https://x.io/day
  response: {body: {day: Sunday}}
"""


@pytest.fixture
def inputs(tmp_path):
    def written(name, text):
        path = tmp_path / f"{name}.yaml"
        path.write_text(text, encoding="utf-8")
        return str(path)

    return ApplyInputs(
        policies=(written("policy", POLICY),),
        resources=(written("resources", RESOURCES),),
        targets=(written("targets", TARGETS),),
        values_file=written("values", VALUES),
    )


def test_shared_data_is_for_rules_and_no_resource(inputs):
    application = open_application(inputs)
    assert application.diagnostics == ()
    assert application.resource_count == 1
    (response,) = application.responses
    assert response.trigger["kind"] == "Service"
    (result,) = response.responses[0].results
    assert (result.status.value, result.message) == ("fail", '["m"] Sunday')


@pytest.mark.parametrize("version", ["v2", "v2beta1"])
@pytest.mark.parametrize("in_folder", [False, True])
def test_shared_data_may_be_among_the_policies(inputs, tmp_path, version, in_folder):
    entry, _, service = RESOURCES.partition("---")
    folder = tmp_path / "policies"
    folder.mkdir()
    (folder / "policy.yaml").write_text(POLICY, encoding="utf-8")
    (folder / "entry.yaml").write_text(entry.replace("io/v2", f"io/{version}"), encoding="utf-8")
    (tmp_path / "resources.yaml").write_text(service, encoding="utf-8")
    policies = (str(folder),) if in_folder else tuple(map(str, sorted(folder.iterdir())))
    application = open_application(inputs._replace(policies=policies))
    assert application.diagnostics == ()
    (response,) = application.responses
    assert response.responses[0].results[0].message == '["m"] Sunday'


def test_shared_data_alone_is_an_error(inputs, tmp_path):
    (tmp_path / "policy.yaml").write_text(RESOURCES.partition("---")[0], encoding="utf-8")
    assert [one.code for one in open_application(inputs).diagnostics] == ["KV026"]
