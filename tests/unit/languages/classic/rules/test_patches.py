import pytest

from kyvsim.languages.classic.rules.patches import compile_patcher, filled_patcher
from kyvsim.patch.nodes import PatchError

POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"n": 2.0}}


def test_a_patch_without_a_change_gives_the_very_object():
    assert compile_patcher({"patchStrategicMerge": {"spec": {"n": 2}}})(POD) is POD
    assert compile_patcher({"patchesJson6902": "[]"})(POD) is POD


def test_a_changed_object_is_read_back_with_whole_numbers():
    changed = compile_patcher({"patchStrategicMerge": {"spec": {"m": "x"}}})(POD)
    assert changed["spec"] == {"n": 2, "m": "x"}
    assert type(changed["spec"]["n"]) is int


def test_a_merge_comes_before_a_json_patch():
    both = {"patchStrategicMerge": {"spec": {"m": "x"}}, "patchesJson6902": "[{"}
    assert compile_patcher(both)(POD)["spec"]["m"] == "x"


def test_an_unreadable_patch_says_so_when_it_is_applied():
    patcher = compile_patcher({"patchesJson6902": "[{"})
    with pytest.raises(PatchError):
        patcher(POD)


@pytest.mark.parametrize(("wanted", "applies"), [("1", False), (">1", True), ("<2 | 2", True)])
def test_conditions_in_a_merge_are_patterns(wanted, applies):
    patch = {"patchStrategicMerge": {"spec": {"(n)": wanted, "m": "x"}}}
    assert ("m" in compile_patcher(patch)(POD)["spec"]) is applies


def test_blocks_filled_alike_are_taken_apart_once():
    first, again, other = (
        filled_patcher({"patchStrategicMerge": {"metadata": {"labels": {"a": text}}}})
        for text in ("1", "1", "2")
    )
    assert first is again
    assert other is not first


def test_values_that_are_equal_and_not_alike_are_told_apart():
    made = [
        filled_patcher({"patchStrategicMerge": {"spec": {"m": value}}})(POD)["spec"]["m"]
        for value in (1, True, 1.5, "1", 0, False)
    ]
    assert [repr(one) for one in made] == ["1", "True", "1.5", "'1'", "0", "False"]


def test_a_block_with_what_no_document_has_is_taken_apart_each_time():
    block = {"patchStrategicMerge": {"metadata": {"labels": {"a": object()}}}}
    assert filled_patcher(block) is not filled_patcher(block)
