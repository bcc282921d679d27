"""Where an object differs from what is expected."""

import pytest

from kyvsim.simulator.scenario import closest_mismatch, first_mismatch

POD = {
    "kind": "Pod",
    "metadata": {"name": "web-1", "labels": {"app": "web"}},
    "spec": {"replicas": 2, "containers": [{"name": "a", "image": "x:1"}, {"name": "b"}]},
}


@pytest.mark.parametrize(
    "wanted",
    [
        {},
        {"kind": "Pod"},
        {"metadata": {"name": "web-*"}},
        {"metadata": {"annotations": None}},
        {"spec": {"containers": [{"name": "b"}]}},
        {"spec": {"containers": [{"name": "b"}, {"image": "x:?"}]}},
        {"spec": {"replicas": 2.0}},
    ],
)
def test_parts_of_an_object_fit_it(wanted):
    assert first_mismatch(wanted, POD) is None


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        ({"kind": "Job"}, "`kind` is `Pod`, not `Job`"),
        ({"metadata": {"labels": {"team": "x"}}}, "`metadata.labels.team` is missing"),
        ({"metadata": {"labels": None}}, "`metadata.labels` is a mapping"),
        ({"spec": {"containers": [{"name": "c"}]}}, "`spec.containers[0]` matches none of 2"),
        ({"spec": {"containers": []}}, "`spec.containers` is not empty"),
        ({"spec": {"replicas": True}}, "`spec.replicas` is `2`, not true"),
        ({"spec": []}, "`spec` is a mapping, not a list"),
    ],
)
def test_misfits_are_told_with_their_path(wanted, told):
    assert str(first_mismatch(wanted, POD)).startswith(told)


def test_the_object_of_the_name_is_closest():
    other = {**POD, "metadata": {"name": "db"}}
    wanted = {"metadata": {"name": "web-1"}, "spec": {"replicas": 3}}
    obj, failed = closest_mismatch(wanted, [other, POD])
    assert (obj, failed.path) == (POD, "spec.replicas")
    assert closest_mismatch({"metadata": {"name": "nobody"}}, [POD]) is None
