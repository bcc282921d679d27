import pytest

from kyvsim.load.mistaken import mistaken
from kyvsim.model.source import Document, Location

POLICY = {"apiVersion": "kyverno.io/v1", "kind": "ClusterPolicy"}
POD = {"apiVersion": "v1", "kind": "Pod"}


def documents(*data):
    return [Document(one, "f", n, lambda _: Location("f")) for n, one in enumerate(data)]


@pytest.mark.parametrize(
    ("policies", "resources", "said"),
    [
        ([POD], [POLICY], "policies and resources look exchanged"),
        ([POLICY, POD], [POD], "each path of resources needs its own --resource"),
        ([POD], [POD], "each path of resources needs its own --resource"),
        ([POLICY], [POLICY], ""),
        ([POLICY], [POD], ""),
        ([{"replicas": 3}], [POD], ""),
    ],
)
def test_inputs_in_the_place_of_others_are_told(policies, resources, said):
    found = mistaken(documents(*policies), documents(*resources))
    assert [one.code for one in found] == (["KV029"] if said else [])
    assert all(said in one.message for one in found)
