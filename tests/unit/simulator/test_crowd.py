"""A simulation makes each Pod by itself, so there is a most that one object may want."""

import pytest

from kyvsim.kubernetes.objects import ObjectKey
from kyvsim.simulator.context import MOST_PODS, ReplicaLimit
from kyvsim.simulator.scheduler import VirtualClock
from kyvsim.simulator.timeline import Timeline


@pytest.fixture
def timeline():
    return Timeline(VirtualClock())


def written(timeline, **spec):
    event = timeline.record("user", "create", ObjectKey("apps/v1", "Deployment", "shop", "web"))
    timeline.amend(event, after={"kind": "Deployment", "spec": spec})


@pytest.mark.parametrize("spec", [{"replicas": MOST_PODS}, {"replicas": "x"}, {}])
def test_what_is_simulated(timeline, spec):
    written(timeline, **spec)
    assert not ReplicaLimit(timeline).is_exceeded()


@pytest.mark.parametrize("field", ["replicas", "parallelism"])
def test_what_wants_more_is_named(timeline, field):
    replica_limit = ReplicaLimit(timeline)
    written(timeline)
    assert not replica_limit.is_exceeded()
    written(timeline, **{field: 1_000_000})
    assert replica_limit.is_exceeded()
    assert replica_limit.excess == (
        "1,000,000 Pods for Deployment shop/web (no more than 1,000 are simulated)"
    )
