import pytest

from kyvsim.engine import GivenObjects


@pytest.fixture
def given(thing):
    return GivenObjects(
        [
            thing("ConfigMap", "b", "two"),
            thing("ConfigMap", "a", "one"),
            thing("Namespace", "one", "", labels={"env": "prod"}),
            thing("ConfigMap", "b", "one"),
            thing("Deployment", "a", "one", api_version="apps/v1"),
        ]
    )


def test_an_object_is_found_by_its_whole_identity(given):
    assert given.get("v1", "ConfigMap", "one", "a")["metadata"]["name"] == "a"
    for other in (("v2", "ConfigMap"), ("v1", "Secret")):
        assert given.get(*other, "one", "a") is None
    assert given.get("v1", "ConfigMap", "", "a") is None


def test_of_two_with_one_name_the_first_counts(thing):
    first, second = (
        thing("ConfigMap", "a", data={"x": "1"}),
        thing("ConfigMap", "a", data={"x": "2"}),
    )
    given = GivenObjects([first, second])
    assert given.get("v1", "ConfigMap", "shop", "a") is first
    assert list(given.list("v1", "ConfigMap", "")) == [first]


def names(found):
    return [(one["metadata"]["namespace"], one["metadata"]["name"]) for one in found]


def test_lists_are_sorted_and_may_be_of_one_namespace(given):
    assert names(given.list("v1", "ConfigMap", "one")) == [("one", "a"), ("one", "b")]
    assert sorted(names(given.list("v1", "ConfigMap", ""))) == [
        ("one", "a"),
        ("one", "b"),
        ("two", "b"),
    ]
    assert list(given.list("v1", "Secret", "")) == []


def test_the_kinds_of_what_there_is(given):
    assert list(given.kinds()) == [
        ("v1", "ConfigMap"),
        ("v1", "Namespace"),
        ("apps/v1", "Deployment"),
    ]


def test_labels_of_a_namespace_that_was_given(given):
    assert given.namespace_labels("one") == {"env": "prod"}
    assert given.namespace_labels("two") == {}
