import pytest

from kyvsim.languages.classic.rules.downstream import (
    GenerateError,
    Target,
    from_data,
    from_source,
    target_of,
)

TARGET = Target("v1", "ConfigMap", "ns", "made")
OWNED = {"name": "a", "namespace": "ns", "ownerReferences": [{"name": "o"}]}


def test_what_a_pattern_does_not_name_is_empty():
    assert target_of({"kind": "Namespace"}) == Target("", "Namespace", "", "")
    assert str(TARGET) == "v1/ConfigMap/ns/made"


@pytest.mark.parametrize("field", ["apiVersion", "kind", "namespace", "name"])
def test_a_name_that_is_no_text_is_refused(field):
    with pytest.raises(GenerateError):
        target_of({field: ["a"]})


def test_a_target_without_a_namespace_takes_away_that_of_the_data():
    made = from_data({"metadata": {"namespace": "x"}}, TARGET._replace(namespace=""))
    assert made == {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "made"}}


def test_data_may_name_a_kind_of_its_own():
    assert from_data({"kind": "Secret"}, TARGET)["kind"] == "Secret"


def test_owners_are_kept_within_a_namespace_only():
    source = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": OWNED}
    assert "ownerReferences" in from_source(source, TARGET)["metadata"]
    elsewhere = from_source(source, TARGET._replace(namespace="other"))
    assert "ownerReferences" not in elsewhere["metadata"]
    assert source["metadata"] == OWNED
