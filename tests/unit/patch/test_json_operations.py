import pytest

from kyvsim.patch.json_patch import prepare_operations, read_patch_text
from kyvsim.patch.nodes import PatchError


def operations_of(text):
    operations = read_patch_text(text)
    prepare_operations(operations)
    return operations or []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('[{"op": "remove", "path": "/a"}]', [{"op": "remove", "path": "/a"}]),
        ("- op: remove\n  path: /a\n", [{"op": "remove", "path": "/a"}]),
        (
            "- {op: add, path: /a, value: 1.0}\n- {op: add, path: /b, value: [yes]}",
            [
                {"op": "add", "path": "/a", "value": 1.0},
                {"op": "add", "path": "/b", "value": [True]},
            ],
        ),
        ("null", []),
    ],
)
def test_texts(text, expected):
    assert operations_of(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[{]", "failed to decode patches: invalid state detected"),
        ('[{"op":"add","path":"/a","value":NaN}]', "failed to decode patches: invalid state"),
        ("[" * 100_000, "failed to decode patches: invalid state detected"),
        ("a: b", "json: cannot unmarshal object into Go value of type jsonpatch.Patch"),
        ('["x"]', "json: cannot unmarshal string into Go value of type jsonpatch.Operation"),
        (
            '[{"path": "/a", "op": "foo"}]',
            'invalid operation {"op":"foo","path":"/a"}: unsupported operation',
        ),
        ('[{"op":"add","path":"/a"}]', "failed to decode 'value': operation, missing value field"),
        ('[{"op":"remove"}]', "failed to decode 'path': operation missing path field"),
        ('[{"op":"move","path":"/a"}]', "failed to decode 'from': operation, missing from field"),
        ('[{"op":"remove","path":1}]', "json: cannot unmarshal number into Go value of type strin"),
        ("{a", "failed to convert patchesJSON6902 to JSON: yaml: line 1: did not find expected"),
        ("- op: a\n b: c", "failed to convert patchesJSON6902 to JSON: yaml: line 1: did not"),
        ("a: b\n c: d", "to JSON: yaml: line 2: mapping values are not allowed in this context"),
        ("x: @a", "to JSON: yaml: found character that cannot start any token"),
    ],
)
def test_texts_that_are_no_patch(text, message):
    with pytest.raises(PatchError) as caught:
        operations_of(text)
    assert message in caught.value.message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[{]", "invalid state detected"),
        ("a: b", "json: cannot unmarshal object into Go value of type jsonpatch.Patch"),
    ],
)
def test_nothing_is_said_behind_the_message(text, message):
    with pytest.raises(PatchError) as caught:
        operations_of(text)
    assert caught.value.message == f"failed to decode patches: {message}"


def test_numbers_beyond_int64_are_floats():
    text = '[{"op":"add","path":"/a","value":[9223372036854775807,9223372036854775808]}]'
    (operation,) = operations_of(text)
    assert [type(number) for number in operation["value"]] == [int, float]
