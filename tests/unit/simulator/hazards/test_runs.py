"""Work that Kyverno drops, cannot begin or never ends: each in a run and in one without it."""

import pytest

from kyvsim.kubernetes.objects import ObjectKey
from kyvsim.model.simulation import FailureCause, FailureReason, HazardLevel, TimelineEvent
from kyvsim.simulator.hazards import find_hazards
from kyvsim.simulator.hazards.facts import Facts

pytestmark = pytest.mark.slow

LABEL = "cleanup.kyverno.io/ttl"


@pytest.fixture
def making(cluster_policy):
    """Return what makes a policy that generates a ConfigMap `made` for each Pod."""

    def make(name="make", data=None, rule=None, **fields):
        generate = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "name": "made",
            "namespace": "default",
            "synchronize": True,
            "data": {"data": {"by": name, **(data or {})}},
            **fields,
        }
        if "foreach" in fields:
            generate = {"synchronize": True, **fields}
        return cluster_policy(name, {"generate": generate, **(rule or {})}, background=False)

    return make


@pytest.fixture
def guard(cluster_policy):
    """Return what makes a policy that refuses requests for ConfigMaps."""

    def make(kind="ConfigMap", action="Enforce", **resources):
        rule = {
            "match": {"any": [{"resources": {"kinds": [kind], **resources}}]},
            "validate": {"deny": {}, "message": "no", "failureAction": action},
        }
        return cluster_policy("guard", rule)

    return make


@pytest.fixture
def role(obj):
    """Return what makes a ClusterRole for a controller of Kyverno."""

    def make(controller, *verbs, resources=("*",)):
        rule = {"apiGroups": ["*"], "resources": list(resources), "verbs": list(verbs)}
        labels = {f"rbac.kyverno.io/aggregate-to-{controller}-controller": "true"}
        api = "rbac.authorization.k8s.io/v1"
        return obj("ClusterRole", "more", "", api, metadata={"labels": labels}, rules=[rule])

    return make


@pytest.fixture
def cleanup(obj):
    """Return what makes a policy that deletes ConfigMaps named `old` every minute."""
    match = {"any": [{"resources": {"kinds": ["ConfigMap"], "names": ["old"]}}]}
    spec = {"match": match, "schedule": "* * * * *"}
    return obj("ClusterCleanupPolicy", "sweep", "", "kyverno.io/v2", spec=spec)


def only(found, code):
    return [one for one in found if one[0] == code]


@pytest.mark.parametrize("action", ["Enforce", "Audit"])
def test_generated_object_is_denied_by_another_policy(hazards, making, guard, pod, action):
    found = only(hazards([making(), guard(action=action, names=["made"])], pod()), "KH020")
    denied = [("KH020", "error", ("make/rule-0", "guard/rule-0"), ["made"])]
    assert found == (denied if action == "Enforce" else [])


@pytest.mark.parametrize("reads_user", [True, False])
def test_drift_stays_where_a_rule_asks_for_the_user(hazards, making, pod, obj, reads_user):
    text = "{{ request.userInfo.username }}" if reads_user else "x"
    made = obj("ConfigMap", "made", "default")
    found = hazards([making(data={"who": text})], pod(), 1.0, gone=[made])
    expected = [("KH021", "error", ("make/rule-0",), ["made"])]
    assert only(found, "KH021") == (expected if reads_user else [])
    assert not only(found, "KH025")


def test_drift_of_a_rule_that_fails_for_anybody_is_another_matter(hazards, making, pod, obj):
    context = [{"name": "c", "configMap": {"name": "source", "namespace": "default"}}]
    text = "{{ request.userInfo.username || '' }}{{ c.data.a }}"
    source = obj("ConfigMap", "source", "default", data={"a": "b"})
    gone = [source, obj("ConfigMap", "made", "default")]
    policy = making(data={"who": text}, rule={"context": context})
    found = hazards([policy], pod(), 1.0, objects=[source], gone=gone)
    assert not only(found, "KH021")
    assert only(found, "KH025")


@pytest.fixture
def mutating(cluster_policy):
    """Return what makes a policy that copies a growing text from one ConfigMap to another."""

    def make(source, target, *, skips, text="{{ request.object.data.a }}x"):
        match = {"any": [{"resources": {"kinds": ["ConfigMap"], "names": [source]}}]}
        targets = [
            {"apiVersion": "v1", "kind": "ConfigMap", "name": target, "namespace": "default"}
        ]
        mutate = {"targets": targets, "patchStrategicMerge": {"data": {"a": text}}}
        rule = {"match": match, "mutate": mutate, "skipBackgroundRequests": skips}
        return cluster_policy(f"{source}-to-{target}", rule)

    return make


@pytest.mark.parametrize(
    ("skips", "text", "loops"),
    [
        (False, "{{ request.object.data.a }}x", True),
        (True, "{{ request.object.data.a }}x", False),
        (False, "same", False),
    ],
)
def test_rules_that_set_each_other_off(hazards, mutating, obj, skips, text, loops):
    rules = [mutating("a", "b", skips=skips, text=text), mutating("b", "a", skips=skips, text=text)]
    given = [obj("ConfigMap", "a", "default", data={"a": "0"})]
    given.append(obj("ConfigMap", "b", "default", data={"a": "0"}))
    changed = obj("ConfigMap", "a", "default", data={"a": "1"})
    found = only(hazards(rules, 1.0, objects=given, update=changed), "KH022")
    assert [(one[1], set(one[2]), set(one[3])) for one in found] == (
        [("error", {"a-to-b/rule-0", "b-to-a/rule-0"}, {"a", "b"})] if loops else []
    )


@pytest.mark.parametrize("action", ["Enforce", "Audit"])
def test_cleanup_is_denied_by_a_policy(hazards, cleanup, guard, role, obj, action):
    old = obj("ConfigMap", "old", "default")
    rights = role("cleanup", "*", resources=["configmaps"])
    keep = guard(action=action, operations=["DELETE"])
    found = only(hazards([keep, cleanup], 90.0, objects=[old, rights]), "KH023")
    denied = [("KH023", "error", ("sweep", "guard/rule-0"), ["old"])]
    assert found == (denied if action == "Enforce" else [])


@pytest.mark.parametrize("keeps", [True, False])
def test_cleanup_loses_its_right(hazards, cleanup, role, obj, keeps):
    old = obj("ConfigMap", "old", "default")
    rights = role("cleanup", "*", resources=["configmaps"])
    gone = [] if keeps else [rights]
    found = only(hazards([cleanup], 90.0, objects=[old, rights], without=gone), "KH023")
    assert [one[:3] for one in found] == ([] if keeps else [("KH023", "error", ("sweep",))])


@pytest.mark.parametrize("verbs", [["watch", "list"], ["watch", "list", "delete"], []])
def test_lifetime_of_a_kind_without_rights(hazards, role, obj, verbs):
    given = obj("ConfigMap", "c", "default", metadata={"labels": {LABEL: "1h"}})
    rights = [role("cleanup", *verbs, resources=["configmaps"])] if verbs else []
    found = only(hazards([], given, objects=rights), "KH024")
    assert found == ([] if "delete" in verbs else [("KH024", "error", (), ["c"])])


@pytest.mark.parametrize("action", ["Enforce", "Audit"])
def test_end_of_a_lifetime_is_denied(hazards, guard, role, obj, action):
    given = obj("ConfigMap", "c", "default", metadata={"labels": {LABEL: "10s"}})
    rights = role("cleanup", "*", resources=["configmaps"])
    keep = guard(action=action, operations=["DELETE"])
    found = only(hazards([keep], given, 90.0, objects=[rights]), "KH023")
    assert found == ([("KH023", "error", ("guard/rule-0",), ["c"])] if action == "Enforce" else [])


@pytest.mark.parametrize("there", [True, False])
def test_list_of_a_loop_has_no_value(hazards, making, pod, there):
    entry = {
        "list": "request.object.metadata.annotations.names | split(@, ',')",
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "{{ element }}",
        "namespace": "default",
        "data": {},
    }
    given = pod()
    given["metadata"]["annotations"] = {"names" if there else "other": "a,b"}
    found = only(hazards([making(foreach=[entry])], given), "KH025")
    assert found == ([] if there else [("KH025", "error", ("make/rule-0",), [])])


@pytest.mark.parametrize("there", [True, False])
def test_source_of_a_context_entry_is_missing(hazards, making, pod, obj, there):
    context = [{"name": "c", "configMap": {"name": "source", "namespace": "default"}}]
    policy = making(data={"a": "{{ c.data.a }}"}, rule={"context": context})
    given = [obj("ConfigMap", "source", "default", data={"a": "b"})] if there else []
    found = only(hazards([policy], pod(), objects=given), "KH025")
    assert [one[:3] for one in found] == ([] if there else [("KH025", "error", ("make/rule-0",))])


def test_trigger_that_goes_is_no_loss(hazards, making, obj):
    policy = making(namespace="{{ request.object.metadata.name }}")
    policy["spec"]["rules"][0]["match"] = {"any": [{"resources": {"kinds": ["Namespace"]}}]}
    shop = obj("Namespace", "shop")
    found = only(hazards([policy], shop, 1.0, gone=[shop]), "KH026")
    assert {one[1] for one in found} == {"info"}
    assert not only(hazards([policy], shop, 1.0), "KH026")


def test_request_that_failed_after_its_work_was_written(hazards, making, pod):
    found = only(hazards([making()], pod(), 1.0, pod()), "KH026")
    assert [one[:3] for one in found] == [("KH026", "info", ("make/rule-0",))]
    assert not only(hazards([making()], pod()), "KH026")


@pytest.mark.parametrize("reason", list(FailureCause))
def test_every_update_request_that_is_given_up_is_told(cluster, reason):
    work = ObjectKey("kyverno.io/v2", "UpdateRequest", "kyverno", "ur-1")
    made = TimelineEvent(0, 0.0, "user", "create", work, "denied")
    failure_reason = FailureReason(
        reason, "because", ObjectKey("v1", "ConfigMap", "default", "c"), "u"
    )
    failure_reason = failure_reason._replace(on_behalf_of="p/r")
    attempt = TimelineEvent(1, 0.0, "background", "attempt", work, "failed", cause=0)
    attempt = attempt._replace(failure_reasons=(failure_reason,), given_up=True, policies=("p/r",))
    facts = Facts(cluster.sim, cluster.kyverno, (made, attempt), {}, (), (), {})
    found = find_hazards(facts)
    assert [one for one in found if "p/r" in one.policies and one.events]
    assert {one.level for one in found} <= {HazardLevel.ERROR, HazardLevel.INFO}
