"""Cleanup policies become policies that delete the same objects."""

import pytest

from kyvsim.equivalence.policy_runner import effect_of
from kyvsim.migrate import convert
from kyvsim.model.migration import ConversionOutcome
from kyvsim.report.migrate import document_yaml

PODS = {"any": [{"resources": {"kinds": ["Pod"]}}]}


def cleanup(namespace="", **spec):
    metadata = {"name": "old", **({"namespace": namespace} if namespace else {})}
    return {
        "apiVersion": "kyverno.io/v2",
        "kind": "CleanupPolicy" if namespace else "ClusterCleanupPolicy",
        "metadata": metadata,
        "spec": {"schedule": "0 * * * *", "match": PODS, **spec},
    }


def pods(*some):
    return {"any": [{"resources": {"kinds": ["Pod"], **one}} for one in some]}


def condition(key, operator, value):
    return {"conditions": {"all": [{"key": key, "operator": operator, "value": value}]}}


@pytest.fixture
def goes(read_policy, run, pod):
    """Return what tells whether a policy deletes a Pod, and so does what becomes of it."""

    def deletes(policy, *, created="2026-01-01T00:00:00Z"):
        old = read_policy(policy)
        conversion = convert(old, document_yaml)
        assert conversion.is_whole, conversion.rules[0].reason
        new = read_policy(dict(conversion.made[0].data))
        obj = pod("web", labels={"app": "shop"}, restartPolicy="Never")
        obj["metadata"]["creationTimestamp"] = created
        effects = [effect_of(run([side], obj)) for side in (old, new)]
        assert effects[0].deleted is effects[1].deleted
        assert effects[0].later == effects[1].later
        return effects[0].deleted

    return deletes


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, True),
        ({"match": pods({"names": ["w*"]})}, True),
        ({"match": pods({"namespaces": ["bank"]})}, False),
        ({"match": pods({"namespaces": ["bank"]}, {"names": ["web"]})}, True),
        ({"match": pods({"selector": {"matchLabels": {"app": "shop"}}})}, True),
        ({"match": pods({"selector": {"matchLabels": {"app": "s*"}}})}, True),
        ({"match": pods({"selector": {"matchLabels": {"app": "bank"}}})}, False),
        ({"match": pods({"operations": ["UPDATE"]})}, True),
        ({"exclude": pods({"names": ["web"]})}, False),
        (condition("{{ target.spec.restartPolicy }}", "Equals", "Never"), True),
        (condition("{{ target.spec.none }}", "Equals", "Never"), False),
        (condition("{{ request.namespace }}", "Equals", "shop"), True),
        ({"deletionPropagationPolicy": "Orphan"}, True),
    ],
    ids=str,
)
def test_what_goes(spec, expected, goes):
    assert goes(cleanup(**spec)) is expected


@pytest.mark.parametrize(("namespace", "expected"), [("shop", True), ("bank", False)])
def test_policies_of_a_namespace_look_there(namespace, expected, goes):
    assert goes(cleanup(namespace)) is expected


@pytest.mark.parametrize(
    ("key", "operator", "value", "expected"),
    [
        ("time_since('', '{{ target.metadata.creationTimestamp }}', '')", ">", "24h", True),
        ("time_since('', target.metadata.creationTimestamp, '')", ">", "48h", False),
        ("time_diff(target.metadata.creationTimestamp, time_now_utc())", "<", "48h", True),
        ("time_before(target.metadata.creationTimestamp, '2026-01-01T00:00:01Z')", "", True, True),
        ("time_after(time_add(target.metadata.creationTimestamp, '48h'), time_now())", "", True,
         True),
    ],
    ids=str,
)  # fmt: skip
def test_times(key, operator, value, expected, goes):
    operators = {">": "GreaterThan", "<": "LessThan", "": "Equals"}
    asked = condition(f"{{{{ {key} }}}}", operators[operator], value)
    assert goes(cleanup(**asked)) is expected


def test_what_only_a_request_tells_has_no_twin(read_policy):
    asked = cleanup(**condition("{{ request.userInfo.username }}", "Equals", "x"))
    (rule,) = convert(read_policy(asked), document_yaml).rules
    assert rule.outcome is ConversionOutcome.REFUSED
    assert rule.path == "spec.conditions.all[0]"
