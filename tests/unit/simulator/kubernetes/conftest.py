"""Clusters for the tests of Kubernetes' own controllers."""

import pytest


@pytest.fixture
def run(cluster):
    """Return what lets virtual seconds pass."""
    return cluster.sim.scheduler.advance


@pytest.fixture
def names(admin):
    """Return what lists the names of a kind in the namespace `default`."""
    return lambda version, kind: [
        one["metadata"]["name"] for one in admin.list(version, kind, "default")
    ]


@pytest.fixture
def told(cluster):
    """Return what lists the events of one actor: what it did, how it ended, and why."""
    return lambda actor: [
        (one.action, one.outcome, one.message)
        for one in cluster.sim.timeline.events
        if one.actor == actor
    ]


@pytest.fixture
def workload(obj, deployment):
    """Return what makes a workload of another kind than Deployment."""

    def make(kind, name="w", **fields):
        spec = {**deployment(name)["spec"], **fields}
        return obj(kind, name, "default", "apps/v1", spec=spec)

    return make


@pytest.fixture
def job(obj):
    """Return what makes a Job; `command` is what its container runs."""

    def make(name="j", command=(), **fields):
        container = {"name": "c", "image": "busybox:1.35", "command": list(command)}
        template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
        return obj("Job", name, "default", "batch/v1", spec={"template": template, **fields})

    return make
