"""Mutate rules become policies that make the same objects."""

import pytest

from kyvsim.model.migration import Outcome

CONTAINERS = [{"name": "a", "image": "i:1"}, {"name": "b", "image": "i:2", "command": ["x"]}]


def merge(patch, **more):
    return {"mutate": {"patchStrategicMerge": patch}, **more}


@pytest.fixture
def both(policy, run, converted, read_policy):
    """Return what gives an object as the rule, and as its conversion, changes it."""

    def changed(rule, obj):
        told, made = converted(rule)
        assert told.outcome is not Outcome.REFUSED, told.reason
        new = [read_policy(one) for one in made]
        return run([policy(rule)], obj).object, run(new, obj).object

    return changed


@pytest.mark.parametrize(
    ("patch", "field"),
    [
        ({"metadata": {"labels": {"team": "shop"}}}, "labels"),
        ({"metadata": {"annotations": {"+(a.b/c)": "x"}}}, "annotations"),
        ({"spec": {"hostNetwork": False}}, "hostNetwork"),
        ({"spec": {"securityContext": {"+(runAsUser)": 1000, "fsGroup": 1}}}, "securityContext"),
        ({"spec": {"nodeSelector": {"disk": "ssd"}}}, "nodeSelector"),
        ({"spec": {"containers": [{"(image)": "i:*", "imagePullPolicy": "Always"}]}}, "Policy"),
        ({"spec": {"containers": [{"name": "a", "tty": True}]}}, "tty"),
        ({"spec": {"(hostname)": "h", "hostNetwork": True}}, ""),
        ({"spec": {"dnsPolicy": "{{ request.object.metadata.name }}"}}, "dnsPolicy"),
    ],
    ids=str,
)
def test_strategic_merges(patch, field, both, pod):
    rule = merge(patch)
    before = pod("web", containers=CONTAINERS)
    old, new = both(rule, before)
    assert new == old
    assert field in str(old)
    assert (old != before) is bool(field)


@pytest.mark.parametrize(
    "api", [("Deployment", "apps/v1"), ("ReplicationController", "v1")], ids=str
)
def test_templates(api, both, thing):
    kind, version = api
    obj = thing(kind, api_version=version, spec={"template": {"spec": {"containers": CONTAINERS}}})
    rule = merge({"metadata": {"labels": {"team": "shop"}}, "spec": {"hostNetwork": True}})
    old, new = both(rule, obj)
    assert new == old != obj
    assert new["spec"]["template"]["metadata"] == {"labels": {"team": "shop"}}


def test_what_is_there_is_not_added(both, pod):
    rule = merge({"spec": {"securityContext": {"+(runAsUser)": 1000}}})
    obj = pod("web", containers=CONTAINERS, securityContext={"runAsUser": 1})
    assert both(rule, obj) == (obj, obj)


def test_kinds_without_types_are_patched(both, thing):
    obj = thing("Widget", api_version="x.io/v1", spec={"size": 1.0})
    rule = merge({"spec": {"colour": "red", "deep": {"+(a)": "b"}}})
    rule["match"] = {"any": [{"resources": {"kinds": ["x.io/v1/Widget"]}}]}
    old, new = both(rule, obj)
    assert new == old != obj


def test_loops(both, pod):
    condition = {"key": "{{ element.image }}", "operator": "Equals", "value": "i:2"}
    block = {
        "list": "request.object.spec.containers",
        "preconditions": {"all": [condition]},
        "patchStrategicMerge": {
            "spec": {
                "containers": [{"(name)": "{{ element.name }}", "image": "x/{{ element.image }}"}]
            }
        },
    }
    old, new = both({"mutate": {"foreach": [block]}}, pod("web", containers=CONTAINERS))
    images = [one["image"] for one in new["spec"]["containers"]]
    assert images == ["i:1", "x/i:2"]
    assert sorted(images) == sorted(one["image"] for one in old["spec"]["containers"])


def test_each_level_of_controllers_has_a_policy_of_its_own(converted):
    _, made = converted(merge({"metadata": {"labels": {"a": "b"}}}))
    resources = [one["spec"]["matchConstraints"]["resourceRules"] for one in made]
    assert [some[0]["resources"][0] for some in resources] == ["pods", "daemonsets", "cronjobs"]
    assert made[0]["spec"]["autogen"] == {"podControllers": {"controllers": []}}


@pytest.mark.parametrize(
    "patch",
    [
        {"spec": {"containers": None}},
        {"spec": {"containers": [{"$patch": "delete", "name": "a"}]}},
        {"metadata": {"labels": {"{{ request.namespace }}": "x"}}},
    ],
    ids=str,
)
def test_what_has_no_twin_is_told(patch, converted):
    told, made = converted(merge(patch))
    assert told.outcome is Outcome.REFUSED
    assert told.path.startswith("spec.rules[0].mutate.patchStrategicMerge.")
    assert made == []
