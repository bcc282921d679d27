"""The objects of an installation, by the values of the chart."""

import pytest

from kyvsim.kubernetes.objects import ObjectKey
from kyvsim.model.simulation import CI, HELM, Installation
from kyvsim.simulator.api_server.authorizer import may
from kyvsim.simulator.api_server.server import ADMIN
from kyvsim.simulator.configuration import ADMISSION, BACKGROUND, CLEANUP, REPORTS

SECRETS = ObjectKey("v1", "Secret", "shop", "")
NOT_SHOP = {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["shop"]}
DENY = {"failureAction": "Enforce", "message": "no", "deny": {}}


@pytest.fixture
def open_with(make_cluster):
    """Return what opens a cluster with values of the chart."""

    def make(**values):
        cluster = make_cluster(installation=Installation("values.yaml", values))
        cluster.sim.scheduler.settle(30)
        return cluster

    return make


@pytest.fixture
def denies(cluster_policy, obj):
    """Return what tells whether a policy against ConfigMaps holds in a cluster."""

    def ask(cluster, namespace, *exceptions, **fields):
        admin = cluster.sim.client(ADMIN)
        match = {"any": [{"resources": {"kinds": ["ConfigMap"]}}]}
        policy = cluster_policy("guard", {"match": match, "validate": DENY})
        for one in (*exceptions, policy, obj("Namespace", namespace)):
            response = admin.create(one)
            assert response.ok or response.error.reason == "AlreadyExists", response.error
        cluster.sim.scheduler.settle(30)
        return not admin.create(obj("ConfigMap", "m", namespace, **fields)).ok

    return ask


@pytest.mark.parametrize(
    ("user", "verb", "installations"),
    [
        (BACKGROUND, "create", {"ci"}),
        (BACKGROUND, "get", {"ci"}),
        (ADMISSION, "list", {"ci"}),
        (REPORTS, "get", set()),
        (CLEANUP, "delete", set()),
    ],
)
def test_who_may_touch_secrets(make_cluster, user, verb, installations):
    for installation in (HELM, CI):
        cluster = make_cluster(installation=installation)
        cluster.sim.scheduler.settle(30)
        found = may(user, verb, SECRETS, cluster.sim.store)
        assert found is (installation.name in installations), installation.name


def test_extra_rights_are_those_of_the_controller(open_with):
    extra = [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "create"]}]
    rights = {"rbac": {"clusterRole": {"extraResources": extra}}}
    store = open_with(backgroundController=rights, reportsController=rights).sim.store
    assert may(BACKGROUND, "create", SECRETS, store)
    assert not may(ADMISSION, "get", SECRETS, store)
    # Of what the reports controller is given it may only read.
    assert may(REPORTS, "watch", SECRETS, store)
    assert not may(REPORTS, "create", SECRETS, store)


def test_core_rights_can_be_taken_away(open_with):
    quota = SECRETS._replace(kind="ResourceQuota")
    assert may(BACKGROUND, "create", quota, open_with().sim.store)
    core = {"rbac": {"coreClusterRole": {"extraResources": []}}}
    store = open_with(backgroundController=core).sim.store
    assert not may(BACKGROUND, "create", quota, store)
    assert may(BACKGROUND, "get", SECRETS._replace(kind="ConfigMap"), store)


@pytest.mark.parametrize(
    ("config", "namespace", "denied"),
    [
        ({}, "shop", True),
        ({}, "kube-public", False),
        ({"resourceFiltersExcludeNamespaces": ["kube-public"]}, "kube-public", True),
        ({"resourceFiltersExclude": ["[*/*,kube-public,*]"]}, "kube-public", True),
        ({"resourceFilters": []}, "kube-public", True),
        ({"resourceFilters": []}, "kyverno", False),
        ({"resourceFilters": [], "excludeKyvernoNamespace": False}, "kyverno", True),
        ({"resourceFiltersIncludeNamespaces": ["shop"]}, "shop", False),
        ({"resourceFiltersInclude": ["[ConfigMap,*,m]"]}, "shop", False),
        ({"resourceFilters": ['[*/*,{{ include "kyverno.namespace" . }},*]']}, "shop", True),
        ({"excludeGroups": ["kubeadm:cluster-admins"]}, "shop", False),
        ({"excludeUsernames": ["kubernetes-*"]}, "shop", False),
    ],
)
def test_filters_are_those_of_the_values(open_with, denies, config, namespace, denied):
    assert denies(open_with(config=config), namespace) is denied


@pytest.mark.parametrize(
    ("selector", "denied"),
    [
        ({"namespaceSelector": {"matchExpressions": [NOT_SHOP]}}, False),
        ({"namespaceSelector": {"matchLabels": {"guarded": "yes"}}}, False),
        ({"objectSelector": {"matchLabels": {"guarded": "yes"}}}, False),
        (
            {"objectSelector": {"matchExpressions": [{"key": "free", "operator": "DoesNotExist"}]}},
            True,
        ),
    ],
)
def test_the_webhooks_are_asked_about_what_they_select(open_with, denies, selector, denied):
    assert denies(open_with(config={"webhooks": selector}), "shop") is denied


@pytest.mark.parametrize(
    ("features", "denied", "warning"),
    [
        ({}, True, "PolicyException resources would not be processed until it is enabled."),
        ({"enabled": True}, True, "The exceptionNamespace flag is not set"),
        (
            {"enabled": True, "namespace": "other"},
            True,
            "PolicyException resource namespace must match the defined namespace.",
        ),
        ({"enabled": True, "namespace": "default"}, False, ""),
        ({"enabled": True, "namespace": "*"}, False, ""),
    ],
)
def test_exceptions_count_where_they_may(open_with, denies, obj, features, denied, warning):
    cluster = open_with(features={"policyExceptions": features})
    match = {"any": [{"resources": {"kinds": ["ConfigMap"]}}]}
    excepted = [{"policyName": "guard", "ruleNames": ["rule-0"]}]
    spec = {"match": match, "exceptions": excepted}
    exception = obj("PolicyException", "e", "default", "kyverno.io/v2", spec=spec)
    assert denies(cluster, "shop", exception) is denied
    told = [one.message for one in cluster.sim.timeline.events if one.object.name == "e"]
    assert (warning in told[0]) if warning else ("processed" not in told[0])


def test_events_are_left_out_as_the_values_say(open_with):
    assert open_with().sim.settings.installation.omitted_events == (
        "PolicyApplied",
        "PolicySkipped",
    )
    told = open_with(features={"omitEvents": {"eventTypes": ["PolicyViolation"]}})
    assert told.sim.settings.installation.omitted_events == ("PolicyViolation",)


CONFIG_MAPS = [
    {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": ["configmaps"],
    }
]


@pytest.mark.parametrize("forced", [False, True])
def test_what_cannot_be_evaluated_lets_pass_where_failures_are_to_be_ignored(
    open_with, obj, forced
):
    cluster = open_with(features={"forceFailurePolicyIgnore": {"enabled": forced}})
    admin = cluster.sim.client(ADMIN)
    policy = obj("ValidatingPolicy", "guard", apiVersion="policies.kyverno.io/v1")
    policy["spec"] = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": CONFIG_MAPS},
        "matchConditions": [{"name": "faulty", "expression": "object.data.nothing == 'x'"}],
        "validations": [{"expression": "false", "message": "no"}],
    }
    for one in (policy, obj("Namespace", "shop")):
        response = admin.create(one)
        assert response.ok, response.error
    cluster.sim.scheduler.settle(30)
    assert admin.create(obj("ConfigMap", "m", "shop", data={})).ok is forced
    hooks = cluster.sim.store.get(
        "admissionregistration.k8s.io/v1",
        "ValidatingWebhookConfiguration",
        "",
        "kyverno-resource-validating-webhook-cfg",
    )
    found = {one["failurePolicy"] for one in hooks["webhooks"]}
    assert found == ({"Ignore"} if forced else {"Fail"})
