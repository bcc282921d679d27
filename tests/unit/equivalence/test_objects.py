"""Rules for existing objects: what has to be there, and what of them counts."""

import pytest

from kyvsim.equivalence.field_rules import problems
from kyvsim.equivalence.objects import KindName, missing_targets, smallest
from kyvsim.equivalence.policy_runner import difference, effect_of
from kyvsim.kubernetes.discovery import NO_KINDS, every_kind, preferred_version
from kyvsim.kubernetes.validation import problems_of
from kyvsim.model.comparison import DifferenceKind

DEFINED = {"CustomResourceDefinition"}
"""Nobody evaluates policies on definitions: their smallest objects need too many fields."""
SECRET = {"apiVersion": "v1", "kind": "Secret", "namespace": "shop", "name": "one"}


def changing(**target):
    patch = {"metadata": {"labels": {"a": "b"}}}
    return {"mutate": {"targets": [{**SECRET, **target}], "patchStrategicMerge": patch}}


@pytest.mark.parametrize(
    ("target", "place"),
    [
        ({}, ("shop", "one")),
        ({"name": "o*", "namespace": "?"}, ("default", "a")),
        ({"name": "{{ request.object.data.x }}"}, ("shop", "a")),
    ],
    ids=str,
)
def test_targets_are_there(target, place, policy):
    (found,) = missing_targets([policy(changing(**target))], (), NO_KINDS)
    assert (found["metadata"]["namespace"], found["metadata"]["name"]) == place
    assert found["kind"] == "Secret"


def test_those_that_are_given_are_enough(policy):
    given = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "one"}}
    assert [*missing_targets([policy(changing())], [given], NO_KINDS)] == []


def test_no_request_fails_for_want_of_a_target(policy, run, pod):
    response = run([policy(changing())], pod("web"))
    (said,) = effect_of(response).results
    assert said.status == "error"
    assert not effect_of(response).denied


def test_a_list_that_one_side_leaves_alone_differs_in_order(policy, run, pod):
    merge = {"spec": {"imagePullSecrets": [{"name": "b"}]}}
    obj = pod("web", imagePullSecrets=[{"name": "a"}, {"name": "b"}])
    old = effect_of(run([policy({"mutate": {"patchStrategicMerge": merge}})], obj))
    new = effect_of(run([], obj))
    assert old.changed
    assert not new.changed
    assert difference(old, new) is DifferenceKind.ORDER


@pytest.mark.parametrize("labels", [1.5, "x", ["x"]])
def test_labels_of_a_generated_object_can_be_anything(labels, policy, run, pod):
    rule = {
        "generate": {"apiVersion": "v1", "kind": "ConfigMap", "name": "c", "namespace": "default"}
    }
    rule["generate"]["data"] = {}
    response = run([policy(rule)], pod("web"))
    (answer,) = response.responses
    made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "labels": labels}}
    results = tuple(one._replace(generated=(made,)) for one in answer.results)
    found = effect_of(response._replace(answers=(answer._replace(results=results),)))
    assert found.generated == (made,)


@pytest.mark.parametrize("kind", [one for one in every_kind(NO_KINDS) if one[1] not in DEFINED])
def test_the_smallest_object_of_a_kind_is_valid(kind):
    obj = smallest(KindName(kind[0], preferred_version(*kind, NO_KINDS), kind[1]))
    assert [*problems_of(obj)] == []
    assert [*problems(obj)] == []
