"""Patches one after the other look at what they share once: counted calls, no seconds."""

import sys
from collections.abc import Callable
from functools import partial

import pytest

from kyvsim.kube import numbers
from kyvsim.kube.numbers import with_whole_numbers
from kyvsim.kube.objects import Json
from kyvsim.patch import compile_json_patch, compile_strategic_merge, read_back
from kyvsim.report.object_diff import marked_yaml

_LABEL = compile_strategic_merge({"metadata": {"labels": {"b": "2"}}}, lambda _: lambda _: True)


def pod(containers: int, **fields: object) -> dict[str, object]:
    """Return a Pod that nobody has seen."""
    env = [{"name": f"E{n}", "value": "x"} for n in range(5)]
    one = [{"name": f"c{n}", "image": "a", "env": [*map(dict, env)]} for n in range(containers)]
    metadata = {"name": "p", "labels": {"a": "1"}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": one, **fields},
    }


def _patched(patch: Callable[[Json], Json], obj: Json) -> Json:
    return read_back(patch(obj))


def calls(function: Callable[[], object]) -> int:
    """Return how many functions a call enters."""
    count = 0

    def seen(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(seen)
    try:
        function()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize(
    "patch",
    [_LABEL, compile_json_patch("- {op: add, path: /metadata/labels/b, value: '2'}")],
)
def test_what_a_patch_leaves_alone_is_looked_at_once(patch):
    for known in (numbers.tidy_parts(), numbers.whole_parts()):
        known.clear()  # or it is cleared in between, when it has become too large
    costs = []
    for containers in (10, 100):
        seen = read_back(_LABEL(pod(containers)))
        bare = {**seen, "metadata": {"name": "p", "labels": {}}}
        costs.append(calls(partial(_patched, patch, bare)))
    assert costs[0] == costs[1]


def test_numbers_of_a_new_part_are_read_back_and_those_of_a_known_one_stay_ints():
    first = read_back(pod(1, terminationGracePeriodSeconds=5.0))
    grace = first["spec"]["terminationGracePeriodSeconds"]
    second = read_back({**first, "spec": {**first["spec"], "priority": 7.0}})
    assert [one.__class__ for one in (grace, second["spec"]["priority"])] == [int, int]
    assert second["metadata"] is first["metadata"]


def test_a_list_with_doubles_is_tidied_each_time():
    doubled = pod(1)
    doubled["spec"]["containers"] *= 2
    for _ in range(2):
        assert len(_LABEL(doubled)["spec"]["containers"]) == 1


def test_parts_are_forgotten_when_there_are_many(monkeypatch):
    monkeypatch.setattr(numbers, "_MOST", 10)
    for _ in range(3):
        read_back(pod(20))
    assert len(numbers.whole_parts()) <= 10


def test_a_part_that_objects_share_stays_one_part_when_its_numbers_are_read_back():
    shared = {"httpGet": {"port": 80.0}}
    first, second = (with_whole_numbers({"a": n, "probe": shared}) for n in ("x", "y"))
    assert first["probe"] == {"httpGet": {"port": 80}}
    assert first["probe"] is second["probe"]
    assert with_whole_numbers(first) is first


def test_lines_of_shared_parts_are_known_and_few_are_kept(monkeypatch):
    monkeypatch.setattr(numbers, "_MOST_SHOWN", 3)
    shared = {"x": [1, 2]}
    marked_yaml({"a": 1, "s": shared}, {"a": 2, "s": shared})
    assert calls(partial(marked_yaml, {"a": 1, "s": shared}, {"a": 2, "s": shared})) < calls(
        partial(marked_yaml, {"a": 1, "s": {**shared}}, {"a": 2, "s": {**shared}})
    )
    for number in range(9):
        one = {"s": {"n": number}}
        marked_yaml(one | {"a": 1}, one | {"a": 2})
    assert len(numbers.shown_parts()) <= 3
