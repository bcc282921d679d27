"""What policies in CEL answer at admission."""

import pytest

from kyvsim.kubernetes.objects import ObjectKey
from kyvsim.model.simulation import HELM
from kyvsim.simulator.api_server.server import ADMIN

# Policies in CEL in a cluster: refused, ready, asked, excepted, scanned.

GROUP = "policies.kyverno.io"
PODS = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}
TEAM = {"expression": "has(object.metadata.labels) && 'team' in object.metadata.labels"}
VALIDATION = {**TEAM, "message": "team is missing"}


@pytest.fixture
def validating(obj):
    """Return what makes a ValidatingPolicy on Pods, or a namespaced one."""

    def make(name, *validations, namespace="", version="v1beta1", rule=PODS, **spec):
        kind = "NamespacedValidatingPolicy" if namespace else "ValidatingPolicy"
        constraints = {"resourceRules": [rule]}
        spec = {"matchConstraints": constraints, "validations": list(validations), **spec}
        return obj(kind, name, namespace, api_version=f"{GROUP}/{version}", spec=spec)

    return make


@pytest.fixture
def exception(obj):
    def make(name, policy, **spec):
        references = [{"name": policy, "kind": "ValidatingPolicy"}]
        spec = {"policyRefs": references, **spec}
        return obj("PolicyException", name, "kyverno", api_version=f"{GROUP}/v1", spec=spec)

    return make


def status_of(admin, name, kind="ValidatingPolicy", namespace=""):
    return admin.get(*ObjectKey(f"{GROUP}/v1", kind, namespace, name))["status"]


@pytest.mark.parametrize("version", ["v1alpha1", "v1beta1", "v1"])
def test_every_served_version_denies_as_its_webhook_does(put, admin, validating, pod, version):
    put(validating("team", VALIDATION, version=version))
    assert admin.create(pod(labels={"team": "a"})).ok
    assert admin.create(pod("q")).error.message == (
        'admission webhook "vpol.validate.kyverno.svc-fail" denied the request: '
        "Policy team failed: team is missing"
    )


def test_a_denial_has_what_all_policies_of_a_webhook_say(put, admin, validating, pod):
    put(
        validating("a", VALIDATION),
        validating("b", {"expression": "object.metadata.nothing == 'x'"}),
    )
    assert admin.create(pod()).error.message == (
        'admission webhook "vpol.validate.kyverno.svc-fail" denied the request: '
        "Policy a failed: team is missing; Policy b error: error: no such key: nothing"
    )


def test_actions_decide_between_denial_warning_and_silence(put, admin, validating, pod):
    put(
        validating("warns", VALIDATION, validationActions=["Warn"]),
        validating("audits", VALIDATION, validationActions=["Audit"]),
    )
    response = admin.create(pod())
    assert response.ok
    assert response.warnings == ("Policy warns failed: team is missing",)


def test_a_namespaced_policy_looks_at_its_namespace_only(put, admin, validating, obj, pod):
    put(obj("Namespace", "shop"), validating("team", VALIDATION, namespace="shop"))
    assert admin.create(pod("p", "default")).ok
    assert admin.create(pod("p", "shop")).error.message.startswith(
        'admission webhook "nvpol.validate.kyverno.svc-fail"'
    )


def test_the_status_says_what_a_policy_is_ready_for(put, admin, validating):
    put(validating("team", VALIDATION))
    status = status_of(admin, "team")
    conditions = status["conditionStatus"]["conditions"]
    assert [(one["type"], one["status"], one["message"]) for one in conditions] == [
        ("WebhookConfigured", "True", "Webhook configured."),
        ("RBACPermissionsGranted", "True", "Policy is ready for reporting."),
    ]
    assert status["conditionStatus"]["ready"] is True
    assert {name: len(one["targets"]) for name, one in status["autogen"]["configs"].items()} == {
        "cronjobs": 1,
        "defaults": 5,
    }


def test_reports_need_rights_unless_nothing_is_scanned(put, admin, validating):
    widgets = {**PODS, "apiGroups": ["example.com"], "resources": ["widgets"]}
    scans = {"background": {"enabled": False}}
    put(
        validating("scanned", VALIDATION, rule=widgets),
        validating("asked", VALIDATION, rule=widgets, evaluation=scans),
    )
    scanned, asked = (status_of(admin, name)["conditionStatus"] for name in ("scanned", "asked"))
    assert (scanned["ready"], asked["ready"]) == (False, True)
    assert (
        "missing permissions: get example.com/v1, Resource=widgets"
        in (scanned["conditions"][1]["message"])
    )


def test_controllers_are_asked_as_well(put, admin, validating, obj):
    put(validating("team", VALIDATION))
    labels = {"app": "web"}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"selector": {"matchLabels": labels}, "template": pod}
    web = obj("Deployment", "web", "default", api_version="apps/v1", spec=spec)
    assert "Policy team failed: team is missing" in admin.create(web).error.message


def test_without_admission_nobody_asks(put, admin, validating, pod):
    put(validating("team", VALIDATION, evaluation={"admission": {"enabled": False}}))
    assert admin.create(pod()).ok


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        (
            {"validations": [{"expression": "object.a =="}]},
            'spec.validations[0].expression: Invalid value: "object.a =="',
        ),
        (
            {"matchConstraints": {}},
            "spec.matchConstraints: Required value: a matchConstraints with at least one",
        ),
    ],
)
def test_what_cannot_work_is_refused(admin, validating, spec, said):
    response = admin.create(validating("p", VALIDATION, **spec))
    assert 'webhook "validate-policy.kyverno.svc" denied' in response.error.message
    assert said in response.error.message


def test_exceptions_count_while_they_are_there(put, admin, validating, exception, cluster, pod):
    put(validating("team", VALIDATION))
    condition = {"name": "c", "expression": "object.metadata.name.startsWith('free')"}
    put(exception("free", "team", matchConditions=[condition]))
    assert not admin.create(pod("bound")).ok
    assert admin.create(pod("free")).ok
    admin.delete(ObjectKey(f"{GROUP}/v1", "PolicyException", "kyverno", "free"))
    cluster.sim.scheduler.settle(30)
    assert not admin.create(pod("free-too")).ok


def test_an_exception_without_a_policy_is_refused(admin, exception):
    response = admin.create(exception("e", "team", policyRefs=[]))
    assert "spec.policyRefs" in response.error.message


def test_objects_are_scanned_and_reported_under_their_own_source(put, cluster, validating, pod):
    put(pod(), validating("team", VALIDATION))
    cluster.sim.scheduler.advance(120)
    (report,) = cluster.sim.store.list("wgpolicyk8s.io/v1alpha2", "PolicyReport", "default")
    (result,) = report["results"]
    assert (result["policy"], result["result"], result["source"]) == (
        "team",
        "fail",
        "KyvernoValidatingPolicy",
    )
    assert "rule" not in result  # it has none, and a server writes no empty text out


def test_policies_of_both_groups_may_share_a_name(put, admin, validating, cluster_policy, pod):
    deny = {"validate": {"deny": {}, "message": "never", "failureAction": "Audit"}}
    put(validating("team", VALIDATION), cluster_policy("team", deny))
    assert not admin.create(pod()).ok
    admin.delete(ObjectKey("kyverno.io/v1", "ClusterPolicy", "", "team"))
    assert not admin.create(pod()).ok


def test_a_deletion_is_none_of_a_policy_on_creation(put, admin, validating, pod):
    """Conditions that its webhook asks are asked of the requests in its rules only."""
    condition = {"name": "c", "expression": "object.metadata.name != ''"}
    put(pod(), validating("team", {"expression": "true"}, matchConditions=[condition]))
    assert admin.delete(ObjectKey("v1", "Pod", "default", "p")).ok


@pytest.fixture
def mutating(obj):
    """Return what makes a MutatingPolicy that sets a label, or does what an expression says."""

    def make(name, expression="", **spec):
        label = f"Object{{metadata: Object.metadata{{labels: {{'{name}': 'yes'}}}}}}"
        configuration = {"expression": expression or label}
        mutation = {"patchType": "ApplyConfiguration", "applyConfiguration": configuration}
        spec = {"matchConstraints": {"resourceRules": [PODS]}, "mutations": [mutation], **spec}
        return obj("MutatingPolicy", name, api_version=f"{GROUP}/v1beta1", spec=spec)

    return make


def labels_of(response):
    return response.object["metadata"].get("labels")


def test_mutations_come_one_after_the_other_and_before_those_of_rules(
    put, admin, mutating, cluster_policy, pod
):
    seen = {"metadata": {"annotations": {"seen": "{{ request.object.metadata.labels.a }}"}}}
    put(
        mutating("a"), mutating("b"), cluster_policy("r", {"mutate": {"patchStrategicMerge": seen}})
    )
    made = admin.create(pod()).object["metadata"]
    assert made["labels"] == {"a": "yes", "b": "yes"}
    assert made["annotations"] == {"seen": "yes"}


def test_a_mutation_that_cannot_be_done_denies_unless_failures_are_ignored(
    put, admin, mutating, pod
):
    broken = "Object{metadata: Object.metadata{labels: {'x': object.metadata.nope}}}"
    put(mutating("a"), mutating("broken", broken, failurePolicy="Ignore"))
    assert labels_of(admin.create(pod())) == {"a": "yes"}
    put(mutating("closed", broken))
    said = admin.create(pod("q")).error.message
    assert said.startswith(
        'admission webhook "mpol.validate.kyverno.svc-fail" denied the request: '
        "Resource: default/q, Kind: Pod, Errors: [Policy closed: "
    )


def test_scans_tell_of_mutations_that_were_not_done(put, cluster, mutating, pod):
    put(pod(), mutating("a"))
    cluster.sim.scheduler.advance(120)
    (report,) = cluster.sim.store.list("wgpolicyk8s.io/v1alpha2", "PolicyReport", "default")
    (result,) = report["results"]
    assert (result["result"], result["message"]) == ("fail", "mutation is not applied")


def test_a_mutating_policy_without_any_mode_is_refused(admin, mutating):
    response = admin.create(mutating("a", evaluation={"admission": {"enabled": False}}))
    assert "disabling both admission and mutateExisting" in response.error.message


@pytest.fixture
def deleting(obj):
    def make(name, namespace="", schedule="*/1 * * * *", **spec):
        kind = "NamespacedDeletingPolicy" if namespace else "DeletingPolicy"
        rule = {**PODS, "operations": ["*"]}
        condition = {"name": "c", "expression": "object.metadata.name == 'old'"}
        constraints = {"resourceRules": [rule]}
        spec = {
            "matchConstraints": constraints,
            "conditions": [condition],
            "schedule": schedule,
            **spec,
        }
        return obj(kind, name, namespace, api_version=f"{GROUP}/v1beta1", spec=spec)

    return make


def names_of(cluster):
    return [one["metadata"]["name"] for one in cluster.sim.store.list("v1", "Pod", "")]


def test_a_deleting_policy_acts_by_its_schedule(put, cluster, deleting, pod):
    put(pod("old"), pod("new"), deleting("clean"))
    assert names_of(cluster) == ["new", "old"]
    cluster.sim.scheduler.advance(70)
    assert names_of(cluster) == ["new"]


def test_a_namespaced_one_looks_at_its_namespace_only(put, cluster, deleting, obj, pod):
    put(obj("Namespace", "shop"), pod("old"), deleting("clean", "shop"))
    cluster.sim.scheduler.advance(70)
    assert names_of(cluster) == ["old"]


def test_what_it_cannot_evaluate_is_told(put, cluster, deleting, pod):
    broken = [{"name": "c", "expression": "object.metadata.nope == 'a'"}]
    put(pod("old"), deleting("clean", conditions=broken))
    cluster.sim.scheduler.advance(70)
    told = [one for one in cluster.sim.timeline.events if one.action == "evaluate"]
    assert [(one.object.name, one.outcome, one.policies) for one in told] == [
        ("old", "failed", ("clean",))
    ]
    assert names_of(cluster) == ["old"]


def test_a_schedule_that_is_none_is_refused(admin, deleting):
    response = admin.create(deleting("clean", schedule="every day"))
    assert "is not in proper cron format" in response.error.message


def _lists(resource):
    return f"resource.List('v1', '{resource}', 'default').items.size() == 0"


def test_a_kind_without_objects_is_an_empty_list_in_a_cluster(put, admin, validating, pod, obj):
    put(validating("none", {"expression": _lists("limitranges"), "message": "there is one"}))
    assert admin.create(pod()).ok
    put(obj("LimitRange", "l", "default", spec={"limits": []}))
    assert "there is one" in admin.create(pod("q")).error.message


def test_expressions_read_what_the_roles_of_kyverno_let_them(make_cluster, validating, pod):
    cluster = make_cluster(installation=HELM)
    admin = cluster.sim.client(ADMIN)
    assert admin.create(validating("reads", {"expression": _lists("secrets")})).ok
    cluster.sim.scheduler.settle(30)
    assert 'cannot list resource "secrets" in API group ""' in admin.create(pod()).error.message


def test_the_request_is_as_the_api_server_tells_it(put, admin, validating, pod):
    put(validating("dry", {"expression": "request.dryRun"}))
    assert admin.create(pod(), dry_run=True).ok
    assert not admin.create(pod()).ok


@pytest.mark.parametrize("namespace", ["", "default"])
def test_a_mutating_policy_on_pods_changes_controllers_too(put, admin, obj, namespace):
    rule = {"expression": 'Object{spec: Object.spec{schedulerName: "mine"}}'}
    spec = {
        "matchConstraints": {"resourceRules": [PODS]},
        "mutations": [{"patchType": "ApplyConfiguration", "applyConfiguration": rule}],
    }
    kind = "NamespacedMutatingPolicy" if namespace else "MutatingPolicy"
    put(obj(kind, "m", namespace, api_version=f"{GROUP}/v1", spec=spec))
    web = obj("Deployment", "web", "default", api_version="apps/v1")
    template = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    web["spec"] = {"replicas": 0, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    assert admin.create(web).object["spec"]["template"]["spec"]["schedulerName"] == "mine"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ('"v1", "ConfigMap"', ""),
        ('"example.org/v1", "Mesh"', "prod"),
        (
            '"v2", "ConfigMap"',
            'failed to map kind to resource: no matches for kind "ConfigMap" in version "v2"',
        ),
        (
            '"v1", "Nothing"',
            'failed to map kind to resource: no matches for kind "Nothing" in version "v1"',
        ),
        ('"a/b/c", "X"', "failed to map kind to resource: unexpected GroupVersion string: a/b/c"),
    ],
)
@pytest.mark.parametrize("namespace", ["", "default"])
def test_the_resource_of_a_kind_is_known(
    put, admin, validating, pod, obj, namespace, call, message
):
    definition = obj("CustomResourceDefinition", "meshkins.example.org")
    definition["apiVersion"] = "apiextensions.k8s.io/v1"
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    definition["spec"] = {
        "group": "example.org",
        "names": {"kind": "Mesh", "plural": "meshkins"},
        "scope": "Namespaced",
        "versions": [
            {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
        ],
    }
    admin.create(definition)
    role = obj("ClusterRole", "read", api_version="rbac.authorization.k8s.io/v1")
    role["metadata"]["labels"] = {"rbac.kyverno.io/aggregate-to-admission-controller": "true"}
    role["rules"] = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]
    admin.create(role)
    for kind, version in (("ConfigMap", "v1"), ("Mesh", "example.org/v1")):
        made = obj(kind, "c", "default", api_version=version)
        made["data"] = {"env": "prod"}
        admin.create(made)
    place = "" if namespace else "object.metadata.namespace, "
    text = f"resource.{'ToGVR' if namespace else 'toGVR'}({call})"
    found = f'resource.Get({text}, {place}"c").data.env'
    put(
        validating(
            "gvr", {"expression": f"{found} == 'prod'", "message": "no"}, namespace=namespace
        )
    )
    answer = admin.create(pod())
    if message in {"", "prod"}:
        assert answer.ok, answer.error
    else:
        assert message in answer.error.message


# ImageValidatingPolicies in a cluster: what their webhooks deny, and what is told of them.

NATIVE = "admissionregistration.k8s.io/v1"
DIGEST = f"sha256:{'a' * 64}"
NO_REGISTRY = "kyvsim is offline"
VALIDATING = 'admission webhook "ivpol.validate.kyverno.svc-fail" denied the request: Policy p'
PINNING = 'admission webhook "ivpol.mutate.kyverno.svc-fail" denied the request: Policy p'
UNPINNED = (
    f"{PINNING} error: failed to update digest: failed to resolve digest for image "
    f"ghcr.io/app:1: {NO_REGISTRY}"
)
UNKNOWN = (
    f"{VALIDATING} error: failed to evaluate policy: failed to get imagedata: there is no data of "
    f"`ghcr.io/app@{DIGEST}`, and {NO_REGISTRY}: add it to `spec.images` of a "
    "--context-file"
)


@pytest.fixture
def images(obj):
    """Return what makes a policy on images of `ghcr.io`."""

    def make(kind="ImageValidatingPolicy", namespace="", pins=False, **spec):
        spec = {
            "matchConstraints": {"resourceRules": [PODS]},
            "matchImageReferences": [{"glob": "ghcr.io/*"}],
            "validationConfigurations": {"mutateDigest": pins},
            "attestors": [],
            "validations": [{"expression": "images.containers.size() < 2", "message": "many"}],
            **spec,
        }
        return obj(kind, "p", namespace, api_version=f"{GROUP}/v1", spec=spec)

    return make


@pytest.fixture
def pod_of(pod):
    def make(*images, name="p", namespace="default"):
        written = [{"name": f"c{index}", "image": one} for index, one in enumerate(images)]
        return pod(name, namespace, spec={"containers": written})

    return make


@pytest.fixture
def hooks(cluster):
    def names(kind):
        name = f"kyverno-resource-{kind.lower()}-webhook-cfg"
        stored = cluster.sim.store.get(NATIVE, f"{kind}WebhookConfiguration", "", name)
        found = stored.get("webhooks") or ()
        return [(one["name"], one["clientConfig"]["service"]["path"]) for one in found]

    return names


def test_each_has_a_webhook_that_validates_and_one_that_pins(put, images, hooks):
    put(images(pins=True))
    assert hooks("Validating") == [("ivpol.validate.kyverno.svc-fail", "/ivpol/validate/p")]
    assert hooks("Mutating") == [("ivpol.mutate.kyverno.svc-fail", "/ivpol/mutate/p")]


def test_policies_that_do_not_pin_have_no_mutating_webhook(put, images, hooks):
    put(images("NamespacedImageValidatingPolicy", "default"))
    assert hooks("Validating") == [("ivpol.validate.kyverno.svc-fail", "/nivpol/validate/p")]
    assert hooks("Mutating") == []


@pytest.mark.parametrize(
    ("pins", "given", "why"),
    [
        (False, ["nginx:1"], ""),
        (True, ["nginx:1"], ""),
        (
            False,
            ["ghcr.io/app:1"],
            f"{VALIDATING} failed: image ghcr.io/app:1 does not have a digest",
        ),
        (True, ["ghcr.io/app:1"], UNPINNED),
        (True, [f"ghcr.io/app@{DIGEST}"], UNKNOWN),
    ],
)
def test_requests_are_denied_as_far_as_no_registry_is_needed(
    put, admin, images, pod_of, pins, given, why
):
    put(images(pins=pins))
    error = admin.create(pod_of(*given)).error
    assert (error.message if error else "") == why


def test_validations_are_asked_where_no_image_is_taken(put, admin, images, pod_of):
    put(images(validations=[{"expression": "false", "message": "never"}]))
    assert admin.create(pod_of("nginx:1")).error.message == f"{VALIDATING} failed: never"


def test_conditions_that_do_not_hold_let_pass(put, admin, images, pod_of):
    condition = {"name": "c", "expression": "object.metadata.name == 'x'"}
    put(images(pins=True, matchConditions=[condition]))
    assert admin.create(pod_of("ghcr.io/app:1")).ok
    denied = admin.create(pod_of("ghcr.io/app:1", name="x")).error.message
    assert denied.startswith('admission webhook "ivpol.mutate.kyverno.svc-fail-finegrained-p"')


def test_exceptions_let_pass(make_cluster, obj, images, pod_of):
    sim = make_cluster(exceptions=True).sim
    refs = [{"name": "p", "kind": "ImageValidatingPolicy"}]
    exception = obj(
        "PolicyException", "e", "default", api_version=f"{GROUP}/v1", spec={"policyRefs": refs}
    )
    for one in (images(pins=True), exception):
        assert sim.client(ADMIN).create(one).ok
        sim.scheduler.settle(30)
    assert sim.client(ADMIN).create(pod_of("ghcr.io/app:1")).ok


def test_namespaced_ones_look_at_their_namespace(put, admin, obj, images, pod_of):
    put(obj("Namespace", "shop"), images("NamespacedImageValidatingPolicy", "shop"))
    assert admin.create(pod_of("ghcr.io/app:1")).ok
    assert not admin.create(pod_of("ghcr.io/app:1", namespace="shop")).ok


@pytest.mark.parametrize("pins", [True, False])
def test_warnings_are_given_and_audits_reported(put, admin, images, pod_of, pins):
    put(images(pins=pins, validationActions=["Warn"]))
    response = admin.create(pod_of("ghcr.io/app:1"))
    assert response.ok
    assert "Policy p failed: image ghcr.io/app:1 does not have a digest" in response.warnings


def test_the_status_has_variants_and_nothing_made_for_the_api_server(put, cluster, images):
    put(images())
    status = cluster.sim.store.get(f"{GROUP}/v1", "ImageValidatingPolicy", "", "p")["status"]
    assert status["conditionStatus"]["ready"] is True
    assert sorted(status["autogen"]["configs"]) == ["cronjobs", "defaults"]
    assert "generated" not in status


def test_scans_tell_what_they_find(put, cluster, images, pod_of):
    put(pod_of("ghcr.io/app:1"), images())
    cluster.sim.scheduler.advance(120)
    (report,) = cluster.sim.store.list("wgpolicyk8s.io/v1alpha2", "PolicyReport", "default")
    told = [(one["source"], one["rule"], one["result"]) for one in report["results"]]
    assert told == [("KyvernoImageValidatingPolicy", "p", "fail")]
