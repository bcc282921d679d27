"""How deep data may be nested."""

import json

import pytest

from kyvsim.kubernetes.objects import MAX_DEPTH, is_too_deep
from kyvsim.yaml.document import YamlError
from kyvsim.yaml.text import cut_list, load_one, read_text


def nested(depth, core="x"):
    for level in range(depth):
        core = [core] if level % 2 else {"a": core}
    return core


@pytest.mark.parametrize("depth", [0, 1, MAX_DEPTH - 1, MAX_DEPTH])
def test_data_within_the_bound_is_not_too_deep(depth):
    assert not is_too_deep(nested(depth))
    assert not is_too_deep([*range(50), nested(depth - 1)] if depth else "x")


@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 2 * MAX_DEPTH])
def test_data_beyond_the_bound_is(depth):
    assert is_too_deep(nested(depth))
    assert is_too_deep({"a": {}, "b": nested(depth - 1)})


def json_map(depth):
    return json.dumps({"kind": "A", "a": nested(depth - 1)})


def block_map(depth):
    return "".join(f"{' ' * level}a:\n" for level in range(depth - 1)) + f"{' ' * depth}a: x\n"


@pytest.mark.parametrize("text", [json_map, block_map])
def test_all_readers_have_the_same_bound(text):
    """What is read quickly is refused where it is deep, and libyaml says so."""
    assert load_one(text(MAX_DEPTH))
    for depth in (MAX_DEPTH + 1, MAX_DEPTH + 300):
        assert read_text(text(depth)) is None
        with pytest.raises(YamlError, match="nested more than 200 deep"):
            load_one(text(depth))


def test_an_item_of_a_list_is_held_to_it():
    item = json_map(MAX_DEPTH + 1)
    assert cut_list(f'{{"kind": "List", "items": [{item}]}}') is None
    item = json_map(MAX_DEPTH - 10)
    assert cut_list(f'{{"kind": "List", "items": [{item}]}}')
