import pytest
from match_blocks import block as read

from kyvsim.engine.match import reach_of_block


def resources(**fields):
    return {"resources": {"kinds": ["Pod"], **fields}}


A, AB, OPEN = frozenset("a"), frozenset("ab"), None


@pytest.mark.parametrize(
    ("block", "names", "namespaces"),
    [
        ({}, OPEN, OPEN),
        (resources(), OPEN, OPEN),
        (resources(names=["a"]), A, OPEN),
        (resources(name="a"), A, OPEN),
        (resources(names=["a", "b"], namespaces=["a"]), AB, A),
        (resources(names=["a", "b*"], namespaces=["a?"]), OPEN, OPEN),
        (resources(names=[]), OPEN, OPEN),
        ({"any": [resources(names=["a"]), resources(names=["b"])]}, AB, OPEN),
        ({"any": [resources(names=["a"]), resources(namespaces=["a"])]}, OPEN, OPEN),
        ({"any": [resources(names=["a"]), {"subjects": [{"kind": "User"}]}]}, OPEN, OPEN),
        ({"all": [resources(), resources(names=["a"], namespaces=["b*"])]}, A, OPEN),
        ({"all": [resources(), resources(namespaces=["a"])]}, OPEN, A),
    ],
)
def test_reach(block, names, namespaces):
    assert reach_of_block(read(block)) == (names, namespaces)
