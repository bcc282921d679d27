"""MutatingPolicies on existing objects: targets, results and reports."""

import pytest

from kyvsim.kubernetes.objects import ObjectKey, labels
from kyvsim.model.simulation import FailureCause
from kyvsim.simulator.background.controller import restart_background_controller
from kyvsim.simulator.configuration import BACKGROUND

GROUP = "policies.kyverno.io"
POLICY = ObjectKey(f"{GROUP}/v1", "MutatingPolicy", "", "mut")
TRIGGER = ObjectKey("v1", "Secret", "shop", "trigger")
LABEL = "Object{metadata: Object.metadata{labels: Object.metadata.labels{seen: VALUE}}}"
pytestmark = pytest.mark.usefixtures("shop")
SECRETS = {
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "resources": ["secrets"],
    "operations": ["CREATE", "UPDATE", "DELETE"],
}
MAPS = {**SECRETS, "resources": ["configmaps"], "operations": ["CREATE"]}


@pytest.fixture
def mutating(obj):
    """Return what makes a MutatingPolicy that labels existing ConfigMaps when Secrets change."""

    def make(name="mut", namespace="", value="'yes'", targets=MAPS, evaluation=None, **spec):
        kind = "NamespacedMutatingPolicy" if namespace else "MutatingPolicy"
        chosen = targets if targets is None or "expression" in targets else None
        spec = {
            "matchConstraints": {"resourceRules": [SECRETS]},
            "mutations": [
                {
                    "patchType": "ApplyConfiguration",
                    "applyConfiguration": {"expression": LABEL.replace("VALUE", value)},
                }
            ],
            "evaluation": {"mutateExisting": {"enabled": True}, **(evaluation or {})},
            "targetMatchConstraints": chosen or {"resourceRules": [targets]},
            **spec,
        }
        if targets is None:
            del spec["targetMatchConstraints"]
        return obj(kind, name, namespace, api_version=f"{GROUP}/v1", spec=spec)

    return make


@pytest.fixture
def seen(cluster):
    """Return what gives the label that the policy sets on an object, or None."""

    def get(name="there", namespace="shop", kind="ConfigMap"):
        return labels(cluster.sim.store.get("v1", kind, namespace, name)).get("seen")

    return get


@pytest.fixture
def shop(put, obj, background_may):
    """Put in a ConfigMap; the background controller may do everything to Secrets and Pods."""
    put(
        background_may("", "secrets", "pods", "namespaces", "pods/resize"), obj("Namespace", "shop")
    )
    return put(obj("ConfigMap", "there", "shop", data={"a": "1"}))


def wait_an_hour(cluster):
    cluster.sim.scheduler.run_until(lambda: False, 3700)


def test_a_new_policy_changes_what_is_there(put, mutating, seen):
    assert seen() is None
    put(mutating())
    assert seen() == "yes"


def test_a_policy_that_is_off_for_existing_objects_changes_none(put, mutating, seen, obj):
    put(mutating(evaluation={"mutateExisting": {"enabled": False}}))
    put(obj("Secret", "trigger", "shop"))
    assert seen() is None


def test_a_trigger_makes_it_look_again_and_is_left_as_it_is(put, mutating, seen, obj):
    put(mutating(), obj("ConfigMap", "later", "shop"))
    assert seen("later") is None
    put(obj("Secret", "trigger", "shop"))
    assert seen("later") == "yes"
    assert seen("trigger", kind="Secret") is None


def test_without_targets_of_its_own_triggers_are_changed_and_all_of_their_kind(
    put, mutating, seen, obj
):
    put(obj("Secret", "before", "shop"), mutating(targets=None))
    assert seen("before", kind="Secret") == "yes"
    put(obj("Secret", "new", "shop"))
    assert seen("new", kind="Secret") == "yes"
    assert seen() is None


def test_a_change_of_the_policy_counts_and_no_other_write_of_it(
    put, admin, mutating, seen, told, settle
):
    put(mutating())
    assert len(told("attempt")) == 1
    assert admin.merge(POLICY, {"metadata": {"labels": {"a": "b"}}}).ok
    settle()
    assert len(told("attempt")) == 1
    changed = mutating(value="'again'")
    assert admin.merge(POLICY, {"spec": changed["spec"]}).ok
    settle()
    assert seen() == "again"


def test_it_looks_again_every_hour_but_not_by_an_expression(put, cluster, mutating, seen, obj):
    named = {"expression": "resource.Get('v1', 'configmaps', 'shop', 'other')"}
    put(obj("Secret", "trigger", "shop"), mutating())
    put(mutating("named", targets=named, value="'named'"))
    put(obj("ConfigMap", "later", "shop"), obj("ConfigMap", "other", "shop"))
    wait_an_hour(cluster)
    assert (seen("later"), seen("other")) == ("yes", "yes")


def test_what_is_as_it_should_be_is_not_written_again(put, mutating, told, obj):
    put(mutating(), obj("Secret", "trigger", "shop"))
    written = [one for one in told("mutate existing") if one.object.name == "there"]
    assert [one.outcome for one in written] == ["done"]
    assert len(told("attempt")) == 2


def test_targets_are_chosen_by_names_labels_and_namespaces(put, mutating, seen, obj):
    put(
        obj("Namespace", "other", metadata={"labels": {"team": "a"}}),
        obj("ConfigMap", "there", "other", metadata={"labels": {"app": "x"}}),
        obj("ConfigMap", "there2", "other", metadata={"labels": {"app": "x"}}),
        obj("ConfigMap", "there3", "other"),
        mutating(
            targetMatchConstraints={
                "resourceRules": [{**MAPS, "resourceNames": ["there", "there3"]}],
                "objectSelector": {"matchLabels": {"app": "x"}},
                "namespaceSelector": {"matchLabels": {"team": "a"}},
            }
        ),
    )
    found = [seen(), seen("there", "other"), seen("there2", "other"), seen("there3", "other")]
    assert found == [None, "yes", None, None]


def test_a_namespaced_policy_finds_targets_and_triggers_in_its_namespace(put, mutating, seen, obj):
    put(obj("Namespace", "other"), obj("ConfigMap", "there", "other"), mutating(namespace="shop"))
    assert (seen(), seen("there", "other")) == ("yes", None)
    put(obj("ConfigMap", "later", "shop"), obj("Secret", "trigger", "other"))
    assert seen("later") is None
    put(obj("Secret", "trigger", "shop"))
    assert seen("later") == "yes"


def test_wildcards_name_no_targets(put, mutating, seen):
    put(mutating(targets={**MAPS, "apiVersions": ["*"]}))
    assert seen() is None


def test_excluded_rules_and_conditions_for_triggers_do_not_count_for_targets(put, mutating, seen):
    put(
        mutating(
            matchConditions=[{"name": "never", "expression": "false"}],
            targetMatchConstraints={"resourceRules": [MAPS], "excludeResourceRules": [MAPS]},
        )
    )
    assert seen() == "yes"


def test_conditions_for_triggers_decide_about_requests(put, mutating, seen, obj):
    conditions = [{"name": "named", "expression": "object.metadata.name == 'right'"}]
    put(mutating(matchConditions=conditions), obj("ConfigMap", "later", "shop"))
    put(obj("Secret", "wrong", "shop"))
    assert seen("later") is None
    put(obj("Secret", "right", "shop"))
    assert seen("later") == "yes"


def test_conditions_for_targets_see_the_target_and_the_request(put, mutating, seen, obj):
    text = "object.data.a == '1' && request.name == 'trigger' && namespaceObject == null"
    conditions = [{"name": "one", "expression": text}]
    put(mutating(targetMatchConditions=conditions), obj("ConfigMap", "b", "shop", data={"a": "2"}))
    assert seen() is None  # of a new policy the request is the target's
    put(obj("Secret", "trigger", "shop"))
    assert (seen(), seen("b")) == ("yes", None)


def test_an_expression_names_targets_for_each_trigger(put, mutating, seen, obj):
    named = {"expression": "resource.Get('v1', 'configmaps', object.metadata.namespace, 'there')"}
    put(obj("ConfigMap", "other", "shop"), obj("Secret", "trigger", "shop"))
    put(mutating(targets=named, value="object.metadata.name"))
    assert (seen(), seen("other")) == ("there", None)


def test_an_expression_may_name_a_list(put, mutating, seen, obj):
    named = {"expression": "resource.List('v1', 'configmaps', object.metadata.namespace)"}
    put(mutating(targets=named), obj("ConfigMap", "b", "shop"))
    put(obj("Secret", "trigger", "shop"))
    assert (seen(), seen("b")) == ("yes", "yes")


def test_an_expression_without_a_value_is_tried_five_times(put, mutating, told, obj):
    named = {"expression": "resource.Get('v1', 'configmaps', 'shop', 'nobody')"}
    put(mutating(targets=named), obj("Secret", "trigger", "shop"))
    attempts = told("attempt")
    assert len(attempts) == 5
    assert attempts[-1].given_up
    assert {one.reason for one in attempts[-1].failure_reasons} == {FailureCause.RULE_FAILED}


def test_a_target_that_cannot_be_evaluated_is_left_and_counts_as_done(
    put, mutating, seen, told, obj
):
    put(obj("ConfigMap", "b", "shop", data={"c": "2"}), mutating(value="object.data.c"))
    assert (seen(), seen("b")) == (None, "2")
    (attempt,) = told("attempt")
    assert (attempt.outcome, attempt.given_up) == ("done", False)
    (failure_reason,) = (one for one in attempt.failure_reasons if one.object.name == "there")
    assert failure_reason.message == (
        "ConfigMap shop/there is left unchanged: failed to evaluate policy: no such key: c"
    )
    assert failure_reason.on_behalf_of == "mut"


def test_what_it_may_not_list_or_write_is_tried_again_and_told(put, mutating, obj, told):
    put(obj("Service", "s", "shop", spec={"ports": [{"port": 1}]}))
    put(mutating(targets={**MAPS, "resources": ["services", "persistentvolumes"]}))
    last = told("attempt")[-1]
    assert last.given_up
    assert {one.reason for one in last.failure_reasons} == {FailureCause.NO_RIGHT}
    starts = [one.message.partition(" is forbidden")[0] for one in last.failure_reasons]
    assert starts == [
        "failed to fetch targets /v1, Kind=PersistentVolume for mpol mut: persistentvolumes",
        'failed to update target resource for mpol mut: services "s"',
    ]


def test_writes_of_the_background_controller_are_no_triggers_unless_that_is_asked_for(
    put, cluster, mutating, seen, obj, settle
):
    put(obj("Secret", "trigger", "shop"), mutating("a"), obj("ConfigMap", "later", "shop"))
    client = cluster.sim.client(BACKGROUND)
    assert client.merge(TRIGGER, {"data": {"a": "YQ=="}}).ok
    settle()
    assert seen("later") is None
    put(mutating("b", evaluation={"skipBackgroundRequests": False}))
    put(obj("ConfigMap", "latest", "shop"))
    assert client.merge(TRIGGER, {"data": {"a": "Yg=="}}).ok
    settle()
    assert seen("latest") == "yes"


def test_an_exception_lets_off_targets(put, mutating, seen, obj):
    excused = {
        "policyRefs": [{"name": "mut", "kind": "MutatingPolicy"}],
        "matchConditions": [{"name": "one", "expression": "object.metadata.name == 'there'"}],
    }
    put(obj("ConfigMap", "b", "shop"))
    put(obj("PolicyException", "ex", "shop", api_version=f"{GROUP}/v1", spec=excused))
    put(mutating())
    assert (seen(), seen("b")) == (None, "yes")


def test_each_variant_of_a_policy_on_pods_patches_each_target(put, mutating, obj, admin):
    patch = (
        "has(object.data.list) ? [JSONPatch{op: 'add', path: '/data/' + object.data.list, "
        "value: 'x'}, JSONPatch{op: 'replace', path: '/data/list', value: object.data.list + 'i'}]"
        " : []"
    )
    put(obj("ConfigMap", "b", "shop", data={"list": "i"}))
    put(
        mutating(
            matchConstraints={"resourceRules": [{**MAPS, "resources": ["pods"]}]},
            mutations=[{"patchType": "JSONPatch", "jsonPatch": {"expression": patch}}],
        )
    )
    data = admin.get("v1", "ConfigMap", "shop", "b")["data"]
    assert data == {"list": "iiii", "i": "x", "ii": "x", "iii": "x"}


def test_a_pod_is_resized_through_its_subresource(put, mutating, obj, admin):
    sizes = {"requests": {"cpu": "100m"}}
    put(
        obj(
            "Pod",
            "p",
            "shop",
            spec={"containers": [{"name": "c", "image": "i", "resources": sizes}]},
        )
    )
    patch = (
        "[JSONPatch{op: 'replace', path: '/spec/containers/0/resources/requests/cpu', value: '1'}]"
    )
    named = {
        "expression": "resource.Get('v1', 'pods', 'shop', 'p')",
        "resourceRules": [{**MAPS, "resources": ["pods/resize"]}],
    }
    put(
        obj("Secret", "trigger", "shop"),
        mutating(
            targets=named,
            mutations=[{"patchType": "JSONPatch", "jsonPatch": {"expression": patch}}],
        ),
    )
    container = admin.get("v1", "Pod", "shop", "p")["spec"]["containers"][0]
    assert container["resources"] == {"requests": {"cpu": "1"}}


def test_update_requests_say_what_they_are_for(put, mutating, obj, told):
    put(mutating(), obj("Secret", "trigger", "shop"))
    found = [one.message for one in told("attempt")]
    assert found == [
        "attempt 1 of 5 for existing objects",
        "attempt 1 of 5 for Secret shop/trigger",
    ]
    assert {one.policies for one in told("attempt")} == {("mut",)}


def test_a_restart_lets_policies_look_again(put, cluster, mutating, seen, obj, settle):
    put(mutating(), obj("ConfigMap", "later", "shop"))
    restart_background_controller(cluster.kyverno)
    settle()
    assert seen("later") == "yes"


def test_reports_and_events_tell_of_targets(put, cluster, mutating, admin):
    put(mutating())
    cluster.sim.scheduler.run_until(lambda: False, 30)
    every = admin.list("wgpolicyk8s.io/v1alpha2", "PolicyReport", "shop")
    (report,) = (one for one in every if one["scope"]["name"] == "there")
    assert report["scope"]["name"] == "there"
    (entry,) = report["results"]
    told = {name: entry[name] for name in ("policy", "result", "source", "message")}
    assert told == {
        "policy": "mut",
        "result": "pass",
        "source": "KyvernoMutatingPolicy",
        "message": "success",
    }


@pytest.mark.usefixtures("shop")
def test_a_condition_that_cannot_be_evaluated_denies_the_request(put, admin, mutating, obj):
    broken = {"name": "c", "expression": "object.metadata.labels.team == 'a'"}
    put(mutating("fine"), mutating("broken", matchConditions=[broken]))
    error = admin.create(obj("Secret", "new", "shop")).error
    assert (error.code, error.reason) == (403, "Forbidden")
    assert "no such key: labels" in error.message
