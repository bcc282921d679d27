from kyvsim.model.suite import Golden
from kyvsim.suite.compare import expected_by_file, same, unmarked


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
