"""Each hazard in a run that has it, and none in the same run without its cause."""

import re
from pathlib import Path

import pytest

from kyvsim.model.release import V_1_19_0, V_1_19_1
from kyvsim.model.simulation import ScenarioStep, Verb
from kyvsim.model.source import Location
from kyvsim.report.timeline_rows import errors_of
from kyvsim.simulator.hazards import HAZARDS

ROOT = Path(__file__).parents[4]


@pytest.fixture
def generating(cluster_policy):
    """Return what makes a policy that generates a ConfigMap for Pods."""

    def make(policy="make", **fields):
        generate = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "name": "{{ request.object.metadata.name }}-data",
            "namespace": "{{ request.object.metadata.namespace }}",
            "synchronize": True,
            "data": {"data": {"by": policy}},
            **fields,
        }
        if "clone" in fields:
            del generate["data"]
        return cluster_policy(policy, {"generate": generate}, background=True)

    return make


@pytest.fixture
def volumes(cluster_policy):
    """A policy that gives Pods a volume of a ConfigMap named after them."""
    name = "{{ request.object.metadata.name }}-data"
    volume = {"name": "data", "configMap": {"name": name}}
    return cluster_policy(
        "mount", {"mutate": {"patchStrategicMerge": {"spec": {"volumes": [volume]}}}}
    )


def only(found, code):
    return [one for one in found if one[0] == code]


def test_pod_waits_for_what_nobody_creates(hazards, volumes, generating, pod):
    found = hazards([volumes], pod())
    assert only(found, "KH001") == [("KH001", "error", ("mount/rule-0",), ["p"])]
    assert not only(hazards([volumes, generating()], pod()), "KH001")


def test_reference_of_a_user_is_a_warning(hazards, pod):
    given = pod()
    given["spec"]["volumes"] = [{"name": "v", "secret": {"secretName": "s"}}]
    assert hazards([], given) == [("KH001", "warning", (), ["p"])]


def test_denied_trigger_names_the_match_that_keeps_out_of_it(run, cluster_policy, generating, pod):
    demand = {"pattern": {"metadata": {"labels": {"team": "?*"}}}, "message": "no team"}
    guard = cluster_policy("guard", {"validate": {**demand, "failureAction": "Enforce"}})
    (hazard,) = run([guard, generating()], pod(), pod("q", labels={"team": "a"})).hazards
    assert (hazard.code, hazard.level) == ("KH002", "info")
    assert hazard.policies == ("make/rule-0", "guard/rule-0")
    assert '`match: resources: selector: matchLabels: {team: "?*"}`' in hazard.message


def test_objects_of_a_rule_lead_back_to_it(hazards, cluster_policy, pod):
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}

    def jobs(labels):
        meta = {"labels": labels} if labels else {}
        generate = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "name": "j-{{ request.object.metadata.name }}",
            "namespace": "default",
            "data": {"spec": {"template": {"metadata": meta, **template}}},
        }
        left = {"any": [{"resources": {"selector": {"matchLabels": {"no": "job"}}}}]}
        return cluster_policy("jobs", {"generate": generate, "exclude": left}, background=True)

    rights = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {
            "name": "jobs",
            "labels": {"rbac.kyverno.io/aggregate-to-background-controller": "true"},
        },
        "rules": [{"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["*"]}],
    }
    found = only(hazards([jobs({})], pod(), objects=[rights]), "KH003")
    assert [one[:3] for one in found] == [("KH003", "error", ("jobs/rule-0",))]
    assert not only(hazards([jobs({"no": "job"})], pod(), objects=[rights]), "KH003")


def test_mutation_that_changes_its_own_result_again(hazards, cluster_policy, pod):
    patch = "- {op: add, path: /spec/tolerations/-, value: {key: a, operator: Exists}}"
    growing = cluster_policy("grow", {"mutate": {"patchesJson6902": patch}})
    given = pod()
    given["spec"]["tolerations"] = []
    assert ("KH004", "warning", ("grow/rule-0",), ["p"]) in hazards([growing], given)


def test_policies_that_overwrite_each_other(hazards, cluster_policy, pod):
    def colour(name, value):
        patch = {"metadata": {"labels": {"colour": value}}}
        return cluster_policy(name, {"mutate": {"patchStrategicMerge": patch}})

    found = only(hazards([colour("a", "red"), colour("b", "blue")], pod()), "KH004")
    assert [one[2] for one in found] == [("a/rule-0", "b/rule-0")]
    assert not only(hazards([colour("a", "red"), colour("b", "red")], pod()), "KH004")


def test_clone_without_its_source(hazards, generating, pod, obj):
    clone = generating(clone={"name": "source", "namespace": "default"})
    found = only(hazards([clone], pod()), "KH005")
    assert [one[1:3] for one in found] == [("error", ("make/rule-0",))]
    source = obj("ConfigMap", "source", "default", data={"a": "b"})
    assert not only(hazards([clone], pod(), objects=[source]), "KH005")


def test_object_of_a_user_is_taken_over(hazards, generating, pod, obj):
    own = obj("ConfigMap", "p-data", "default", data={"mine": "yes"})
    found = only(hazards([generating()], pod(), objects=[own]), "KH006")
    assert found == [("KH006", "error", ("make/rule-0",), ["p-data"])]


def test_two_triggers_generate_one_object(hazards, generating, pod):
    found = only(hazards([generating(name="one")], pod("p"), 1.0, pod("q")), "KH006")
    assert found == [("KH006", "error", ("make/rule-0",), ["one"])]
    assert not only(hazards([generating()], pod("p"), 1.0, pod("q")), "KH006")


def test_name_that_no_object_can_have(hazards, generating, pod):
    found = only(hazards([generating(name="Not_Valid")], pod()), "KH006")
    assert found == [("KH006", "error", ("make/rule-0",), ["Not_Valid"])]


def test_background_controller_without_a_right(hazards, generating, pod):
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "kyverno:background-controller"},
    }
    found = only(hazards([generating()], 1.0, pod(), without=[binding]), "KH007")
    assert [one[1:3] for one in found] == [("error", ("make/rule-0",))]


@pytest.mark.parametrize(
    ("model", "level"), [("kyverno-1.19", "info"), ("background-gates-generate", "error")]
)
def test_background_off_beside_a_generate_rule(hazards, generating, pod, model, level):
    policy = generating()
    assert not only(hazards([policy], pod(), model=model), "KH008")
    policy["spec"]["background"] = False
    found = only(hazards([policy], pod(), model=model), "KH008")
    assert found == [("KH008", level, ("make/rule-0",), [])]


def test_background_on_is_advised_only_where_it_would_be_taken(run, generating, pod):
    policy = generating()
    policy["spec"]["background"] = False
    (hazard,) = run([policy], pod()).hazards
    assert hazard.message.endswith("`background: true` works in both cases")
    policy["spec"]["rules"][0]["match"]["any"][0]["subjects"] = [{"kind": "User", "name": "a"}]
    (hazard,) = run([policy], pod()).hazards
    assert "`background: true` would be rejected" in hazard.message


def test_name_is_read_before_it_is_made(hazards, volumes, pod):
    nameless = pod()
    nameless["metadata"] = {"generateName": "p-", "namespace": "default"}
    found = only(hazards([volumes], nameless), "KH009")
    assert [one[:3] for one in found] == [("KH009", "error", ("mount/rule-0",))]
    assert not only(hazards([volumes], pod()), "KH009")


def test_namespace_of_a_generated_object_is_missing(hazards, generating, pod, obj):
    policy = generating(namespace="{{ request.object.metadata.name }}")
    found = only(hazards([policy], pod("team-a")), "KH010")
    assert [one[1:3] for one in found] == [("error", ("make/rule-0",))]
    given = [obj("Namespace", "team-a")]
    assert not only(hazards([policy], pod("team-a"), objects=given), "KH010")


def test_trigger_was_there_before_the_policy(hazards, generating, pod):
    found = only(hazards([], pod(), generating(), 1.0), "KH011")
    assert found == [("KH011", "warning", ("make/rule-0",), ["p"])]
    assert only(hazards([generating()], objects=[pod()]), "KH011")[0][1] == "info"
    looking_back = generating()
    looking_back["spec"]["rules"][0]["generate"]["generateExisting"] = True
    assert not only(hazards([], pod(), looking_back, 1.0), "KH011")


def test_attempts_are_used_up_before_the_object_is_stored(hazards, generating, pod):
    slow = (("storage", 0.5),)
    found = only(hazards([generating()], pod(), latency=slow), "KH013")
    assert found == [("KH013", "error", ("make/rule-0",), ["p"])]
    assert not only(hazards([generating()], pod()), "KH013")


def test_a_trigger_that_goes_is_not_one_that_came_late(run, generating, obj):
    policy = generating(name="made", namespace="{{ request.object.metadata.name }}")
    policy["spec"]["rules"][0]["match"] = {"any": [{"resources": {"kinds": ["Namespace"]}}]}
    shop = obj("Namespace", "shop")
    found = run([policy], shop, 1.0, gone=[shop])
    assert any(one.given_up for one in found.events)
    assert "KH013" not in [one.code for one in found.hazards]


def test_causes_of_hazards_are_no_texts():
    for path in (ROOT / "kyvsim/simulator/hazards").glob("*.py"):
        assert not re.search(r"\b(event|attempt)\.(message|told)", path.read_text(encoding="utf-8"))


def test_every_code_has_one_home_and_a_section():
    homes = {}
    for path in (ROOT / "kyvsim/simulator").rglob("*.py"):
        for code in set(re.findall(r'"(KH\d{3})"', path.read_text(encoding="utf-8"))):
            homes.setdefault(code, []).append(path.stem)
    # Those of one run, and that of runs which end otherwise.
    assert len(homes) == len(HAZARDS) + 1
    assert all(len(files) == 1 for files in homes.values())
    page = (ROOT / "docs/hazards.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (KH\d{3}) ", page, re.MULTILINE) == sorted(homes)


GUARDED = "{{ request.object.spec.nope || '' }}"


def checking(failure_action, key=None):
    condition = {"key": key or "{{ request.object.spec.nope }}", "operator": "Equals", "value": "x"}
    deny = {"conditions": {"all": [condition]}}
    return {"validate": {"deny": deny, "message": "no", "failureAction": failure_action}}


LABELS = {"a": "{{ request.object.spec.nope }}"}
MUTATING = {"mutate": {"patchStrategicMerge": {"metadata": {"labels": LABELS}}}}


@pytest.mark.parametrize(
    ("rule", "policy", "level", "outcome", "end"),
    [
        (checking("Audit"), {}, "error", "done", "is admitted"),
        (checking("Enforce"), {}, "warning", "denied", "denied because of it"),
        (checking("Enforce"), {"failurePolicy": "Ignore"}, "error", "done", "is admitted"),
        (MUTATING, {}, "warning", "denied", "denied because of it"),
        (MUTATING, {"failurePolicy": "Ignore"}, "error", "done", "is admitted"),
    ],
    ids=["audit", "enforce", "ignored", "mutation", "ignored mutation"],
)
def test_a_rule_that_cannot_be_evaluated_is_told_as_an_error(
    run, cluster_policy, pod, rule, policy, level, outcome, end
):
    simulation = run([cluster_policy("look", rule, background=False, **policy)], pod())
    (hazard,) = (one for one in simulation.hazards if one.code == "KH027")
    assert (hazard.level.value, hazard.policies) == (level, ("look/rule-0",))
    assert 'Unknown key "nope" in path; there is no `nope`: check its spelling' in hazard.message
    assert end in hazard.message
    event = simulation.events[hazard.events[0]]
    assert (event.object.name, event.outcome) == ("p", outcome)
    assert [one.rule for one in event.unevaluated] == ["look/rule-0"]
    assert "admitted despite an Audit failure" not in event.message


def test_a_rule_that_only_a_cluster_can_evaluate_is_an_error_though_it_denies(
    run, cluster_policy, pod
):
    rule = checking("Enforce", "{{ image }}")
    rule["context"] = [{"name": "image", "imageRegistry": {"reference": "ghcr.io/a/b:1"}}]
    simulation = run([cluster_policy("look", rule, background=False)], pod())
    (hazard,) = (one for one in simulation.hazards if one.code == "KH027")
    assert hazard.level.value == "error"
    assert "kyvsim is offline" in hazard.message
    assert hazard.message.endswith("; the result in a cluster is unknown")
    assert simulation.events[hazard.events[0]].outcome == "denied"


def with_context(entry):
    condition = {"key": "{{ x.metadata.name }}", "operator": "Equals", "value": "x"}
    deny = {"conditions": {"all": [condition]}}
    context = [{"name": "x", **entry}]
    body = {"deny": deny, "message": "no", "failureAction": "Enforce"}
    return {"context": context, "validate": body}


@pytest.mark.parametrize(
    ("entry", "missing"),
    [
        ({"configMap": {"name": "roles", "namespace": "b"}}, "ConfigMap b/roles of context"),
        ({"globalReference": {"name": "g"}}, "GlobalContextEntry g of context"),
        ({"apiCall": {"urlPath": "/api/v1/namespaces/b"}}, "Namespace b of context"),
    ],
)
def test_an_error_of_a_lookup_names_the_object_that_the_cluster_lacks(
    run, cluster_policy, pod, entry, missing
):
    simulation = run([cluster_policy("look", with_context(entry))], pod())
    (hazard,) = (one for one in simulation.hazards if one.code == "KH027")
    assert f"there is no {missing} entry `x`: create it before the request" in hazard.message
    assert "check its spelling" not in hazard.message


def test_an_error_of_a_registry_says_which_commands_know_its_data(run, cluster_policy, pod):
    entry = {"imageRegistry": {"reference": "ghcr.io/a/b:1"}}
    simulation = run([cluster_policy("look", with_context(entry))], pod())
    (hazard,) = (one for one in simulation.hazards if one.code == "KH027")
    assert "(only `kyvsim apply` and `test` read a values file)" in hazard.message


def test_a_rule_that_fails_is_no_error(hazards, cluster_policy, pod):
    failing = cluster_policy("look", checking("Audit", "x"))
    assert not only(
        hazards([failing, cluster_policy("ok", checking("Audit", GUARDED))], pod()), "KH027"
    )


@pytest.mark.parametrize(
    ("action", "outcome"), [("Enforce", "denied"), ("Audit", "done")], ids=["denied", "admitted"]
)
def test_a_message_that_cannot_be_rendered_is_shown_with_the_request(
    run, cluster_policy, pod, action, outcome
):
    rule = checking(action, GUARDED.replace("''", "'x'"))
    rule["validate"]["message"] = "{{ request.object.spec.nope }}"
    simulation = run([cluster_policy("look", rule)], pod())
    (event,) = (one for one in simulation.events if one.unevaluated)
    assert event.outcome == outcome
    (shown,) = errors_of(event)
    assert shown.startswith("look/rule-0: the rule's message is not shown, since it cannot be")
    assert not [one for one in simulation.hazards if one.code == "KH027"]


def test_an_error_of_a_scan_is_told_once_for_each_object(run, cluster_policy, pod):
    policy = cluster_policy("look", checking("Audit"), admission=False, background=True)
    simulation = run([policy], pod(), horizon=8000.0)
    scans = [one for one in simulation.events if one.action == "scan"]
    assert [(one.actor, one.object.name, one.outcome) for one in scans] == [
        ("reports", "p", "failed")
    ]
    (hazard,) = (one for one in simulation.hazards if one.code == "KH027")
    assert (hazard.level.value, hazard.events) == ("warning", (scans[0].number,))
    assert "reports show an error" in hazard.message


def test_an_error_of_a_derived_rule_is_told_with_the_place_of_its_policy(
    run, cluster_policy, pod, obj
):
    policy = cluster_policy("look", checking("Audit"))
    labels = {"app": "w"}
    template = {"metadata": {"labels": labels}, "spec": pod()["spec"]}
    spec = {"selector": {"matchLabels": labels}, "template": template}
    simulation = run([policy], obj("Deployment", "w", "default", api_version="apps/v1", spec=spec))
    places = {one.policies: str(one.location) for one in simulation.hazards if one.code == "KH027"}
    assert places.keys() == {("look/rule-0",), ("look/autogen-rule-0",)}
    assert set(places.values()) == {"0.yaml:1:1"}


def test_a_workload_whose_pods_a_mutation_denies_names_it(run, cluster_policy, obj):
    patch = {"metadata": {"labels": {"is": "{{ request.object.metadata.name }}"}}}
    policy = cluster_policy("name", {"mutate": {"patchStrategicMerge": patch}})
    autogen = "pod-policies.kyverno.io/autogen-controllers"
    policy["metadata"]["annotations"] = {autogen: "none"}
    labelled = {"metadata": {"labels": {"app": "web"}}}
    template = {**labelled, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    selector = {"matchLabels": {"app": "web"}}
    web = obj("Deployment", "web", api_version="apps/v1", namespace="default")
    web["spec"] = {"selector": selector, "template": template}
    (hazard,) = (one for one in run([policy], web).hazards if one.code == "KH017")
    assert hazard.policies == ("name/rule-0",)
    assert "`name/rule-0`: variable substitution failed" in hazard.message
    assert hazard.location is not None
    assert hazard.events


CEL_GROUP = "policies.kyverno.io/v1"


@pytest.fixture
def labelling(obj):
    """Return what makes a policy of a kind that labels ConfigMaps as its own."""

    def make(kind, name, value="", namespace=""):
        rules = {
            "apiGroups": [""],
            "apiVersions": ["v1"],
            "resources": ["configmaps"],
            "operations": ["CREATE"],
        }
        merged = f'Object{{metadata: Object.metadata{{labels: {{"colour": "{value or name}"}}}}}}'
        mutation = {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": merged}}
        spec = {"matchConstraints": {"resourceRules": [rules]}, "mutations": [mutation]}
        if kind == "MutatingAdmissionPolicy":
            group = "admissionregistration.k8s.io/v1"
            spec |= {"reinvocationPolicy": "Never", "failurePolicy": "Fail"}
        else:
            group = CEL_GROUP
        return obj(kind, name, namespace, api_version=group, spec=spec)

    return make


@pytest.mark.parametrize("kind", ["MutatingPolicy", "NamespacedMutatingPolicy"])
def test_a_mutating_policy_whose_value_is_lost_is_named(
    hazards, cluster_policy, labelling, obj, kind
):
    def colour(value):
        patch = {"metadata": {"labels": {"colour": value}}}
        rule = {"mutate": {"patchStrategicMerge": patch}}
        made = cluster_policy("z", rule)
        made["spec"]["rules"][0]["match"] = {"any": [{"resources": {"kinds": ["ConfigMap"]}}]}
        return made

    namespace = "default" if kind.startswith("Namespaced") else ""
    mutating = labelling(kind, "red", namespace=namespace)
    key = f"{namespace}/red" if namespace else "red"
    given = obj("ConfigMap", "c", "default")
    found = only(hazards([mutating, colour("blue")], given), "KH004")
    assert found == [("KH004", "warning", (key, "z/rule-0"), ["c"])]
    assert not only(hazards([mutating, colour("red")], given), "KH004")


def test_a_policy_of_kubernetes_whose_value_is_lost_is_named(hazards, labelling, obj):
    native = labelling("MutatingAdmissionPolicy", "native", "red")
    group = native["apiVersion"]
    binding = obj("MutatingAdmissionPolicyBinding", "b", api_version=group)
    binding["spec"] = {"policyName": "native"}
    given = obj("ConfigMap", "c", "default")
    found = only(
        hazards([labelling("MutatingPolicy", "blue")], given, objects=[native, binding]), "KH004"
    )
    assert [one[2] for one in found] == [("native", "blue")]
    same = labelling("MutatingPolicy", "blue", "red")
    assert not only(hazards([same], given, objects=[native, binding]), "KH004")


def test_what_is_not_synchronized_is_deleted_with_its_neighbours(hazards, obj, cluster_policy):
    def rule(name, *, synchronizes):
        generate = {"apiVersion": "v1", "kind": "ConfigMap", "name": name, "namespace": "hub"}
        return {"generate": {**generate, "synchronize": synchronizes, "data": {"data": {"a": "b"}}}}

    def policies(kept):
        made = [cluster_policy("one", rule("kept", synchronizes=False))]
        made.append(cluster_policy(kept, rule("gone", synchronizes=True)))
        if kept == "one":
            made = [made[0]]
            made[0]["spec"]["rules"].append({**rule("gone", synchronizes=True), "name": "other"})
        for each in made:
            for one in each["spec"]["rules"]:
                one["match"] = {"any": [{"resources": {"kinds": ["Namespace"], "names": ["shop"]}}]}
        return made

    shop, hub = obj("Namespace", "shop"), obj("Namespace", "hub")
    found = only(hazards(policies("one"), shop, 2.0, objects=[hub], gone=[shop]), "KH031")
    assert found == [("KH031", "warning", ("one/rule-0", "one/other"), ["kept"])]
    assert not only(hazards(policies("two"), shop, 2.0, objects=[hub], gone=[shop]), "KH031")


@pytest.fixture
def copying(obj):
    """A GeneratingPolicy that copies a ConfigMap into Namespaces."""
    rules = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["namespaces"]}
    rules["operations"] = ["CREATE", "UPDATE"]
    source = "resource.Get('v1', 'configmaps', 'default', 'source')"
    made = f"generator.Apply(object.metadata.name, [{source}])"
    spec = {
        "evaluation": {"synchronize": {"enabled": True}},
        "matchConstraints": {"resourceRules": [rules]},
        "generate": [{"expression": made}],
    }
    return obj("GeneratingPolicy", "copy", api_version=CEL_GROUP, spec=spec)


def test_a_copy_that_was_restored_is_not_followed(run, copying, obj):
    source, shop = obj("ConfigMap", "source", "default", data={"a": "b"}), obj("Namespace", "shop")
    copy = obj("ConfigMap", "source", "shop")
    again = obj("Namespace", "shop", labels={"a": "b"})

    def unfollowed(release=V_1_19_0, **further):
        found = run([copying], shop, 2.0, objects=[source], release=release, **further)
        return [one for one in found.hazards if one.code == "KH032"]

    (hazard,) = unfollowed(gone=[copy])
    assert not unfollowed(V_1_19_1, gone=[copy])
    assert (hazard.policies, hazard.objects[0].namespace) == (("copy",), "shop")
    assert "is not updated or deleted with its source" in hazard.message
    assert not unfollowed()
    assert not unfollowed(gone=[copy], update=again)


def test_a_lifetime_in_an_annotation(hazards, obj):
    def with_ttl(field):
        return obj("ConfigMap", "a", "default", metadata={field: {"cleanup.kyverno.io/ttl": "5m"}})

    (found,) = only(hazards([], with_ttl("annotations")), "KH033")
    assert found == ("KH033", "warning", (), ["a"])
    assert not only(hazards([], with_ttl("labels")), "KH033")


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"synchronize": False}, "KH034"),
        ({"orphanDownstreamOnPolicyDelete": True}, "KH034"),
        ({}, "KH035"),
    ],
)
def test_objects_of_a_policy_that_is_deleted(hazards, generating, pod, fields, code):
    policy = generating(**fields)
    found = hazards([policy], pod(), 2.0, gone=[policy])
    codes = {"KH034", "KH035"}
    assert [one for one in found if one[0] in codes] == [(code, "warning", ("make",), ["p-data"])]
    assert not codes & {one[0] for one in hazards([policy], pod(), 2.0)}


OWN = "[{'apiVersion': dyn('v1'), 'kind': dyn('ConfigMap'), 'metadata': dyn({'name': '%s'})}]"


@pytest.mark.parametrize("release", [V_1_19_0, V_1_19_1])
@pytest.mark.parametrize(
    ("evaluation", "code"),
    [
        ({"synchronize": {"enabled": False}}, "KH034"),
        ({"orphanDownstreamOnPolicyDelete": {"enabled": True}}, "KH034"),
        ({}, "KH035"),
    ],
)
def test_objects_of_a_policy_in_cel_that_is_deleted(
    hazards, copying, obj, evaluation, code, release
):
    copying["spec"]["generate"] = [
        {"expression": f"generator.Apply(object.metadata.name, {OWN % 'made'})"}
    ]
    copying["spec"]["evaluation"] |= evaluation
    shop, codes = obj("Namespace", "shop"), {"KH034", "KH035"}
    found = hazards([copying], shop, 2.0, gone=[copying], release=release)
    assert [one for one in found if one[0] in codes] == [(code, "warning", ("copy",), ["made"])]
    assert not codes & {one[0] for one in hazards([copying], shop, 2.0, gone=[shop])}


@pytest.mark.parametrize("release", [V_1_19_0, V_1_19_1])
def test_objects_that_a_changed_policy_in_cel_does_not_generate(hazards, copying, obj, release):
    def making(name):
        generate = [{"expression": f"generator.Apply(object.metadata.name, {OWN % name})"}]
        return {**copying, "spec": {**copying["spec"], "generate": generate}}

    shop = obj("Namespace", "shop")
    found = hazards([making("old")], shop, 2.0, update=making("new"), release=release)
    assert only(found, "KH035") == [("KH035", "warning", ("copy",), ["old"])]
    other = making("old")
    other["spec"]["matchConditions"] = [{"name": "a", "expression": "true"}]
    assert not only(hazards([making("old")], shop, 2.0, update=other, release=release), "KH035")


def test_copies_that_are_deleted_with_their_source_are_not_lost_with_a_policy(
    run, copying, documents, obj
):
    source, shop = obj("ConfigMap", "source", "default", data={"a": "b"}), obj("Namespace", "shop")
    changed = {
        **copying,
        "spec": {**copying["spec"], "variables": [{"name": "a", "expression": "1"}]},
    }
    update = ScenarioStep(Verb.UPDATE, Location("steps"), objects=documents([changed]))
    found = run([copying], shop, 2.0, update, 2.0, objects=[source], gone=[source])
    assert "delete downstream" in [one.action for one in found.events]
    assert "KH035" not in [one.code for one in found.hazards]


@pytest.mark.parametrize(("synchronizes", "code"), [(False, "KH034"), (True, "KH035")])
def test_objects_of_a_rule_that_is_removed(hazards, generating, pod, synchronizes, code):
    policy = generating(synchronize=synchronizes)
    (rule,) = policy["spec"]["rules"]
    generate = {**rule["generate"], "name": "of-other"}
    both = {**policy, "spec": {**policy["spec"], "rules": [rule]}}
    both["spec"]["rules"] = [rule, {**rule, "name": "other", "generate": generate}]
    found = hazards([both], pod(), 2.0, update=policy)
    assert [one for one in found if one[0] in {"KH034", "KH035"}] == [
        (code, "warning", ("make",), ["of-other"])
    ]
