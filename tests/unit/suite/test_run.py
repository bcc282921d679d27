import pytest

from kyvsim.kubernetes.objects import ObjectKey, object_key
from kyvsim.model.source import Document, Location
from kyvsim.model.values import Values
from kyvsim.suite.run import (
    SuiteInputs,
    missing_namespaces,
    object_keys,
    observe,
    without_duplicates,
)

POD = {"resources": {"kinds": ["Pod"]}}


def obj(kind, name, namespace="default", api_version="v1", **fields):
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}


def document(data):
    return Document(data, "r.yaml", 0, lambda _: Location("r.yaml", 1, 1))


def inputs(resources, policies=None, **further):
    given = {
        "targets": (),
        "others": (),
        "in_cluster": False,
        "clone_sources": {},
        "values": None,
        "user": None,
        **further,
    }
    return SuiteInputs(policies, tuple(map(document, resources)), **given)


def test_group_kind_namespace_and_name_make_a_duplicate():
    first = obj("Deployment", "a", api_version="apps/v1")
    again = obj("Deployment", "a", api_version="apps/v1beta1")
    others = [obj("Deployment", "a"), obj("Deployment", "a", "b", "apps/v1")]
    kept, doubles = without_duplicates(map(document, [first, *others, again]))
    assert [one.data for one in kept] == [first, *others]
    assert [one.data for one in doubles] == [again]


@pytest.mark.parametrize(
    ("resource", "further", "lost"),
    [
        (obj("Pod", "a", "shop"), {}, True),
        (obj("Pod", "a", "shop"), {"in_cluster": False}, False),
        (obj("Pod", "a", "shop"), {"others": (obj("Namespace", "shop", ""),)}, False),
        (obj("Pod", "a", "shop"), {"others": (obj("Namespace", "mall", ""),)}, True),
        (obj("Namespace", "a", ""), {}, False),
        (obj("ClusterRole", "a", ""), {}, False),
        (
            obj("Pod", "a", "shop"),
            {"values": Values(namespaces={"shop": {"metadata": {"labels": {"a": "b"}}}})},
            False,
        ),
        (
            obj("Pod", "a", "shop"),
            {"values": Values(namespaces={"shop": {"metadata": {"labels": {}}}})},
            True,
        ),
    ],
)
def test_a_cluster_must_know_the_namespaces_of_resources(resource, further, lost):
    found = missing_namespaces(inputs([resource], **{"in_cluster": True, **further}))
    assert bool(found) is lost


def test_rows_can_name_resources_and_targets():
    pod, secret = obj("Pod", "a"), obj("Secret", "b")
    keys = object_keys(inputs([pod], targets=(secret, pod)))
    assert keys == (object_key(pod), object_key(secret))


POLICIES = """
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: one}
spec:
  rules:
    - name: look-up
      match: {any: [{resources: {kinds: [Pod]}}]}
      context: [{name: config, configMap: {name: config, namespace: default}}]
      validate:
        failureAction: Audit
        message: it is off
        deny: {conditions: {all: [{key: "{{ config.data.on }}", operator: NotEquals, value: "y"}]}}
    - name: in-namespace
      match:
        any: [{resources: {kinds: [Pod], namespaceSelector: {matchLabels: {team: red}}}}]
      validate: {failureAction: Audit, message: never, deny: {}}
"""


@pytest.fixture
def compiled(tmp_path):
    return compile_text(POLICIES, tmp_path)


def compile_text(text, folder):
    from kyvsim.api.system import own_system  # noqa: PLC0415 — what commands use
    from kyvsim.engine.compile import CompileOptions  # noqa: PLC0415 — the same
    from kyvsim.languages import READERS, compile_policies  # noqa: PLC0415 — the same
    from kyvsim.load.documents import STRICT, read_documents  # noqa: PLC0415 — the same
    from kyvsim.load.policy import load_policies  # noqa: PLC0415 — the same

    file = folder / "p.yaml"
    file.write_text(text)
    documents, _ = read_documents([str(file)], None, STRICT)
    policies, remarks = load_policies(documents, READERS)
    assert not remarks
    found, problems = compile_policies(policies, CompileOptions(own_system()))
    assert not problems
    return found


@pytest.mark.parametrize(
    ("in_cluster", "expected"),
    [
        (False, {"look-up": "error"}),
        (True, {"look-up": "pass", "in-namespace": "fail"}),
    ],
)
def test_only_a_cluster_is_asked(compiled, in_cluster, expected):
    namespace = obj("Namespace", "default", "")
    namespace["metadata"]["labels"] = {"team": "red"}
    config = obj("ConfigMap", "config", data={"on": "y"})
    given = inputs([obj("Pod", "a"), namespace, config], compiled, in_cluster=in_cluster, others=())
    answers = observe(given, ()).triggers[""][ObjectKey("v1", "Pod", "default", "a")]
    (response,) = answers.responses["one"]
    assert {one.rule.name: one.status.value for one in response.results} == expected


def test_what_is_created_is_not_in_the_cluster_of_its_own_run(tmp_path):
    config = obj("ConfigMap", "config", data={"on": "y"})
    policies = compile_text(POLICIES.replace("[Pod]", "[ConfigMap]"), tmp_path)
    given = inputs([config], policies, in_cluster=True)
    seen = observe(given, ["UPDATE"]).triggers
    key = object_key(config)
    status = {
        operation: [one.status.value for one in answers[key].responses["one"][0].results]
        for operation, answers in seen.items()
    }
    assert status == {"": ["error"], "UPDATE": ["pass"]}


def test_each_operation_has_a_run_and_the_default_one_too(compiled):
    observed = observe(inputs([obj("Pod", "a")], compiled), ["UPDATE", "DELETE", "UPDATE"])
    assert list(observed.triggers) == ["", "DELETE", "UPDATE"]
