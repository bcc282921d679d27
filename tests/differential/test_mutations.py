"""Patches against the recorded answers of Kyverno 1.19.0 (mutations.jsonl, own cases).

`record_mutations.py` asks again. Objects get name and namespace there, and numbers as floats.
"""

import pytest
from recorded import recorded

from kyvsim.engine.pattern import compile_pattern
from kyvsim.kubernetes.quantities import with_floats
from kyvsim.patch.json_patch import compile_json_patch
from kyvsim.patch.nodes import PatchError, UnreadableObjectError, read_back
from kyvsim.patch.strategic_merge import apply_strategic_merge
from kyvsim.policy.read import pattern_node

ROWS = recorded("mutations.jsonl")
UNREADABLE = "failed to unmarshal patched resource: "
NOT_PATCHED = "failed to patch resource: "


def condition(pattern):
    check = compile_pattern(pattern_node(pattern, ()))
    return lambda value: check(value) is None


def answer(number, row):
    metadata = {**row["object"].get("metadata", {}), "name": f"n{number}", "namespace": "default"}
    resource = with_floats({**row["object"], "metadata": metadata})
    mutate = row["mutate"]
    try:
        if "patchStrategicMerge" in mutate:
            patched = apply_strategic_merge(mutate["patchStrategicMerge"], resource, condition)
        else:
            patched = compile_json_patch(mutate["patchesJson6902"])(resource)
        if patched is resource:
            return {"result": "skip", "message": "no patches applied"}
        return {"result": "pass", "patched": read_back(patched)}
    except PatchError as error:
        return {"result": "error", "message": NOT_PATCHED + error.message}
    except UnreadableObjectError as error:
        return {"result": "error", "message": UNREADABLE + error.message}


def test_recorded_answers():
    answers = [(row, answer(number % 50, row)) for number, row in enumerate(ROWS)]
    assert [pair for pair in answers if not pair[1].items() <= pair[0].items()] == []


@pytest.mark.parametrize("result", ["pass", "skip", "error"])
@pytest.mark.parametrize("kind", ["patchStrategicMerge", "patchesJson6902"])
def test_every_outcome_is_recorded(result, kind):
    assert sum(row["result"] == result and kind in row["mutate"] for row in ROWS) >= 5
