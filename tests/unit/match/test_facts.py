import pytest

from kyvsim.match import match_facts


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
