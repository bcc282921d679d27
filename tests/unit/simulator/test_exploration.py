"""Races: orders of steps that are tried, and those that are not."""

from kyvsim.kubernetes.objects import ObjectKey
from kyvsim.model.simulation import Expectation, HazardLevel, Simulation
from kyvsim.simulator.api_server import ObjectStore
from kyvsim.simulator.exploration import (
    Order,
    explore,
    interleavings_of,
    play_directed,
    with_interleavings,
)
from kyvsim.simulator.scheduler import Scheduler, VirtualClock


def config_map(name, **data):
    meta = {"name": name, "namespace": "x"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}


def simulate(*programs):
    """Return what plays programs, lists of steps on a store, each as an actor of its own."""

    def run(directed):
        scheduler, store = Scheduler(VirtualClock(), directed.choose), ObjectStore()
        store.put(config_map("shared", value="0"))
        directed.watch(store)
        for index, steps in enumerate(programs):
            for step in steps:
                scheduler.after(0.1, f"actor-{index}", lambda step=step: step(store))
        scheduler.settle(10)
        return Simulation("test", (), tuple(store.every()))

    return lambda directions, _: play_directed(run, directions)


def value(store, name="shared"):
    return store.get("v1", "ConfigMap", "x", name)["data"]["value"]


def increment():
    """Return two steps that lose a count where another writes between them."""
    seen = []

    def read(store):
        seen[:] = [int(value(store))]

    def write(store):
        store.put(config_map("shared", value=str(seen[0] + 1)))

    return [read, write]


def ends(found):
    return [one.simulation.objects[0]["data"]["value"] for one in found.endings]


def test_a_lost_update_is_found():
    programs = increment(), increment()
    found = interleavings_of(explore(simulate(*programs), None))
    assert sorted(ends(found)) == ["1", "2"]
    assert found.complete


def test_the_usual_order_comes_first_and_the_shortest_way_to_another_end_is_told():
    orders = [*explore(simulate(increment(), increment()), None)]
    assert (orders[0].changes, orders[0].directions) == (0, ())
    found = interleavings_of(orders)
    assert [one.changes for one in found.endings] == [0, 1]


def test_steps_that_do_not_meet_are_run_in_one_order_only():
    programs = [
        [lambda store: store.put(config_map("a"))],
        [lambda store: store.put(config_map("b"))],
        [lambda store: store.put(config_map("c"))],
    ]
    assert len([*explore(simulate(*programs), None)]) == 1


def test_a_list_meets_what_is_written_to_its_kind():
    seen = []
    programs = [
        [lambda store: seen.append(len(store.list("v1", "ConfigMap", "x")))],
        [lambda store: store.put(config_map("b"))],
    ]
    assert len([*explore(simulate(*programs), None)]) == 2
    assert sorted(seen) == [1, 2]


def test_no_more_runs_are_made_than_wished():
    programs = [increment(), increment(), increment()]
    few = interleavings_of(explore(simulate(*programs), 3))
    assert (few.runs, few.complete) == (3, False)
    assert len([*explore(simulate(*programs), None)]) > 3


def test_no_more_orders_are_likely_than_are_left_to_try():
    play, told = simulate(increment(), increment(), increment()), []

    def playing(directions, likely):
        told.append(len([*likely(10)]))
        return play(directions, likely)

    assert len([*explore(playing, 4)]) == len(told) == 4
    assert (told[0], told[1:]) == (0, [2, 1, 0])


def test_ends_that_differ_only_in_what_chance_gives_are_one():
    def ending(uid, time):
        meta = {"uid": uid, "creationTimestamp": time, "generateName": "a-", "name": f"a-{uid[:3]}"}
        return Simulation("test", (), ({"apiVersion": "v1", "kind": "Pod", "metadata": meta},))

    orders = [
        Order(ending("11111111-1111-1111-1111-111111111111", "2026-01-01T00:00:00Z"), 0, ()),
        Order(ending("22222222-1111-1111-1111-111111111111", "2026-01-01T00:00:09Z"), 1, ()),
    ]
    (only,) = interleavings_of(orders).endings
    assert (only.runs, only.changes) == (2, 0)


def test_an_order_that_meets_fewer_expectations_is_an_error():
    def ending(*, met, name="a"):
        expected = (Expectation("it comes", met, 0.0),)
        thing = config_map(name)
        return Simulation("test", (), (thing,), expectations=expected)

    same = with_interleavings(interleavings_of([Order(ending(met=True), 0, ())]))
    assert same.hazards == ()
    orders = [Order(ending(met=True), 0, ()), Order(ending(met=False), 2, ())]
    (hazard,) = with_interleavings(interleavings_of(orders)).hazards
    assert (hazard.code, hazard.level) == ("KH012", HazardLevel.ERROR)
    orders = [Order(ending(met=True), 0, ()), Order(ending(met=True, name="b"), 2, ())]
    (hazard,) = with_interleavings(interleavings_of(orders)).hazards
    assert hazard.level is HazardLevel.WARNING


def test_keys_of_steps_name_groups_not_versions():
    store = ObjectStore()
    store.read_keys = set()
    store.get("apps/v1", "Deployment", "x", "y")
    assert store.read_keys == {ObjectKey("apps", "Deployment", "x", "y")}
