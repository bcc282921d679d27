"""Mutate rules on existing objects."""

import pytest

from kyvsim.kubernetes.objects import ObjectKey, labels

SECRETS = {"any": [{"resources": {"kinds": ["Secret"]}}]}


@pytest.fixture
def mutate():
    """Return what makes a rule that labels ConfigMaps when a Secret comes."""

    def make(targets=None, match=SECRETS, **fields):
        target = {"apiVersion": "v1", "kind": "ConfigMap", "name": "t", "namespace": "default"}
        patch = {"metadata": {"labels": {"seen": "yes"}}}
        body = {"targets": targets or [target], "patchStrategicMerge": patch, **fields}
        return {"name": "mut", "match": match, "mutate": body}

    return make


def test_target_is_patched_for_a_trigger(cluster_policy, mutate, put, obj, made, told):
    put(
        obj("ConfigMap", "t", "default"),
        cluster_policy("p", mutate()),
        obj("Secret", "s", "default"),
    )
    assert labels(made("default", "t")) == {"seen": "yes"}
    (event,) = told("mutate existing")
    assert (event.actor, event.policies) == ("background", ("p/mut",))


def test_missing_target_is_a_failure(cluster_policy, mutate, put, obj, told):
    put(cluster_policy("p", mutate()), obj("Secret", "s", "default"))
    attempts = told("attempt")
    assert [one.outcome for one in attempts] == ["failed"] * 5
    assert 'configmaps "t" not found' in attempts[0].full_message


def test_no_target_of_a_selection_is_no_failure(
    cluster_policy, mutate, put, obj, told, background_may
):
    put(background_may("batch", "jobs"))
    target = {"apiVersion": "batch/v1", "kind": "Job", "namespace": "default", "name": "*"}
    put(cluster_policy("p", mutate([target])), obj("Secret", "s", "default"))
    assert [one.outcome for one in told("attempt")] == ["done"]


@pytest.mark.parametrize("asked", [True, False])
def test_existing_triggers_count_where_asked_for(cluster_policy, mutate, put, obj, made, asked):
    rule = mutate(mutateExistingOnPolicyUpdate=asked)
    put(obj("ConfigMap", "t", "default"), obj("Secret", "s", "default"), cluster_policy("p", rule))
    assert bool(labels(made("default", "t"))) is asked


@pytest.mark.parametrize("operations", [["DELETE"], None])
def test_deletion_counts_where_it_is_listed(
    cluster_policy, mutate, put, obj, made, admin, settle, operations
):
    resources = {"kinds": ["Secret"], **({"operations": operations} if operations else {})}
    key = ObjectKey("v1", "Secret", "default", "s")
    target = obj("ConfigMap", "t", "default")
    put(obj("Secret", "s", "default"), target)
    put(cluster_policy("p", mutate(match={"any": [{"resources": resources}]})))
    admin.delete(key)
    settle()
    assert bool(labels(made("default", "t"))) is (operations is not None)


def test_scale_of_a_target_is_written(
    cluster_policy, mutate, put, obj, deployment, cluster, background_may
):
    put(background_may("apps", "deployments", "deployments/scale"))
    target = {"apiVersion": "apps/v1", "kind": "Deployment/scale"}
    target |= {"name": "web", "namespace": "default"}
    rule = mutate([target], patchStrategicMerge={"spec": {"replicas": 3}})
    put(deployment(replicas=1), cluster_policy("p", rule), obj("Secret", "s", "default"))
    web = cluster.sim.store.get("apps/v1", "Deployment", "default", "web")
    assert web["spec"]["replicas"] == 3
    assert web["spec"]["template"]["spec"]["containers"]
