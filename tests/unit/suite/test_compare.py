import pytest

from kyvsim.suite.compare import compare, compare_any


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
