"""Limits of a simulation: Pods of one object, and idle time."""

import pytest

from kyvsim.kubernetes.objects import ObjectKey
from kyvsim.simulator import context
from kyvsim.simulator.context import MOST_PODS, ReplicaLimit, StallDetector
from kyvsim.simulator.scheduler import Scheduler, VirtualClock
from kyvsim.simulator.timeline import Timeline

# A simulation makes each Pod by itself, so there is a most that one object may want.


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


# Stories in which nothing happens for longer than anybody waits are stopped.


@pytest.fixture
def story(monkeypatch):
    """A timeline and a scheduler with a timer that comes every hour, and what watches them."""
    monkeypatch.setattr(context, "MOST_STEPS", 10)
    clock = VirtualClock()
    timeline, scheduler = Timeline(clock), Scheduler(clock)

    def tick():
        scheduler.after(3600.0, "controller", tick, timer=True)

    tick()
    return timeline, scheduler, StallDetector(timeline, scheduler)


def test_steps_without_an_event_are_counted(story):
    _, scheduler, watched = story
    scheduler.advance(10 * 3600.0)
    assert not watched.is_stalled()
    scheduler.advance(3600.0)
    assert watched.is_stalled()


def test_an_event_begins_the_count_anew(story):
    timeline, scheduler, watched = story
    scheduler.advance(10 * 3600.0)
    timeline.record("user", "create", ObjectKey("v1", "ConfigMap", "shop", "a"))
    assert not watched.is_stalled()
    scheduler.advance(10 * 3600.0)
    assert not watched.is_stalled()
    scheduler.advance(3600.0)
    assert watched.is_stalled()
