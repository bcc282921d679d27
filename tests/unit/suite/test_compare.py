"""Objects beside files, and what files should hold."""

import pytest

from kyvsim.model.suite import Golden
from kyvsim.suite.compare import compare, compare_any, expected_by_file, same, unmarked


def config(name="one", **fields):
    meta = {"name": name, "namespace": "default", **fields.pop("metadata", {})}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, **fields}


@pytest.mark.parametrize(
    ("actual", "expected", "equal"),
    [
        ({"data": {"a": "b"}}, {"data": {"a": "b"}}, True),
        ({"data": {"a": "b"}}, {"data": {"a": "c"}}, False),
        ({"spec": {"n": 1}}, {"spec": {"n": 1.0}}, True),
        ({"spec": {"n": True}}, {"spec": {"n": 1}}, False),
        ({"spec": {"n": 1}}, {"spec": {"n": "1"}}, False),
        ({"spec": {"a": None, "b": {}, "c": [None, {}]}}, {}, True),
        ({"list": [1, 2]}, {"list": [2, 1]}, False),
        ({"list": [1, None, 2]}, {"list": [1, 2]}, True),
        ({"spec": {"a": 0}}, {}, False),
        ({"spec": {"a": ""}}, {}, False),
        ({"metadata": {"labels": {"generate.kyverno.io/rule-name": "x"}}}, {}, True),
        ({"metadata": {"labels": {"app.kubernetes.io/managed-by": "kyverno"}}}, {}, True),
        ({"metadata": {"labels": {"app.kubernetes.io/managed-by": "helm"}}}, {}, False),
        ({"metadata": {"labels": {"a": "b"}}}, {}, False),
        ({"metadata": {"annotations": {"a": "b"}}}, {}, False),
    ],
)
def test_only_what_makes_a_difference_counts(actual, expected, equal):
    files = {"f": (config(**expected),)}
    assert compare(config(**actual), "f", files).equal is equal
    swapped = {"f": (config(**actual),)}
    assert compare(config(**expected), "f", swapped).equal is equal


def test_the_object_of_the_same_name_is_compared():
    files = {"f": (config("other"), config("one", data={"a": "b"})), "bad": "cannot be read"}
    assert compare(config(data={"a": "b"}), "f", files).equal
    missing = compare(config("third"), "f", files)
    assert missing.missing
    assert missing.problem == "resource with name third not found in manifest"
    assert compare(config(), "bad", files).problem == "cannot be read"
    assert not compare(config(), "bad", files).missing


def test_of_several_files_one_must_be_equal():
    files = {"a": (config("x"),), "b": (config(data={"a": "c"}),), "c": (config(data={"a": "b"}),)}
    actual = config(data={"a": "b"})
    assert compare_any(actual, ["a", "b", "c"], files).equal
    assert compare_any(actual, ["b", "a"], files).difference.file == "b"
    assert compare_any(actual, ["a"], files).missing


def test_comparing_changes_nothing():
    actual = config(metadata={"labels": {"generate.kyverno.io/x": "y"}}, spec={"a": None})
    files = {"f": (config(spec={"b": []}),)}
    before = repr(actual), repr(files)
    compare(actual, "f", files)
    assert (repr(actual), repr(files)) == before


def secret(name="a", labels=None, **fields):
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "labels": labels or {}},
        **fields,
    }


def test_each_object_of_a_file_once():
    one, twin, other = secret(data={"n": 1}), secret(data={"n": 1.0}), secret("b")
    found = expected_by_file(
        [Golden("x", one), Golden("x", twin), Golden("y", other), Golden("x", other)]
    )
    assert list(found) == ["x", "y"]
    assert [key.name for key in found["x"].objects] == ["a", "b"]
    assert found["x"].disputed == ()


def test_two_opinions_are_disputed_and_not_written():
    found = expected_by_file(
        [Golden("x", secret(data={"n": "1"})), Golden("x", secret()), Golden("x", secret("b"))]
    )
    assert [key.name for key in found["x"].disputed] == ["a"]
    assert [key.name for key in found["x"].objects] == ["b"]


def test_what_has_no_name_is_not_written():
    assert expected_by_file([Golden("x", {}), Golden("x", secret(name=""))])["x"].objects == {}


def test_marks_of_generated_objects_are_left_out():
    managed = {"app.kubernetes.io/managed-by": "kyverno"}
    marked = secret(labels={"generate.kyverno.io/rule-name": "r", **managed, "own": "1"})
    assert unmarked(marked)["metadata"]["labels"] == {"own": "1"}
    bare = secret(labels={"generate.kyverno.io/rule-name": "r"})
    assert unmarked(bare)["metadata"] == {"name": "a"}
    assert unmarked(secret(labels=managed)) == secret(labels=managed)
    assert same(unmarked(marked), marked)
    assert not same(secret(data={"a": "b"}), marked)
