"""ImageValidatingPolicies in a cluster: what their webhooks deny, and what is told of them."""

import pytest

from kyvsim.simulator.api_server.server import ADMIN

GROUP = "policies.kyverno.io"
NATIVE = "admissionregistration.k8s.io/v1"
DIGEST = f"sha256:{'a' * 64}"
PODS = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}
NO_REGISTRY = "kyvsim asks no registry"
VALIDATING = 'admission webhook "ivpol.validate.kyverno.svc-fail" denied the request: Policy p'
PINNING = 'admission webhook "ivpol.mutate.kyverno.svc-fail" denied the request: Policy p'
UNPINNED = (
    f"{PINNING} error: failed to update digest: failed to resolve digest for image "
    f"ghcr.io/app:1: {NO_REGISTRY}"
)
UNKNOWN = (
    f"{VALIDATING} error: failed to evaluate policy: failed to get imagedata: nothing is known of "
    f"`ghcr.io/app@{DIGEST}`, and {NO_REGISTRY}: give it in `spec.images` of a --context-file"
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
