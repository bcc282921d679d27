"""`webhookConfiguration.matchConditions`: the API server asks a webhook, or does not."""

import pytest

from kyvsim.kubernetes.objects import ObjectKey

PODS_OF_SHOP = "object.metadata.namespace == 'shop'"
DENIES = {"validate": {"deny": {}, "message": "no", "failureAction": "Enforce"}}
LABELS = {"mutate": {"patchStrategicMerge": {"metadata": {"labels": {"seen": "yes"}}}}}
UNEVALUABLE = "object.metadata.annotations.team == 'a'"


@pytest.fixture
def conditioned(put, cluster_policy, obj):
    """Return what puts in a policy with conditions, and the namespace `shop`."""

    def go(rule, *expressions, **spec):
        conditions = [
            {"name": f"c-{index}", "expression": text} for index, text in enumerate(expressions)
        ]
        webhook = {"matchConditions": conditions, **spec}
        put(obj("Namespace", "shop"), cluster_policy("p", rule, webhookConfiguration=webhook))

    return go


def test_a_request_that_no_condition_excludes_is_denied_by_a_webhook_of_its_own(
    conditioned, admin, pod
):
    conditioned(DENIES, PODS_OF_SHOP)
    assert admin.create(pod("a", "default")).ok
    error = admin.create(pod("a", "shop")).error
    assert error.message.startswith('admission webhook "validate.kyverno.svc-fail-finegrained-p"')


def test_conditions_keep_requests_from_mutation(conditioned, admin, pod):
    conditioned(LABELS, PODS_OF_SHOP)
    assert "labels" not in admin.create(pod("a", "default")).object["metadata"]
    assert admin.create(pod("a", "shop")).object["metadata"]["labels"] == {"seen": "yes"}


def test_one_false_condition_is_enough_whatever_the_others_are(conditioned, admin, pod):
    conditioned(DENIES, UNEVALUABLE, "false")
    assert admin.create(pod()).ok


def test_a_condition_that_cannot_be_evaluated_refuses_the_request(conditioned, admin, pod):
    conditioned(DENIES, UNEVALUABLE)
    assert admin.create(pod()).error.message == (
        f"pods \"p\" is forbidden: expression '{UNEVALUABLE}' resulted in error: "
        "no such key: annotations"
    )


def test_it_lets_the_request_pass_where_failures_are_ignored(conditioned, admin, pod):
    conditioned(DENIES, UNEVALUABLE, failurePolicy="Ignore")
    assert admin.create(pod()).ok


def test_conditions_keep_triggers_from_generation(conditioned, cluster, admin, obj):
    data = {"kind": "ConfigMap", "apiVersion": "v1", "name": "made", "data": {"data": {"a": "b"}}}
    target = {**data, "namespace": "{{ request.object.metadata.name }}", "synchronize": False}
    match = {"any": [{"resources": {"kinds": ["Namespace"]}}]}
    conditioned({"match": match, "generate": target}, "object.metadata.name == 'gold'")
    for name in ("gold", "tin"):
        assert admin.create(obj("Namespace", name)).ok
    cluster.sim.scheduler.settle(30)
    made = [
        admin.get(*ObjectKey("v1", "ConfigMap", name, "made")) is not None
        for name in ("gold", "tin")
    ]
    assert made == [True, False]


def test_scans_ask_the_conditions_too(put, cluster, cluster_policy, obj, pod):
    conditions = [{"name": "c", "expression": PODS_OF_SHOP}]
    policy = cluster_policy(
        "p",
        {"validate": {**DENIES["validate"], "failureAction": "Audit"}},
        background=True,
        webhookConfiguration={"matchConditions": conditions},
    )
    put(obj("Namespace", "shop"), pod("a", "default"), pod("a", "shop"), policy)
    cluster.sim.scheduler.advance(120)
    reports = cluster.sim.store.list("wgpolicyk8s.io/v1alpha2", "PolicyReport", "")
    assert {one["metadata"]["namespace"] for one in reports} == {"shop"}
