"""Hazards of a cluster: what is installed, and what evaluates it."""

import pytest

from kyvsim.model.simulation import CI

# Hazards of the cluster itself: rights that lack, kinds that nothing enforces.

COPY = """
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: copy}
spec:
  rules:
  - name: regcred
    match: {any: [{resources: {kinds: [Namespace]}}]}
    generate:
      apiVersion: v1
      kind: Secret
      name: regcred
      namespace: "{{request.object.metadata.name}}"
      synchronize: true
      clone: {namespace: default, name: regcred}
"""


def test_a_policy_that_lacks_rights_comes_with_the_roles_that_give_them(run, obj):
    simulation = run(COPY, obj("Namespace", "shop"), refused=True)
    (hazard,) = [one for one in simulation.hazards if one.code == "KH015"]
    assert hazard.policies == ("copy",)
    assert [one["rules"][0]["verbs"] for one in hazard.manifests] == [
        ["get", "list"],
        ["get", "create", "update", "delete"],
    ]
    again = run(
        COPY,
        obj("Namespace", "shop"),
        objects=[*hazard.manifests, obj("Secret", "regcred", "default")],
    )
    assert not [one for one in again.hazards if one.code == "KH015"]
    made = [one["metadata"]["namespace"] for one in again.objects if one["kind"] == "Secret"]
    assert made == ["default", "shop"]


def test_a_policy_with_another_error_is_not_rejected_for_its_rights(run, obj):
    cluster_wide = COPY.replace("kind: Secret", "kind: ClusterRole").replace(
        "apiVersion: v1", "apiVersion: rbac.authorization.k8s.io/v1"
    )
    rejected = cluster_wide.replace("clone: {namespace: default, name: regcred}", "data: {}")
    simulation = run(rejected, obj("Namespace", "shop"), refused=True)
    (event,) = [one for one in simulation.events if one.object.kind == "ClusterPolicy"]
    assert "must not be set for a cluster-wide resource" in event.full_message
    (hazard,) = [one for one in simulation.hazards if one.code == "KH015"]
    assert "the policy is rejected also without its other errors: " in hazard.message


CLEANUP = """
apiVersion: kyverno.io/v2
kind: ClusterCleanupPolicy
metadata: {name: bare}
spec:
  schedule: "* * * * *"
  match: {any: [{resources: {kinds: [Pod]}}]}
"""


def test_a_cleanup_policy_that_lacks_rights_comes_with_the_label_of_a_role(run, obj):
    simulation = run(CLEANUP, obj("Namespace", "shop"), refused=True)
    (hazard,) = [one for one in simulation.hazards if one.code == "KH015"]
    assert [one.name for one in hazard.objects] == ["bare"]
    assert "has no permission to delete kind Pod; grant it with a ClusterRole (as" in hazard.message
    allowed = run(CLEANUP, obj("Namespace", "shop"), installation=CI)
    assert not [one for one in allowed.hazards if one.code == "KH015"]


@pytest.mark.parametrize(
    ("schedule", "horizon", "told"),
    [
        ("0 3 * * *", 60.0, "is due at 2026-01-01 03:00, after the end of the simulation: pass "),
        ("0 3 * * *", 4 * 3600.0, ""),
        ("* * * * *", 90.0, ""),
    ],
)
def test_a_schedule_that_is_due_after_the_run(run, obj, schedule, horizon, told):
    policy = CLEANUP.replace("* * * * *", schedule)
    simulation = run(policy, obj("Namespace", "shop"), installation=CI, horizon=horizon)
    found = [one for one in simulation.hazards if one.code == "KH045"]
    assert [one.level.value for one in found] == ["info"] * bool(told)
    assert all(told in one.message for one in found)
    assert all(one.message.endswith("`--horizon 3h`") for one in found)


CALLED_B = """\
  conditions:
    any: [{key: "{{ target.metadata.name }}", operator: Equals, value: b}]
"""
DELETING = """
apiVersion: policies.kyverno.io/v1
kind: DeletingPolicy
metadata: {name: old}
spec:
  schedule: "* * * * *"
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], resources: [configmaps]}]
  conditions: [{name: a, expression: "object.metadata.name == '%s'"}]
"""


@pytest.mark.parametrize(
    ("policy", "why"),
    [
        (
            CLEANUP.replace("kinds: [Pod]", "kinds: [ConfigMap], names: [b]"),
            'ConfigMap shop/a is kept, since names expected ["b"], found "a"',
        ),
        (
            CLEANUP.replace("[Pod]", "[ConfigMap]") + CALLED_B,
            'ConfigMap shop/a is kept, since any[0] is false: "a" Equals "b"',
        ),
        (
            DELETING % "b",
            (
                "ConfigMap shop/a is kept, since `object.metadata.name == 'b'` is false; "
                '`object.metadata.name` is "a"'
            ),
        ),
        (CLEANUP.replace("[Pod]", "[CronJob]"), "there are no objects of its kinds"),
        (DELETING % "a", ""),
    ],
)
def test_a_cleanup_that_deletes_nothing_says_what_keeps_an_object(run, obj, policy, why):
    steps = obj("Namespace", "shop"), obj("ConfigMap", "a", "shop")
    label = {"rbac.kyverno.io/aggregate-to-cleanup-controller": "true"}
    rights = [{"apiGroups": ["", "batch"], "resources": ["*"], "verbs": ["*"]}]
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "c", "labels": label},
        "rules": rights,
    }
    simulation = run(policy, *steps, objects=[role], horizon=70.0)
    found = [one for one in simulation.hazards if one.code == "KH046"]
    assert [one.level.value for one in found] == ["info"] * bool(why)
    assert all(one.message == f"the policy ran, and deleted nothing: {why}" for one in found)


def test_the_installation_of_the_tests_has_the_rights(run, obj):
    simulation = run(COPY, obj("Namespace", "shop"), installation=CI)
    assert not [one for one in simulation.hazards if one.code == "KH015"]


def test_kinds_that_nothing_enforces_are_told_once_each(run, obj):
    quotas = [obj("ResourceQuota", name, "default", spec={}) for name in ("a", "b")]
    simulation = run([], *quotas, obj("ConfigMap", "m", "default"))
    (hazard,) = [one for one in simulation.hazards if one.code == "KH016"]
    assert [one.name for one in hazard.objects] == ["a", "b"]
    assert hazard.level == "warning"
    assert not [one for one in run([], obj("ConfigMap", "m")).hazards if one.code == "KH016"]


NO_LATEST = """
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata:
  name: no-latest
  annotations: {pod-policies.kyverno.io/autogen-controllers: %s}
spec:
  background: false
  rules:
  - name: tag
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate:
      failureAction: %s
      message: no latest
      pattern: {spec: {containers: [{image: "!*:latest"}]}}
"""


def _deployment(obj, image):
    labels = {"app": "web"}
    pod = {"spec": {"containers": [{"name": "c", "image": image}]}, "metadata": {"labels": labels}}
    spec = {"selector": {"matchLabels": labels}, "template": pod}
    return obj("Deployment", "web", "default", api_version="apps/v1", spec=spec)


def test_a_deployment_whose_pods_are_denied_is_told_with_the_cause(run, obj):
    simulation = run(NO_LATEST % ("none", "Enforce"), _deployment(obj, "nginx:latest"))
    (hazard,) = [one for one in simulation.hazards if one.code == "KH017"]
    assert [(one.kind, one.name) for one in hazard.objects] == [("Deployment", "web")]
    assert hazard.policies == ("no-latest/tag",)
    assert "no latest" in hazard.message
    assert simulation.events[hazard.events[0]].outcome == "denied"


def test_workloads_that_get_their_pods_or_are_denied_themselves_are_none(run, obj):
    for controllers, action, image in (
        ("none", "Enforce", "nginx:1"),
        ("none", "Audit", "nginx:latest"),
        ("Deployment", "Enforce", "nginx:latest"),
    ):
        simulation = run(NO_LATEST % (controllers, action), _deployment(obj, image))
        assert not [one for one in simulation.hazards if one.code == "KH017"]


# What is lost where the API server evaluates a policy.

CEL = {"cel": {"generate": True, "expressions": [{"expression": "true"}]}}


def kinds(*names):
    return {"any": [{"resources": {"kinds": list(names)}}]}


@pytest.fixture
def told(run, cluster_policy):
    def find(match, validate=CEL, annotations=None):
        policy = cluster_policy("p", {"match": match, "validate": validate})
        policy["metadata"]["annotations"] = annotations or {}
        return [one for one in run([policy]).hazards if one.code == "KH030"]

    return find


def test_rules_that_are_derived_for_controllers_are_told(told):
    (hazard,) = told(kinds("Pod"))
    assert hazard.policies == ("p",)
    assert "CronJob, DaemonSet, Deployment, Job, ReplicaSet" in hazard.message


@pytest.mark.parametrize(
    ("match", "more"),
    [
        (kinds("Deployment"), {}),
        (kinds("Pod"), {"validate": {"cel": {**CEL["cel"], "generate": False}}}),
        (kinds("Pod"), {"annotations": {"pod-policies.kyverno.io/autogen-controllers": "none"}}),
    ],
)
def test_nothing_is_told_where_nothing_is_lost(told, match, more):
    assert told(match, **more) == []
