"""Cleanup policies: of which objects they say that they would delete them."""

import pytest

from kyvsim.engine.compile.compiled import CompileOptions
from kyvsim.engine.evaluate import evaluate
from kyvsim.engine.world import GivenObjects, World
from kyvsim.languages import READERS, compile_policies
from kyvsim.load.policy import load_policies
from kyvsim.model.release import NEWEST, V_1_19_0, V_1_19_1
from kyvsim.model.source import Document, Location

POD = {"kinds": ["Pod"]}
NAMED = {"key": "{{ target.metadata.name }}", "operator": "Equals", "value": "web"}


def cleanup(namespace="", **spec):
    metadata = {"name": "c", **({"namespace": namespace} if namespace else {})}
    data = {
        "apiVersion": "kyverno.io/v2",
        "kind": "CleanupPolicy" if namespace else "ClusterCleanupPolicy",
        "metadata": metadata,
        "spec": {"schedule": "@daily", "match": {"any": [{"resources": POD}]}, **spec},
    }
    (policy,), remarks = load_policies(
        [Document(data, "p", 0, lambda _: Location("p", 1, 1))], READERS
    )
    assert remarks == ()
    return policy


@pytest.fixture
def judge(system, request_for):
    def judge(policy, obj, *more, given=(), release=NEWEST):
        options = CompileOptions(system._replace(release=release))
        policies, remarks = compile_policies([policy, *more], options)
        assert remarks == ()
        response = evaluate(policies, request_for(obj), World(GivenObjects(given)))
        (result,) = response.responses[-1].results
        assert result.phase == "Deletion"
        return result.status.value, result.message

    return judge


MATCHED, UNMATCHED = ("pass", "resource matched"), ("fail", "resource did not match")


def only(**resources):
    return {"any": [{"resources": resources}]}


CASES = [
    ({}, MATCHED),
    ({"match": only(kinds=["Secret"])}, UNMATCHED),
    ({"match": only(kinds=["*"], operations=["DELETE"])}, MATCHED),
    ({"match": only(operations=["CREATE"])}, MATCHED),
    ({"match": {}}, MATCHED),
    ({"match": {"all": [{"resources": POD}, {"resources": {"names": ["x"]}}]}}, UNMATCHED),
    ({"match": {"any": [{"resources": POD, "roles": ["a:b"]}]}}, UNMATCHED),
    ({"exclude": only(names=["we?"])}, UNMATCHED),
    ({"exclude": only(names=["x"])}, MATCHED),
    ({"exclude": {}}, UNMATCHED),
    ({"namespace": "shop"}, MATCHED),
    ({"namespace": "bank"}, UNMATCHED),
    ({"conditions": {"all": [NAMED]}}, MATCHED),
    ({"conditions": {"any": [{**NAMED, "value": "x"}]}}, UNMATCHED),
    ({"conditions": {}}, MATCHED),
    (
        {"conditions": {"all": [{**NAMED, "key": "{{ images.containers.a.name }}"}]}},
        ("fail", "resource did not match"),
    ),
    (
        {
            "context": [{"name": "wanted", "variable": {"value": "web"}}],
            "conditions": {"all": [{**NAMED, "value": "{{ wanted }}"}]},
        },
        MATCHED,
    ),
]


@pytest.mark.parametrize(("spec", "said"), CASES)
def test_what_is_said_of_a_pod(judge, pod, spec, said):
    assert judge(cleanup(**spec), pod(containers=[{"name": "a", "image": "nginx"}])) == said


def test_a_namespace_selector_says_nothing_of_a_namespace(judge, thing, pod):
    selector = {"matchLabels": {"a": "b"}}
    policy = cleanup(match=only(kinds=["Pod", "Namespace"], namespaceSelector=selector))
    assert judge(policy, thing("Namespace", "shop", "")) == MATCHED
    assert judge(policy, pod()) == UNMATCHED
    assert (
        judge(policy, pod(), given=[thing("Namespace", "shop", "", labels={"a": "b"})]) == MATCHED
    )


def test_a_variable_without_value_is_an_error(judge, pod):
    condition = {**NAMED, "key": "{{ request.object.metadata.name }}"}
    status, message = judge(cleanup(conditions={"all": [condition]}), pod())
    assert status == "error"
    assert "request.object.metadata.name" in message


def test_deletion_looks_at_objects_as_they_were_given(judge, policy, pod):
    rename = {"mutate": {"patchStrategicMerge": {"metadata": {"labels": {"a": "b"}}}}}
    condition = {**NAMED, "key": "{{ target.metadata.labels.a || 'none' }}", "value": "none"}
    assert judge(cleanup(conditions={"all": [condition]}), pod(), policy(rename)) == MATCHED


@pytest.mark.parametrize(
    ("release", "status"), [(V_1_19_0, "error"), (V_1_19_1, MATCHED[0])], ids=str
)
def test_a_release_decides_whether_containers_that_are_no_maps_are_errors(
    judge, pod, release, status
):
    condition = {"key": "{{ images.containers.a.tag }}", "operator": "Equals", "value": "1"}
    obj = pod(containers=["text", {"name": "a", "image": "nginx:1"}])
    found, _ = judge(cleanup(conditions={"all": [condition]}), obj, release=release)
    assert found == status
