"""The webhook configurations that Kyverno writes."""

import pytest

from kyvsim.kubernetes.objects import ObjectKey
from kyvsim.model.release import V_1_19_0, V_1_19_1
from kyvsim.simulator.webhook_configurations import WebhookTarget, in_order, rules_of

# The webhook configurations that Kyverno writes.

API = "admissionregistration.k8s.io/v1"
DENIES = {"validate": {"deny": {}, "message": "no", "failureAction": "Enforce"}}
LABELS = {"mutate": {"patchStrategicMerge": {"metadata": {"labels": {"seen": "yes"}}}}}
CEL = "policies.kyverno.io/v1"
PODS = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}


@pytest.fixture
def webhooks(admin):
    """Return what gives the webhooks that validate, or mutate, by name."""

    def get(*, mutating=False):
        verb = "Mutating" if mutating else "Validating"
        name = f"kyverno-resource-{verb.lower()}-webhook-cfg"
        found = admin.get(*ObjectKey(API, f"{verb}WebhookConfiguration", "", name))
        return {one["name"]: one for one in found.get("webhooks") or ()}

    return get


@pytest.fixture
def validating(obj):
    def make(name, namespace="", **spec):
        kind = "NamespacedValidatingPolicy" if namespace else "ValidatingPolicy"
        constraints = {"resourceRules": [PODS], **spec.pop("constraints", {})}
        validations = [{"expression": "object.metadata.name != 'x'"}]
        spec = {"matchConstraints": constraints, "validations": validations, **spec}
        return obj(kind, name, namespace, api_version=CEL, spec=spec)

    return make


def test_those_for_policies_and_leases_are_fixed(cluster):
    found = {}
    for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"):
        for one in cluster.sim.store.list(API, kind, ""):
            for hook in one.get("webhooks") or ():
                resources = [name for rule in hook["rules"] for name in rule["resources"]]
                found[hook["name"]] = hook["failurePolicy"], len(resources)
    assert found == {
        "mutate-policy.kyverno.svc": ("Fail", 2),
        "validate-policy.kyverno.svc": ("Fail", 11),
        "monitor-webhooks.kyverno.svc": ("Ignore", 1),
    }


def test_there_are_none_without_policies(webhooks):
    assert webhooks() == webhooks(mutating=True) == {}


def test_policies_with_rules_share_one_for_each_failure_policy(put, webhooks, cluster_policy):
    put(
        cluster_policy("a", DENIES),
        cluster_policy("b", DENIES, failurePolicy="Ignore", webhookTimeoutSeconds=15),
        cluster_policy("c", LABELS),
    )
    found = webhooks()
    assert list(found) == ["validate.kyverno.svc-fail", "validate.kyverno.svc-ignore"]
    ignoring = found["validate.kyverno.svc-ignore"]
    assert (ignoring["timeoutSeconds"], ignoring["failurePolicy"]) == (15, "Ignore")
    assert ignoring["clientConfig"]["service"]["path"] == "/validate/ignore"
    (mutating,) = webhooks(mutating=True).values()
    (rule,) = (one for one in mutating["rules"] if "pods" in one["resources"])
    assert rule["operations"] == ["CREATE", "UPDATE"]


def test_conditions_make_a_webhook_of_its_own(put, webhooks, cluster_policy):
    condition = {"name": "c", "expression": "true"}
    put(cluster_policy("a", DENIES, webhookConfiguration={"matchConditions": [condition]}))
    (found,) = webhooks().values()
    assert found["name"] == "validate.kyverno.svc-fail-finegrained-a"
    assert found["matchConditions"] == [condition]


def test_an_exclude_of_kinds_takes_them_out(put, webhooks, cluster_policy):
    match = {"any": [{"resources": {"kinds": ["Secret", "ConfigMap"]}}]}
    exclude = {"any": [{"resources": {"kinds": ["Secret"], "operations": ["DELETE"]}}]}
    put(cluster_policy("a", {**DENIES, "match": match, "exclude": exclude}))
    (found,) = webhooks().values()
    rules = {one["resources"][0]: one["operations"] for one in found["rules"]}
    assert rules == {
        "configmaps": ["CONNECT", "CREATE", "DELETE", "UPDATE"],
        "secrets": ["CONNECT", "CREATE", "UPDATE"],
    }


def test_they_go_with_their_policies(put, webhooks, cluster_policy, admin, cluster):
    put(cluster_policy("a", DENIES))
    admin.delete(ObjectKey("kyverno.io/v1", "ClusterPolicy", "", "a"))
    cluster.sim.scheduler.settle(30)
    assert webhooks() == {}


def test_policies_in_cel_share_one_by_failure_policy_and_selectors(put, webhooks, validating):
    put(validating("a"), validating("b"), validating("c", failurePolicy="Ignore"))
    found = webhooks()
    assert list(found) == ["vpol.validate.kyverno.svc-fail", "vpol.validate.kyverno.svc-ignore"]
    assert found["vpol.validate.kyverno.svc-fail"]["clientConfig"]["service"]["path"] == (
        "/vpol/a/b/c"
    )
    put(validating("d", constraints={"namespaceSelector": {"matchLabels": {"tier": "gold"}}}))
    assert len(webhooks()) == 3


def test_a_namespaced_policy_hears_of_its_namespace(put, webhooks, validating, obj):
    put(obj("Namespace", "shop"), validating("a", namespace="shop"))
    (found,) = webhooks().values()
    assert found["name"] == "nvpol.validate.kyverno.svc-fail"
    assert found["namespaceSelector"]["matchExpressions"][0]["values"] == ["shop"]


@pytest.mark.parametrize(
    ("spec", "field", "value"),
    [
        ({"webhookConfiguration": {"timeoutSeconds": 20}}, "timeoutSeconds", 20),
        ({"constraints": {"matchPolicy": "Exact"}}, "matchPolicy", "Exact"),
    ],
)
def test_some_settings_need_a_webhook_of_their_own(put, webhooks, validating, spec, field, value):
    put(validating("a", **spec))
    (found,) = webhooks().values()
    assert (found["name"], found[field]) == ("vpol.validate.kyverno.svc-fail-finegrained-a", value)


def test_mutating_webhooks_have_the_usual_match_policy(put, webhooks, obj):
    constraints = {"matchPolicy": "Exact", "resourceRules": [PODS]}
    expression = "Object{metadata: Object.metadata{labels: {'a': 'b'}}}"
    patch = {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}
    spec = {"matchConstraints": constraints, "mutations": [patch]}
    put(obj("MutatingPolicy", "a", "", api_version=CEL, spec=spec))
    (found,) = webhooks(mutating=True).values()
    assert found["name"].endswith("-finegrained-a")
    assert found["matchPolicy"] == "Equivalent"


def conditions_of(webhooks):
    (found,) = webhooks().values()
    return [(one["name"], one["expression"]) for one in found.get("matchConditions") or ()]


def test_conditions_are_pushed_to_the_api_server_for_each_variant(put, webhooks, validating):
    labelled = {"name": "l", "expression": "has(object.metadata.a)"}
    here = {"name": "n", "expression": "namespaceObject.metadata.name == 'a'"}
    controllers = {"podControllers": {"controllers": ["cronjobs"]}}
    put(validating("a", matchConditions=[labelled, here], autogen=controllers))
    pod = "(object.apiVersion == 'v1' && object.kind =='Pod')"
    job = "(object.apiVersion == 'batch/v1' && object.kind =='CronJob')"
    template = "object.spec.jobTemplate.spec.template"
    assert conditions_of(webhooks) == [
        ("autogen-l", f"!({pod}) || (has(object.metadata.a))"),
        ("autogen-cronjobs-l", f"!({job}) || (has({template}.metadata.a))"),
    ]


def test_conditions_that_only_kyverno_knows_stay_with_it(put, webhooks, validating):
    put(validating("a", matchConditions=[{"name": "c", "expression": "hash.md5('a') == 'b'"}]))
    assert list(webhooks()) == ["vpol.validate.kyverno.svc-fail"]


def test_the_api_server_refuses_what_a_pushed_condition_cannot_say(put, admin, validating, pod):
    put(validating("a", matchConditions=[{"name": "c", "expression": "1 / 0 == 1"}]))
    assert "is forbidden: expression" in admin.create(pod()).error.message


_EXPRESSIONS = {
    "ValidatingPolicy": {"validations": [{"expression": "true"}]},
    "ImageValidatingPolicy": {
        "matchImageReferences": [{"glob": "*"}],
        "attestors": [{"name": "key", "cosign": {"key": {"data": "x"}}}],
        "validations": [{"expression": "images.containers.size() > 0"}],
    },
    "MutatingPolicy": {
        "mutations": [
            {
                "patchType": "ApplyConfiguration",
                "applyConfiguration": {"expression": "Object{metadata: Object.metadata{}}"},
            }
        ]
    },
}


@pytest.mark.parametrize(
    ("release", "kind", "shared", "own"),
    [
        (V_1_19_0, "ValidatingPolicy", True, True),
        (V_1_19_0, "NamespacedValidatingPolicy", False, True),
        (V_1_19_1, "NamespacedValidatingPolicy", True, True),
        (V_1_19_0, "ImageValidatingPolicy", True, True),
        (V_1_19_0, "NamespacedImageValidatingPolicy", True, False),
        (V_1_19_1, "NamespacedImageValidatingPolicy", True, False),
        (V_1_19_0, "MutatingPolicy", True, True),
        (V_1_19_0, "NamespacedMutatingPolicy", True, True),
    ],
)
def test_which_webhooks_name_what_is_derived_for_controllers(put, webhooks, obj, kind, shared, own):
    """As upstream's pkg/controllers/webhook/validating.go of each release does."""
    namespace = "shop" if kind.startswith("Namespaced") else ""
    spec = {
        "matchConstraints": {"resourceRules": [PODS]},
        **_EXPRESSIONS[kind.removeprefix("Namespaced")],
    }
    alone = {"webhookConfiguration": {"timeoutSeconds": 5}}
    put(
        obj("Namespace", "shop"),
        obj(kind, "a", namespace, api_version=CEL, spec=spec),
        obj(kind, "b", namespace, api_version=CEL, spec={**spec, **alone}),
    )
    found = webhooks(mutating=kind.endswith("MutatingPolicy"))
    asked = {
        "finegrained" in name: {one for rule in webhook["rules"] for one in rule["resources"]}
        for name, webhook in found.items()
    }
    assert asked[False] >= {"pods"}
    assert ("deployments" in asked[False]) is shared
    assert ("deployments" in asked[True]) is own


# The rules of webhooks: what a wider entry takes, and the order in which they are written.


def entry(resource, operation="CREATE", *, group="", version="v1", scope="Namespaced"):
    name, _, part = resource.partition("/")
    return WebhookTarget(group, version, name, part, scope, operation)


def shown(rules):
    return [(one["resources"], one["operations"]) for one in rules]


def test_resources_with_the_same_operations_share_a_rule():
    found = [entry("secrets"), entry("configmaps"), entry("secrets", "UPDATE")]
    assert shown(rules_of(found)) == [
        (["configmaps"], ["CREATE"]),
        (["secrets"], ["CREATE", "UPDATE"]),
    ]


def test_ephemeral_containers_come_with_pods():
    assert shown(rules_of([entry("pods")])) == [(["pods", "pods/ephemeralcontainers"], ["CREATE"])]
    assert shown(rules_of([entry("pods", group="apps")])) == [(["pods"], ["CREATE"])]


@pytest.mark.parametrize(
    ("wide", "narrow", "covered"),
    [
        ("*/*", "pods/exec", True),
        ("*/*", "secrets", True),
        ("*", "secrets", True),
        ("pods/*", "pods/exec", True),
        ("*/scale", "deployments/scale", True),
        ("pods/*", "pods", False),
        ("*", "pods/exec", False),
    ],
)
def test_what_a_wider_entry_takes(wide, narrow, covered):
    found = rules_of([entry(wide, group="*", version="*", scope="*"), entry(narrow)])
    assert (len(found) == 1) is covered


def test_another_operation_is_not_taken():
    found = [entry("*", group="*", version="*", scope="*"), entry("secrets", "DELETE")]
    assert len(rules_of(found)) == 2


def test_rules_stand_once_with_sorted_lists_and_shorter_ones_first():
    rule = {"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["UPDATE", "CREATE"]}
    found = in_order([{**rule, "resources": ["b", "a"]}, {**rule, "resources": ["z"]}] * 2)
    assert shown(found) == [(["z"], ["CREATE", "UPDATE"]), (["a", "b"], ["CREATE", "UPDATE"])]
