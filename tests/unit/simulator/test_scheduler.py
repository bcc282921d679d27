"""Virtual time."""

from kyvsim.simulator.scheduler import Scheduler, VirtualClock


def scheduler(choose=None):
    clock = VirtualClock()
    return Scheduler(clock, choose) if choose else Scheduler(clock)


def test_steps_run_in_the_order_of_their_time():
    one, ran = scheduler(), []
    one.after(2, "b", lambda: ran.append("b"))
    one.after(1, "a", lambda: ran.append("a"))
    assert one.settle(10)
    assert (ran, one.clock.elapsed) == (["a", "b"], 2)


def test_steps_of_one_time_keep_the_order_in_which_they_were_asked_for():
    one, ran = scheduler(), []
    for name in "abc":
        one.after(1, name, lambda name=name: ran.append(name))
    one.settle(1)
    assert ran == ["a", "b", "c"]


def test_timers_do_not_keep_a_cluster_from_settling():
    one, ran = scheduler(), []
    one.after(3600, "hourly", lambda: ran.append("hourly"), timer=True)
    one.after(1, "work", lambda: ran.append("work"))
    assert one.settle(7200)
    assert (ran, one.clock.elapsed) == (["work"], 1)
    one.advance(3600)
    assert ran == ["work", "hourly"]


def test_time_passes_though_nothing_happens():
    one = scheduler()
    one.advance(65)
    assert one.clock.elapsed == 65
    assert one.clock.stamp() == "2026-01-01T00:01:05Z"


def test_work_that_makes_work_does_not_end_before_its_limit():
    one, ran = scheduler(), []

    def again():
        ran.append(one.clock.elapsed)
        one.after(1, "loop", again)

    one.after(1, "loop", again)
    assert not one.settle(5)
    assert ran == [1, 2, 3, 4, 5]


def test_waiting_ends_as_soon_as_its_condition_holds():
    one, ran = scheduler(), []
    one.after(1, "a", lambda: ran.append("a"))
    one.after(2, "b", lambda: ran.append("b"))
    assert one.run_until(lambda: "a" in ran, 30)
    assert (ran, one.clock.elapsed) == (["a"], 1)
    assert not one.run_until(lambda: "c" in ran, 30)
    assert one.clock.elapsed == 31


def test_a_chooser_may_prefer_another_actor_but_not_reorder_one():
    offered = []

    def last(enabled):
        offered.append([task.actor for task in enabled])
        return len(enabled) - 1

    one, ran = scheduler(last), []
    for name in ("a1", "b1", "a2"):
        one.after(1, name[0], lambda name=name: ran.append(name))
    one.settle(1)
    assert ran == ["b1", "a1", "a2"]
    assert offered[0] == ["a", "b"]


def test_follow_ups_are_settled_only_when_asked_for():
    one, done = scheduler(), []
    one.follow_up(30, "scan", lambda: done.append("scan"))
    one.after(60, "cron", lambda: done.append("cron"), timer=True)
    assert one.settle(100)
    assert done == []
    assert one.settle(100, follow_ups=True)
    assert done == ["scan"]
    assert one.clock.elapsed == 30
