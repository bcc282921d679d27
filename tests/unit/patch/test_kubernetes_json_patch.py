"""JSON patches by the API server's rules, where they differ from those of mutate rules."""

import pytest

from kyvsim.patch.json_patch import PatchOperation, apply_operations
from kyvsim.patch.json_pointer import KUBERNETES, parse_pointer
from kyvsim.patch.nodes import FailedTestError, PatchError

DOCUMENT = {"spec": {"words": ["one", "two"], "nil": None, "": {"x": 1}}}


def patched(name, path, value=None, source=None, *, has_value=True):
    start = None if source is None else parse_pointer(source)
    operation = PatchOperation(name, parse_pointer(path), start, value, has_value)
    return apply_operations(DOCUMENT, [operation], KUBERNETES)


@pytest.mark.parametrize(
    ("operation", "spec"),
    [
        (("replace", "/spec/new", 1), {"new": 1}),
        (("copy", "/spec/new", None, "/spec/zzz"), {"new": None}),
        (("add", "/spec/words/-1", "end"), {"words": ["one", "two", "end"]}),
        (("remove", "/spec/words/-1"), {"words": ["one"]}),
        (("add", "/spec//x", 2), {"": {"x": 2}}),
    ],
)
def test_what_operations_do(operation, spec):
    assert patched(*operation) == {"spec": {**DOCUMENT["spec"], **spec}}


@pytest.mark.parametrize(
    ("operation", "message"),
    [
        (
            ("remove", "/spec/zzz"),
            (
                "error in remove for path: '/spec/zzz': Unable to remove nonexistent key: zzz: "
                "missing value"
            ),
        ),
        (
            ("remove", "/zzz/a"),
            'remove operation does not apply: doc is missing path: "/zzz/a": missing value',
        ),
        (
            ("remove", "/spec/words/7"),
            (
                "error in remove for path: '/spec/words/7': Unable to access invalid index: 7: "
                "invalid index referenced"
            ),
        ),
        (
            ("add", "/spec/zzz/deep", 1),
            'add operation does not apply: doc is missing path: "/spec/zzz/deep": missing value',
        ),
        (
            ("add", "", {"a": 1}),
            'add operation does not apply: doc is missing path: "": missing value',
        ),
        (
            ("move", "/spec/x"),
            "move operation failed to decode from: operation, missing from field: missing value",
        ),
        (
            ("copy", "/spec/x", None, "/zzz/y"),
            "copy operation does not apply: doc is missing from path: /zzz/y: missing value",
        ),
        (("foo", "/spec"), "Unexpected kind: foo"),
    ],
)
def test_errors(operation, message):
    with pytest.raises(PatchError) as caught:
        patched(*operation)
    assert caught.value.message == message


@pytest.mark.parametrize(
    ("path", "value", "has_value", "holds"),
    [
        ("/spec/words", ["one", "two"], True, True),
        ("/spec/zzz", None, False, True),
        ("/spec/zzz", None, True, False),
        ("/spec/nil", None, True, False),
        ("/spec/words/0", "two", True, False),
    ],
)
def test_a_test_that_fails_is_told_from_other_errors(path, value, has_value, holds):
    if holds:
        assert patched("test", path, value, has_value=has_value) is DOCUMENT
    else:
        with pytest.raises(FailedTestError):
            patched("test", path, value, has_value=has_value)
