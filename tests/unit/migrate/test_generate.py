"""Generate rules become policies that make the same objects."""

import pytest

from kyvsim.equivalence.policy_runner import effect_of
from kyvsim.model.migration import ConversionOutcome

SOURCE = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "creds", "namespace": "vault", "labels": {"copy": "yes", "tier": "a"}},
    "type": "Opaque",
    "data": {"key": "dmFsdWU="},
}
NAME = "{{ request.object.metadata.name }}"
LIST = "request.object.metadata.annotations.places | split(@, ',')"


def rule(**body):
    return {
        "match": {"any": [{"resources": {"kinds": ["Namespace"]}}]},
        "generate": {"apiVersion": "v1", "kind": "ConfigMap", "name": "made", **body},
    }


def secret(**body):
    return rule(kind="Secret", **body)


def namespace(name, **annotations):
    metadata = {"name": name, "labels": {"team": "shop"}, "annotations": annotations}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


@pytest.fixture
def made(policy, run, converted, read_policy):
    """Return what gives the objects that a rule makes, and those that its conversion makes."""

    def objects(rule, trigger):
        told, policies = converted(rule)
        assert told.outcome is not ConversionOutcome.REFUSED, told.reason
        new = [read_policy(one) for one in policies]
        sides = (run(side, trigger, given=[SOURCE]) for side in ([policy(rule)], new))
        old, new = (effect_of(one).generated for one in sides)
        assert new == old
        return new

    return objects


@pytest.mark.parametrize(
    "data",
    [
        {"data": {"fixed": "yes"}},
        {"data": {"whole": NAME, "part": f"in {NAME}: x"}},
        {"data": {"team": "{{ request.object.metadata.labels.team || 'none' }}"}},
        {"data": {"none": "{{ request.object.metadata.labels.none || 'none' }}"}},
        {"metadata": {"labels": {"a": NAME}, "name": "ignored"}, "data": {"((": "(( x ))"}},
        {"data": {"text": "line 1\n((x))\n"}, "immutable": True},
        {"data": {f"key-{NAME}": "a", "b": NAME}},
        {"data": {"labels": "{{ request.object.metadata.labels }}"}},
        None,
    ],
    ids=str,
)
def test_data(data, made):
    (one,) = made(rule(namespace=NAME, data=data), namespace("shop"))
    assert one["metadata"]["namespace"] == "shop"


def test_what_is_missing_hinders_the_object(made):
    body = {"data": {"x": "{{ request.object.metadata.labels.none }}"}}
    assert made(rule(namespace=NAME, data=body), namespace("shop")) == ()


def test_copies(made):
    clone = {"namespace": "vault", "name": "creds"}
    assert made(secret(name="creds", namespace=NAME, clone=clone), namespace("shop"))
    # A source is no copy of itself.
    assert not made(secret(name="creds", namespace=NAME, clone=clone), namespace("vault"))


def test_copies_with_another_name(made, converted):
    renamed = secret(namespace=NAME, clone={"namespace": "vault", "name": "creds"})
    (one,) = made(renamed, namespace("shop"))
    assert one["data"] == SOURCE["data"]
    told, _ = converted(renamed)
    assert "renamed copies" in {one.name for one in told.conditions}


@pytest.mark.parametrize(
    ("selector", "count"),
    [
        (None, 1),
        ({"matchLabels": {"copy": "yes"}}, 1),
        ({"matchLabels": {"copy": "no"}}, 0),
        ({"matchLabels": {"copy": "yes"}, "matchExpressions": [
            {"key": "tier", "operator": "In", "values": ["b"]}]}, 0),
    ],
    ids=str,
)  # fmt: skip
def test_lists_of_copies(selector, count, made):
    clones = {"namespace": "vault", "kinds": ["v1/Secret"], "selector": selector}
    listed = {"namespace": NAME, "cloneList": clones}
    found = {"match": rule()["match"], "generate": listed}
    assert len(made(found, namespace("shop"))) == count
    assert made(found, namespace("vault")) == ()


def test_loops(made):
    wanted = {
        "all": [{"key": "{{ element }}", "operator": "NotEquals", "value": "b"}],
    }
    block = {
        "list": LIST,
        "preconditions": wanted,
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "for-{{ element }}",
        "namespace": "{{ element }}",
        "data": {"data": {"at": "{{ element }}"}},
    }
    looped = {"match": rule()["match"], "generate": {"foreach": [block]}}
    found = made(looped, namespace("shop", places="a,b,c"))
    assert [one["metadata"]["namespace"] for one in found] == ["a", "c"]


def test_loops_that_count(made):
    block = {
        "list": LIST,
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "number-{{ elementIndex }}",
        "namespace": "{{ element }}",
    }
    looped = {"match": rule()["match"], "generate": {"foreach": [block]}}
    found = made(looped, namespace("shop", places="a,b"))
    assert [one["metadata"]["name"] for one in found] == ["number-0", "number-1"]


def test_when_objects_are_made_and_kept_up(converted):
    body = rule(
        namespace=NAME,
        data={},
        synchronize=True,
        generateExisting=True,
        orphanDownstreamOnPolicyDelete=True,
    )
    _, (made,) = converted(body, useServerSideApply=True, background=False, admission=False)
    assert made["spec"]["useServerSideApply"] is True
    assert made["spec"]["evaluation"] == {
        "admission": {"enabled": False},
        "generateExisting": {"enabled": True},
        "synchronize": {"enabled": True},
        "orphanDownstreamOnPolicyDelete": {"enabled": True},
    }


def test_conditions_read_what_context_gives(made):
    found = rule(namespace=NAME, data={"data": {"a": "{{ team }}"}})
    found["context"] = [
        {"name": "team", "variable": {"jmesPath": "request.object.metadata.labels.team"}}
    ]
    found["preconditions"] = {"all": [{"key": "{{ team }}", "operator": "Equals", "value": "shop"}]}
    assert made(found, namespace("shop"))
    found["preconditions"]["all"][0]["value"] = "bank"
    assert not made(found, namespace("shop"))


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ({"kind": "Node", "namespace": "x"}, "namespace"),
        ({"namespace": "x", "data": "text"}, "data"),
        ({"namespace": "x", "kind": "Odd", "clone": {"name": "a", "namespace": "y"}}, "name"),
    ],
    ids=str,
)
def test_what_has_no_twin(body, where, converted):
    told, made = converted(rule(**body))
    assert told.outcome is ConversionOutcome.REFUSED
    assert told.path == f"spec.rules[0].generate.{where}"
    assert made == []
