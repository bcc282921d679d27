"""YAML as trees, typed as go-yaml v3 types it."""

import pytest

from kyvsim.yaml.document import YamlError
from kyvsim.yaml.nodes import MappingNode, ScalarNode, SequenceNode, parse_nodes, plain_data


def data(text):
    return [plain_data(one) for one in parse_nodes(text)]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", "yes"),
        ("Off", "Off"),
        ("n", "n"),
        ("true", True),
        ("010", 8),
        ("0o10", 8),
        ("1_000", 1000),
        ("1.5", 1.5),
        ("2.0", 2),
        ("~", None),
        ("'5'", "5"),
        ("!!str 5", "5"),
        ("2024-01-01", "2024-01-01T00:00:00Z"),
        ("2024-1-2 3:04:05.500", "2024-01-02T03:04:05.5Z"),
        ("2024-01-01T10:00:00+02:00", "2024-01-01T10:00:00+02:00"),
        ("2024-02-30", "2024-02-30"),
        ("'2024-01-01'", "2024-01-01"),
        ("!!timestamp '2024-01-01'", "2024-01-01T00:00:00Z"),
    ],
)
def test_scalars(text, value):
    found = data(f"v: {text}\n")[0]["v"]
    assert (found, found.__class__) == (value, value.__class__)


def test_nodes_know_their_lines_and_texts():
    (root,) = parse_nodes("a: 1\nb:\n- 010\n")
    assert root == MappingNode(
        1,
        (
            (ScalarNode(1, "a", "a"), ScalarNode(1, "1", 1)),
            (ScalarNode(2, "b", "b"), SequenceNode(3, (ScalarNode(3, "010", 8),))),
        ),
    )


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("", []),
        ("---\n---\na: 1\n", [None, {"a": 1}]),
        ("a: 1\n---\nb: 2\n", [{"a": 1}, {"b": 2}]),
        ("yes: 1\n1: x\n", [{"yes": 1, "1": "x"}]),
        ("a: &x [1]\nb: *x\n", [{"a": [1], "b": [1]}]),
        (
            "a: &x {k: 1, l: 1}\nb: {k: 2, <<: *x}\n",
            [{"a": {"k": 1, "l": 1}, "b": {"k": 2, "l": 1}}],
        ),
        ("b: {<<: [{k: 1}, {k: 2, l: 2}]}\n", [{"b": {"k": 1, "l": 2}}]),
    ],
)
def test_documents(text, values):
    assert data(text) == values


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ("a: 1\nb: 2\na: 3\n", 'mapping key "a" already defined at line 1', 3),
        ("a: b: c\n", "mapping values are not allowed in this context", 1),
        ("a: *x\n", "unknown anchor 'x' referenced", 1),
        ("a: &x\n  b: *x\n", "anchor 'x' value contains itself", 2),
        ("a: !!int x\n", "cannot decode !!str `x` as a !!int", 1),
        ("{[1]: 2}\n", "invalid map key: neither list nor map can be a key", 1),
        ("b: {<<: 1}\n", "map merge requires map or sequence of maps as the value", 1),
        ("~: 1\n", "unsupported map key: null", 1),
    ],
)
def test_what_is_no_document(text, message, line):
    with pytest.raises(YamlError) as caught:
        data(text)
    assert (caught.value.message, caught.value.line) == (message, line)


def test_what_grows_without_bounds_is_refused():
    bomb = "a0: &a0 x\n" + "".join(
        f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 9)
    )
    with pytest.raises(YamlError, match="excessive aliasing"):
        list(parse_nodes(bomb))
    with pytest.raises(YamlError, match="nested more than 200 deep"):
        list(parse_nodes("[" * 5000 + "]" * 5000))
    (found,) = parse_nodes("[" * 200 + "]" * 200)
    assert found.items
