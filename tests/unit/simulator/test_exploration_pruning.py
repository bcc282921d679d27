"""Orders that are left out end like others: compared with a run of every order."""

import random
from functools import partial
from pathlib import Path

import pytest

from kyvsim.api.simulate import SimulateInputs, simulate
from kyvsim.model.simulation import Simulation
from kyvsim.simulator.api_server import ObjectStore
from kyvsim.simulator.exploration import DirectedRun, explore, play_directed, text_of
from kyvsim.simulator.scheduler import Scheduler, VirtualClock

pytestmark = pytest.mark.slow

MANY = 100
ROOT = Path(__file__).parents[3]


def config_map(name, value):
    meta = {"name": name, "namespace": "x"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"value": value}}


def value(store, name):
    found = store.get("v1", "ConfigMap", "x", name)
    return found["data"]["value"] if found else ""


def story(*programs):
    """Return what runs steps as actors; a step is what it reads, writes, and sets off.

    What is written tells all that was read, so that every difference shows at the end.
    """

    def run(directed):
        scheduler, store = Scheduler(VirtualClock(), directed.choose), ObjectStore()
        directed.watch(store)

        def act(actor, step):
            reads, writes, sets_off = step
            seen = ",".join(f"{name}={value(store, name)}" for name in reads)
            for name in writes:
                store.put(config_map(name, f"{actor}({seen})"))
            for other, further in sets_off:
                scheduler.after(0.001, other, partial(act, other, further))

        for actor, steps in programs:
            for step in steps:
                scheduler.after(0.01, actor, partial(act, actor, step))
        scheduler.settle(10)
        return Simulation("test", (), tuple(store.every()))

    return run


def tried(run, limit=None, **options):
    """Return the orders of a story that are tried."""
    return [*explore(lambda directions, _: play_directed(run, directions), limit, **options)]


def every_ending(run):
    """Return how a story ends in all orders of its steps there are, and how many these are."""
    endings, waiting, count = set(), [()], 0
    while waiting:
        directions = waiting.pop()
        directed = DirectedRun(directions)
        endings.add(text_of(run(directed)))
        directed.close()
        count += 1
        actors = tuple(step.actor for step in directed.steps)
        for place in range(len(directions), len(actors)):
            waiting += [(*actors[:place], other) for other in directed.steps[place].others]
    return endings, count


def chance_story(seed):
    """Return a small story of three or four actors, made by chance."""
    dice = random.Random(seed)

    def some(most):
        return tuple(dice.sample("abc", dice.randint(0, most)))

    def step(depth):
        further = (
            [(dice.choice("pqr"), step(depth + 1))] if not depth and dice.random() < 0.4 else []
        )
        return some(2), some(1), further

    actors = "pqr"[: dice.randint(2, 3)]
    return story(*((actor, [step(0) for _ in range(dice.randint(1, 2))]) for actor in actors))


@pytest.mark.parametrize("seed", range(40))
def test_pruned_and_unpruned_orders_end_alike(seed):
    run = chance_story(seed)
    wanted, _ = every_ending(run)
    orders = tried(run, most_changes=MANY)
    assert {text_of(one.simulation) for one in orders} == wanted


def test_few_orders_are_tried_twice():
    runs = [chance_story(seed) for seed in range(40)]
    count = sum(len(tried(run, most_changes=MANY)) for run in runs)
    assert count < sum(every_ending(run)[1] for run in runs) / 3


def independent(names):
    """Return programs of two actors for each name, which race for it."""
    return [
        (f"{actor}-{name}", [((name,), (name,), ()), ((name,), (), ())])
        for name in names
        for actor in ("first", "second")
    ]


def test_stories_that_share_nothing_add_up():
    counts = [len(tried(story(*independent(names)))) for names in ("a", "ab", "abcd")]
    alone = counts[0] - 1
    # Each alone, and each two of them that end otherwise in some order, together.
    pairs = 6 * (counts[1] - 1 - 2 * alone)
    assert 1 + 4 * alone <= counts[2] <= 1 + 4 * alone + pairs
    assert pairs <= 6 * 2


def test_endings_of_stories_that_share_nothing_are_put_together():
    run = story(*independent("ab"))
    wanted, _ = every_ending(run)
    assert {text_of(one.simulation) for one in tried(run, most_changes=MANY)} == wanted


def test_what_differs_is_found_among_the_first():
    quiet = [(f"reader-{index}", [(("b",), (), ())] * 2) for index in range(4)]
    busy = ("writer", [((), ("b",), ()), ((), ("b",), ())])
    run = story(*quiet, busy, ("one", [(("a",), ("a",), ())]), ("two", [(("a",), ("a",), ())]))
    first = [text_of(one.simulation) for one in tried(run, 8)]
    assert len(set(first)) > 1


def namespaces(tmp_path, *names):
    """Return the interleavings of a story in which Namespaces are denied, and let in."""
    folder = tmp_path / "-".join(names)
    folder.mkdir()
    given = folder / "namespaces.yaml"
    labels = {name: "{team: orders}" if name.startswith("good") else "{}" for name in names}
    given.write_text(
        "".join(
            "---\n{apiVersion: v1, kind: Namespace, "
            f"metadata: {{name: {name}, labels: {labels[name]}}}}}\n"
            for name in names
        )
    )
    policies = (str(ROOT / "policies/namespace-team"),)
    inputs = SimulateInputs(policies, (str(given),), horizon=2.0, interleavings=None)
    return simulate(inputs).simulation.interleavings


def test_a_denied_and_a_good_namespace_add_up(tmp_path):
    bad, good = namespaces(tmp_path, "bad"), namespaces(tmp_path, "good")
    both = namespaces(tmp_path, "bad", "good")
    assert both.complete
    assert len(both.endings) == max(len(bad.endings), len(good.endings))
    assert both.runs <= 2 * (bad.runs + good.runs)
