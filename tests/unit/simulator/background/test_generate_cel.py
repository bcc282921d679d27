"""Generating policies in CEL: their objects, triggers and synchronization."""

import pytest

from kyvsim.kubernetes.objects import ObjectKey, labels, metadata
from kyvsim.model.release import V_1_19_0, V_1_19_1
from kyvsim.model.simulation import HELM
from kyvsim.simulator.api_server.server import ADMIN
from kyvsim.simulator.background.controller import restart_background_controller
from kyvsim.simulator.configuration import BACKGROUND

GROUP = "policies.kyverno.io"
MADE = ObjectKey("v1", "ConfigMap", "shop", "made")
SOURCE = ObjectKey("v1", "Secret", "default", "source")
COPY = SOURCE._replace(namespace="shop")
ROLE = "rbac.authorization.k8s.io/v1"
ONE = """
generator.Apply(object.metadata.name, [{
  "apiVersion": dyn("v1"), "kind": dyn("ConfigMap"),
  "metadata": dyn({"name": "made"}), "data": dyn({"a": "VALUE"})}])
"""
CLONE = (
    "generator.Apply(object.metadata.name, [resource.Get('v1', 'secrets', 'default', 'source')])"
)
TEAM = {
    "name": "team",
    "expression": "has(object.metadata.labels) && 'team' in object.metadata.labels",
}
LABELLED = {"metadata": {"labels": {"team": "a"}}}


@pytest.fixture
def generating(obj):
    """Return what makes a GeneratingPolicy on Namespaces, or a namespaced one."""

    def make(*expressions, name="gen", namespace="", value="1", evaluation=None, **spec):
        kind = "NamespacedGeneratingPolicy" if namespace else "GeneratingPolicy"
        rule = {
            "apiGroups": [""],
            "apiVersions": ["v1"],
            "resources": ["configmaps" if namespace else "namespaces"],
            "operations": spec.pop("operations", ["CREATE", "UPDATE"]),
        }
        texts = expressions or (ONE.replace("VALUE", value),)
        spec = {
            "matchConstraints": {"resourceRules": [rule]},
            "generate": [{"expression": text} for text in texts],
            "evaluation": {one: {"enabled": True} for one in evaluation or ()},
            **spec,
        }
        return obj(kind, name, namespace, api_version=f"{GROUP}/v1", spec=spec)

    return make


@pytest.fixture
def source(obj):
    return obj("Secret", "source", "default", data={"k": "YQ=="})


def test_downstreams_have_labels_that_tell_whose_they_are(put, admin, generating, obj, made):
    put(generating(), obj("Namespace", "shop"))
    uid = metadata(admin.get("v1", "Namespace", "", "shop"))["uid"]
    prefix = "generate.kyverno.io/"
    assert made()["data"] == {"a": "1"}
    assert labels(made()) == {
        "app.kubernetes.io/managed-by": "kyverno",
        f"{prefix}policy-name": "gen",
        f"{prefix}trigger-name": "shop",
        f"{prefix}trigger-namespace": "",
        f"{prefix}trigger-uid": uid,
        f"{prefix}trigger-kind": "Namespace",
        f"{prefix}trigger-group": "",
        f"{prefix}trigger-version": "v1",
    }
    assert admin.list("kyverno.io/v2", "UpdateRequest") == []


def test_a_clone_tells_its_source_and_leaves_what_servers_fill_in(
    put, admin, generating, obj, source
):
    put(source, generating(CLONE), obj("Namespace", "shop"))
    copy, uid = admin.get(*COPY), metadata(admin.get(*SOURCE))["uid"]
    assert copy["data"] == {"k": "YQ=="}
    assert labels(copy)["generate.kyverno.io/source-uid"] == uid
    assert metadata(copy)["uid"] != uid


def test_what_others_made_is_left_alone(put, admin, generating, obj, made):
    put(obj("Namespace", "shop"), obj("ConfigMap", "made", "shop", data={"a": "9"}), generating())
    admin.merge(ObjectKey("v1", "Namespace", "", "shop"), LABELLED)
    assert made()["data"] == {"a": "9"}


@pytest.mark.parametrize(("evaluation", "after"), [((), "9"), (("synchronize",), "1")])
def test_edits_of_others_are_undone_where_synchronized(
    put, admin, generating, obj, settle, made, evaluation, after
):
    put(generating(evaluation=evaluation), obj("Namespace", "shop"))
    admin.merge(MADE, {"data": {"a": "9"}})
    settle()
    assert made()["data"] == {"a": after}


@pytest.mark.parametrize(("release", "again"), [(V_1_19_0, False), (V_1_19_1, True)])
def test_a_deleted_downstream_comes_back(put, admin, generating, obj, settle, made, again):
    put(generating(evaluation=["synchronize"]), obj("Namespace", "shop"))
    admin.delete(MADE)
    settle()
    assert made()["data"] == {"a": "1"}
    admin.delete(MADE)
    settle()
    assert (made() is not None) is again


def test_a_clone_follows_its_source_to_the_end(
    put, admin, generating, obj, settle, source, background_may
):
    put(background_may("", "secrets"), source, generating(CLONE, evaluation=["synchronize"]))
    put(obj("Namespace", "shop"))
    admin.merge(SOURCE, {"data": {"k": "Yg=="}})
    settle()
    assert admin.get(*COPY)["data"] == {"k": "Yg=="}
    admin.delete(SOURCE)
    settle()
    assert admin.get(*COPY) is None


def test_who_may_not_watch_a_kind_does_not_follow_it_and_that_is_told(
    put, admin, generating, obj, settle, told, source
):
    put(source, generating(CLONE, evaluation=["synchronize"]), obj("Namespace", "shop"))
    admin.merge(SOURCE, {"data": {"k": "Yg=="}})
    settle()
    assert admin.get(*COPY)["data"] == {"k": "YQ=="}
    (event,) = told("synchronize")
    assert event.outcome == "skipped"
    assert 'cannot watch resource "secrets"' in event.message


@pytest.mark.parametrize(("evaluation", "stays"), [((), True), (("synchronize",), False)])
def test_a_trigger_that_does_not_match_any_more_loses_what_it_brought(
    put, admin, generating, obj, settle, made, evaluation, stays
):
    put(
        generating(evaluation=evaluation, matchConditions=[TEAM]),
        obj("Namespace", "shop", **LABELLED),
    )
    assert made()
    admin.merge(ObjectKey("v1", "Namespace", "", "shop"), {"metadata": {"labels": {"team": None}}})
    settle()
    assert (made() is not None) is stays


@pytest.mark.parametrize(
    "evaluation", [("synchronize",), ("synchronize", "orphanDownstreamOnPolicyDelete")]
)
def test_the_end_of_a_policy_is_that_of_its_data(
    put, admin, generating, obj, settle, made, evaluation
):
    policy = put(generating(evaluation=evaluation))
    put(obj("Namespace", "shop"))
    admin.delete(ObjectKey(policy["apiVersion"], policy["kind"], "", "gen"))
    settle()
    assert (made() is None) is (len(evaluation) == 1)


def test_a_clone_outlives_its_policy(put, admin, generating, obj, settle, source):
    policy = put(source, generating(CLONE, evaluation=["synchronize"]))
    put(obj("Namespace", "shop"))
    admin.delete(ObjectKey(policy["apiVersion"], policy["kind"], "", "gen"))
    settle()
    assert admin.get(*COPY)


@pytest.mark.parametrize(("release", "kept"), [(V_1_19_0, False), (V_1_19_1, True)])
def test_objects_of_a_changed_policy_are_renewed(put, admin, generating, obj, settle, made, kept):
    policy = put(generating(evaluation=["synchronize"]))
    put(obj("Namespace", "shop"))
    before = metadata(made())["uid"]
    key = ObjectKey(policy["apiVersion"], policy["kind"], "", "gen")
    admin.merge(key, {"spec": generating(value="2", evaluation=["synchronize"])["spec"]})
    settle()
    assert made()["data"] == {"a": "2"}
    assert (metadata(made())["uid"] == before) is kept


@pytest.mark.parametrize("release", [V_1_19_0, V_1_19_1])
def test_what_a_changed_policy_no_longer_generates_is_deleted(
    put, admin, generating, obj, settle, made
):
    policy = put(generating(evaluation=["synchronize"]))
    put(obj("Namespace", "shop"))
    key = ObjectKey(policy["apiVersion"], policy["kind"], "", "gen")
    other = ONE.replace("made", "other")
    admin.merge(key, {"spec": generating(other, evaluation=["synchronize"])["spec"]})
    settle()
    assert made() is None
    assert admin.get(*MADE._replace(name="other")) is not None


@pytest.mark.parametrize(("evaluation", "there"), [((), False), (("generateExisting",), True)])
def test_triggers_from_before_count_where_that_is_wanted(
    put, generating, obj, made, evaluation, there
):
    put(obj("Namespace", "shop"), generating(evaluation=evaluation))
    assert (made() is not None) is there


SHOP = {"matchLabels": {"kubernetes.io/metadata.name": "shop"}}
OTHER = {"matchLabels": {"kubernetes.io/metadata.name": "other"}}
BROKEN = {"matchExpressions": [{"key": "a", "operator": "Like"}]}


@pytest.mark.parametrize(
    ("constraints", "there"),
    [
        ({"objectSelector": SHOP}, True),
        ({"objectSelector": OTHER}, False),
        ({"objectSelector": BROKEN}, False),
        ({"namespaceSelector": SHOP}, True),
        ({"namespaceSelector": OTHER}, False),
        ({"resourceRules": [{"resourceNames": ["other"]}]}, False),
        ({"resourceRules": [{"apiVersions": ["*"]}]}, True),
        ({"resourceRules": [{"apiVersions": ["*", "v2"]}]}, False),
        ({"excludeResourceRules": [{"resourceNames": ["shop"]}]}, False),
    ],
)
def test_triggers_from_before_are_those_that_constraints_name(
    put, generating, obj, made, constraints, there
):
    policy = generating(evaluation=["generateExisting"])
    written = policy["spec"]["matchConstraints"]
    (rule,) = written["resourceRules"]
    for name, value in constraints.items():
        rules = name.endswith("Rules")
        written[name] = [{**rule, **one} for one in value] if rules else value
    put(obj("Namespace", "shop"), policy)
    assert (made() is not None) is there


def test_a_deletion_generates_where_it_is_listed(put, admin, generating, obj, settle, made):
    text = ONE.replace("object.metadata.name", "'shop'").replace("VALUE", "1")
    put(obj("Namespace", "shop"), obj("Namespace", "old"))
    put(generating(text, operations=["DELETE"]))
    admin.delete(ObjectKey("v1", "Namespace", "", "old"))
    settle()
    assert made()


def test_what_the_controller_may_not_do_is_tried_five_times(make_cluster, generating, obj, source):
    cluster = make_cluster(installation=HELM)
    admin, scheduler = cluster.sim.client(ADMIN), cluster.sim.scheduler
    for one in (source, generating(CLONE), obj("Namespace", "shop")):
        assert admin.create(one).ok
        scheduler.settle(30)
    attempts = [one for one in cluster.sim.timeline.events if one.action == "attempt"]
    assert [one.policies for one in attempts] == [("gen",)] * 5
    assert attempts[-1].given_up
    (failure_reason,) = attempts[-1].failure_reasons
    assert failure_reason.message.startswith(
        "gpol gen rule gen error for trigger v1/Namespace//shop: failed to evaluate policy: "
    )
    assert 'cannot get resource "secrets"' in failure_reason.message
    assert admin.get(*COPY) is None


def test_what_stands_before_an_error_stays(put, generating, obj, made):
    put(
        generating(ONE.replace("VALUE", "1"), "object.spec.nothing == 'x'"),
        obj("Namespace", "shop"),
    )
    assert made()["data"] == {"a": "1"}


def test_a_namespaced_policy_stays_in_its_namespace(put, admin, generating, obj, told):
    role = f"""generator.Apply([{{"apiVersion": dyn("{ROLE}"), "kind": dyn("ClusterRole"),
      "metadata": dyn({{"name": "made"}})}}])"""
    own = """generator.Apply([{"apiVersion": dyn("v1"), "kind": dyn("ConfigMap"),
      "metadata": dyn({"name": "made"})}])"""
    condition = [{"name": "given", "expression": "object.metadata.name == 'given'"}]
    put(
        obj("Namespace", "shop"),
        obj("Namespace", "other"),
        generating(own, name="own", namespace="shop", matchConditions=condition),
        generating(role, name="role", namespace="shop", matchConditions=condition),
        obj("ConfigMap", "given", "other"),
        obj("ConfigMap", "given", "shop"),
    )
    assert admin.get(*MADE)
    assert admin.get(*MADE._replace(namespace="other")) is None
    messages = [one.message for event in told("attempt") for one in event.failure_reasons]
    assert any("cross-scope generation denied" in one for one in messages)


@pytest.mark.parametrize("skips", [True, False])
def test_what_kyverno_does_itself_counts_where_that_is_wanted(
    cluster, put, generating, obj, settle, made, background_may, skips
):
    put(
        background_may("", "namespaces"), generating(name="usual", value="8", operations=["UPDATE"])
    )
    policy = generating(name="again")
    policy["spec"]["evaluation"] = {"skipBackgroundRequests": skips}
    put(policy)
    cluster.sim.client(BACKGROUND).create(obj("Namespace", "shop"))
    settle()
    assert (made() is None) is skips


def test_an_exception_excuses_a_trigger(put, generating, obj, made):
    references = [{"name": "gen", "kind": "GeneratingPolicy"}]
    condition = [{"name": "shop", "expression": "object.metadata.name == 'shop'"}]
    spec = {"policyRefs": references, "matchConditions": condition}
    put(
        obj("PolicyException", "e", "kyverno", api_version=f"{GROUP}/v1", spec=spec),
        generating(),
        obj("Namespace", "shop"),
        obj("Namespace", "other"),
    )
    assert made() is None
    assert made("other")


def test_a_restarted_controller_finds_what_it_generated(
    cluster, put, admin, generating, obj, settle, made
):
    put(generating(evaluation=["synchronize"]), obj("Namespace", "shop"))
    restart_background_controller(cluster.kyverno)
    settle()
    admin.merge(MADE, {"data": {"a": "9"}})
    settle()
    assert made()["data"] == {"a": "1"}


def test_a_kind_of_later_is_not_synchronized_and_that_is_told(
    put, admin, generating, obj, told, background_may
):
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget"}
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    spec = {"group": "example.com", "names": names, "scope": "Namespaced", "versions": [version]}
    definition = obj(
        "CustomResourceDefinition",
        "widgets.example.com",
        api_version="apiextensions.k8s.io/v1",
        spec=spec,
    )
    text = ONE.replace('dyn("v1")', 'dyn("example.com/v1")').replace("ConfigMap", "Widget")
    put(definition, background_may("example.com", "widgets"))
    put(generating(text, evaluation=["synchronize"]), obj("Namespace", "shop"))
    assert admin.get("example.com/v1", "Widget", "shop", "made")
    (event,) = told("synchronize")
    assert event.outcome == "skipped"
    assert "was not served when the controller started" in event.message


def test_the_webhook_takes_every_operation_and_asks_conditions_of_creations(put, admin, generating):
    put(generating(evaluation=["synchronize"], matchConditions=[TEAM]))
    kind, name = "ValidatingWebhookConfiguration", "kyverno-resource-validating-webhook-cfg"
    found = admin.get("admissionregistration.k8s.io/v1", kind, "", name)["webhooks"]
    (webhook,) = (one for one in found if one["name"].startswith("gpol."))
    assert webhook["failurePolicy"] == "Ignore"
    assert webhook["rules"][0]["operations"] == ["CONNECT", "CREATE", "DELETE", "UPDATE"]
    assert webhook["matchConditions"][0]["expression"] == (
        f"request.operation != 'CREATE' || ({TEAM['expression']})"
    )


def test_reports_name_what_was_generated(cluster, put, admin, generating, obj):
    put(generating(), obj("Namespace", "shop"))
    cluster.sim.scheduler.advance(60)
    results = [
        one
        for report in admin.list("wgpolicyk8s.io/v1alpha2", "ClusterPolicyReport")
        for one in report["results"]
    ]
    (entry,) = (one for one in results if one["policy"] == "gen")
    assert entry["source"] == "KyvernoGeneratingPolicy"
    assert entry["properties"] == {
        "generated-resources": "/v1, Kind=ConfigMap Name=made Namespace=shop",
        "process": "admission review",
    }
