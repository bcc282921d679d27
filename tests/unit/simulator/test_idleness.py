"""Stories in which nothing happens for longer than anybody waits are stopped."""

import pytest

from kyvsim.kubernetes.objects import ObjectKey
from kyvsim.simulator import context
from kyvsim.simulator.context import StallDetector
from kyvsim.simulator.scheduler import Scheduler, VirtualClock
from kyvsim.simulator.timeline import Timeline


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
