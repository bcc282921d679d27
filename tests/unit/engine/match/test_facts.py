import pytest

from kyvsim.engine.match import facts_after_change, match_facts
from kyvsim.kubernetes.objects import ObjectKey


def test_what_blocks_can_name_is_read_from_the_object(facts):
    seen = facts(
        "Deployment",
        api_version="apps/v1",
        labels={"a": "b"},
        metadata={"annotations": {"c": "d"}},
        given={"e": "f"},
    )
    assert seen[:7] == ("apps", "v1", "Deployment", "", "Deployment", "web", "shop")
    assert (seen.labels, seen.annotations, seen.namespace_labels) == (
        {"a": "b"},
        {"c": "d"},
        {"e": "f"},
    )
    assert (seen.operation, seen.user) == ("CREATE", None)


@pytest.mark.parametrize("subject", [None, {}])
def test_there_are_no_facts_about_nothing(request_for, pod, subject):
    assert match_facts(request_for(pod()), subject, {}) is None


def test_odd_metadata_counts_as_none(request_for, pod):
    odd = {"kind": "Pod", "metadata": {"name": 1.0, "labels": {"a": 1.0}, "annotations": []}}
    seen = match_facts(request_for(pod()), odd, {})
    assert (seen.group, seen.version, seen.name, seen.namespace) == ("", "", "", "")
    assert (seen.labels, seen.annotations) == ({}, {})


def test_a_namespace_is_compared_by_its_own_name(facts):
    assert facts("Namespace", "shop", "").namespace_or_own_name == "shop"
    assert facts("Pod", "web", "").namespace_or_own_name == ""


def test_a_name_that_is_to_come_stands_in_for_a_name(facts):
    made = facts(name="", metadata={"generateName": "job-"})
    assert (made.name, made.name_to_come) == ("job-", "job-")
    named = facts(name="a", metadata={"generateName": "job-"})
    assert (named.name, named.name_to_come) == ("a", "")


@pytest.mark.parametrize(
    ("api_version", "namespace", "key"),
    [
        ("apps/v1", "shop", ObjectKey("apps/v1", "Pod", "shop", "web")),
        ("v1", "", ObjectKey("v1", "Pod", "", "web")),
    ],
)
def test_what_names_an_object(facts, api_version, namespace, key):
    assert facts("Pod", "web", namespace, api_version=api_version).key == key


def test_old_labels_are_those_of_an_object_that_stays(request_for, pod):
    was, now = pod(labels={"a": "b"}), pod(labels={"c": "d"})
    request = request_for(now)._replace(old_object=was)
    assert match_facts(request, now, {}).old_labels == {"a": "b"}
    assert match_facts(request._replace(object=None), was, {}).old_labels is None
    assert match_facts(request_for(now), now, {}).old_labels is None


def test_facts_after_a_change_are_those_of_the_new_object_of_the_same_kind(facts, thing):
    changed = thing("Job", "", "lab", labels={"a": "b"})
    changed["metadata"] |= {"generateName": "job-", "annotations": {"c": "d"}}
    seen = facts_after_change(facts(), changed)
    assert (seen.name, seen.namespace, seen.kind) == ("job-", "lab", "Pod")
    assert (seen.labels, seen.annotations) == ({"a": "b"}, {"c": "d"})
    assert facts_after_change(facts(), thing("Pod", "own", "lab")).name == "own"
