"""The parameters of Kubernetes' admission policies."""

import pytest

from kyvsim.languages.native.compile import chosen_parameters
from kyvsim.policy.cel_policy import read_param_ref


def config(name, namespace, **labels):
    meta = {"name": name, "namespace": namespace, "labels": labels}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}


GIVEN = [config("a", "x", k="1"), config("b", "x", k="2"), config("a", "y", k="2")]


@pytest.mark.parametrize(
    ("reference", "found"),
    [
        ({"name": "b"}, GIVEN[1]),
        ({"name": "a", "namespace": "y"}, GIVEN[0]),
        ({"namespace": "y"}, GIVEN[2]),
        ({"name": "zzz"}, None),
        ({}, None),
        ({"selector": {"matchLabels": {"k": "2"}}}, {"items": GIVEN[1:]}),
        ({"selector": {}}, {"items": GIVEN}),
        ({"selector": {"matchLabels": {"k": "3"}}}, None),
        ({"selector": {"matchExpressions": [{"key": "k", "operator": "No"}]}}, None),
    ],
)
def test_which_parameters_count(reference, found):
    assert chosen_parameters(read_param_ref(reference, ()), GIVEN) == found
