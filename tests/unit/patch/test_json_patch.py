"""JSON patches."""

import copy

import pytest

from kyvsim.model.ports import BudgetError
from kyvsim.patch.json_patch import (
    KUBERNETES,
    PatchOperation,
    apply_json_patch,
    apply_operations,
    compile_json_patch,
    moved_removals,
    parse_pointer,
    prepare_operations,
    read_patch_text,
)
from kyvsim.patch.nodes import FailedTestError, PatchError


def document():
    return {
        "spec": {
            "words": ["one", "two", "three"],
            "box": {"color": "red", "a/b": "slash", "m~n": "tilde"},
            "nothing": None,
            "count": 5.0,
            "text": "x",
        }
    }


def add(path, value):
    return {"op": "add", "path": path, "value": value}


@pytest.mark.parametrize(
    ("operation", "path", "after"),
    [
        (add("/spec/words/1", "new"), "words", ["one", "new", "two", "three"]),
        (add("/spec/words/-", "new"), "words", ["one", "two", "three", "new"]),
        (add("/spec/words/-1", "new"), "words", ["one", "two", "three", "new"]),
        (add("/spec/words/-4", "new"), "words", ["new", "one", "two", "three"]),
        (add("/spec/words/+1", "new"), "words", ["one", "new", "two", "three"]),
        (add("/spec/text", {"a": [1]}), "text", {"a": [1]}),
        (add("/spec/new/deep/key", 1), "new", {"deep": {"key": 1}}),
        (add("/spec/list/-", 1), "list", [1]),
        (add("/spec/list/0", 1), "list", [1]),
        (add("/spec/list/2", 1), "list", [None, None, 1]),
        (add("/spec/list/1/key", 1), "list", [None, {"key": 1}]),
        (add("/spec/list/-1/key", 1), "list", [{"key": 1}]),
        (add("/spec/nothing/key", 1), "nothing", {"key": 1}),
        (add("/spec/words/4/key", 1), "words", ["one", "two", "three", None, {"key": 1}]),
        (add("/spec/x~1y", 1), "x/y", 1),
        (add("ignored/spec/text", 1), "text", 1),
        ({"op": "remove", "path": "/spec/words/-1"}, "words", ["one", "two"]),
        ({"op": "replace", "path": "/spec/words/-3", "value": 0}, "words", [0, "two", "three"]),
        ({"op": "replace", "path": "/spec/nothing", "value": 1}, "nothing", 1),
        ({"op": "copy", "from": "/spec/words/0", "path": "/spec/text"}, "text", "one"),
        ({"op": "copy", "from": "/spec/box/a~1b", "path": "/spec/words/0"}, "words", None),
        ({"op": "move", "from": "/spec/words/0", "path": "/spec/words/-"}, "words", None),
        ({"op": "move", "from": "/spec/box/m~0n", "path": "/spec/text"}, "text", "tilde"),
    ],
)
def test_what_operations_do(operation, path, after):
    moved = {"copy": ["slash", "one", "two", "three"], "move": ["two", "three", "one"]}
    before = document()
    found = apply_json_patch(before, [operation])
    assert found["spec"][path] == (moved[operation["op"]] if after is None else after)
    assert before == document()


def test_what_is_not_touched_is_shared():
    before = document()
    found = apply_json_patch(before, [add("/spec/words/0", "new")])
    assert found["spec"]["box"] is before["spec"]["box"]


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "remove", "path": "/spec/missing/deep"},
        {"op": "remove", "path": "/spec/missing"},
        {"op": "remove", "path": "/spec/words/7"},
        {"op": "remove", "path": "/spec/words/-7"},
        {"op": "remove", "path": "/spec/text/deep"},
        {"op": "replace", "path": "/spec/text", "value": "x"},
        {"op": "replace", "path": "/spec/count", "value": 5},
        {"op": "test", "path": "/spec/count", "value": 5},
        {"op": "test", "path": "/spec/missing", "value": None},
        {"op": "test", "path": "/spec/missing"},
        {"op": "test", "path": "/spec/box", "value": document()["spec"]["box"]},
        {"op": "add", "path": "//x", "value": 1},
    ],
)
def test_the_document_itself_comes_back_unchanged(operation):
    before = document()
    assert apply_json_patch(before, [operation]) is before


@pytest.mark.parametrize(
    ("operation", "message"),
    [
        (
            add("/spec/words/9", 1),
            (
                "error in add for path: '/spec/words/9': Unable to access invalid index: 9: "
                "invalid index referenced"
            ),
        ),
        (
            add("/spec/words/x", 1),
            (
                "error in add for path: '/spec/words/x': value was not a proper array index: 'x': "
                'strconv.Atoi: parsing "x": invalid syntax'
            ),
        ),
        (add("/spec/text/deep", 1), "invalid state detected"),
        (
            add("spec", 1),
            'add operation does not apply: doc is missing path: "spec": missing value',
        ),
        (
            add("/spec/a~1b/c", 1),
            'add operation does not apply: doc is missing path: "/spec/a~1b/c": missing value',
        ),
        (
            add("/spec/list/-2/x", 1),
            "Unable to ensure path for negative index other than -1: -2: invalid index referenced",
        ),
        (
            {"op": "remove", "path": "/spec/words/-"},
            (
                "error in remove for path: '/spec/words/-': "
                'strconv.Atoi: parsing "-": invalid syntax'
            ),
        ),
        (
            {"op": "replace", "path": "/spec/missing", "value": 1},
            "replace operation does not apply: doc is missing key: /spec/missing: missing value",
        ),
        (
            {"op": "replace", "path": "/spec/missing/deep", "value": 1},
            (
                "replace operation does not apply: doc is missing path: /spec/missing/deep: "
                "missing value"
            ),
        ),
        (
            {"op": "test", "path": "/spec/text", "value": "y"},
            "testing value /spec/text failed: test failed",
        ),
        (
            {"op": "test", "path": "/spec/words/8", "value": "y"},
            (
                "error in test for path: '/spec/words/8': Unable to access invalid index: 8: "
                "invalid index referenced"
            ),
        ),
        (
            {"op": "move", "from": "/spec/missing", "path": "/spec/x"},
            (
                "error in move for path: 'missing': unable to get nonexistent key: missing: "
                "missing value"
            ),
        ),
        (
            {"op": "move", "from": "/spec/text", "path": "/spec/words/x"},
            (
                "error in move for path: '/spec/words/x': value was not a proper array index: 'x': "
                'strconv.Atoi: parsing "x": invalid syntax'
            ),
        ),
        (
            {"op": "move", "from": "", "path": "/spec/x"},
            "unable to move entire document to another path: invalid state detected",
        ),
        (
            {"op": "copy", "from": "/spec/missing", "path": "/spec/x"},
            (
                "error in copy for from: '/spec/missing': unable to get nonexistent key: missing: "
                "missing value"
            ),
        ),
        (
            {"op": "copy", "from": "/spec/text", "path": "/spec/a/b"},
            (
                "copy operation does not apply: doc is missing destination path: /spec/a/b: "
                "missing value"
            ),
        ),
    ],
)
def test_errors(operation, message):
    before = document()
    with pytest.raises(PatchError) as caught:
        apply_json_patch(before, [operation])
    assert caught.value.message == message
    assert before == document()


def test_an_empty_part_of_a_path_is_no_key_on_the_way():
    with pytest.raises(PatchError, match='doc is missing path: "/spec//x": missing value'):
        apply_json_patch({"spec": {"": {"k": 1}}}, [add("/spec//x", 1)])


def test_numbers_and_booleans_are_told_apart():
    for value in (True, "5", 5.5):
        with pytest.raises(PatchError):
            apply_json_patch(document(), [{"op": "test", "path": "/spec/count", "value": value}])


def test_a_later_operation_sees_the_earlier_ones():
    operations = [
        add("/spec/fresh", {"a": 1}),
        {"op": "copy", "from": "/spec/fresh", "path": "/spec/again"},
        add("/spec/again/b", 2),
        {"op": "test", "path": "/spec/fresh", "value": {"a": 1}},
    ]
    found = apply_json_patch(document(), operations)
    assert found["spec"]["fresh"] == {"a": 1}
    assert found["spec"]["again"] == {"a": 1, "b": 2}


def test_an_operation_is_not_changed_by_later_ones():
    operations = [add("/spec/fresh", {}), add("/spec/fresh/a", 1)]
    frozen = copy.deepcopy(operations)
    patch = compile_json_patch('[{"op":"add","path":"/spec/fresh","value":{}}]')
    assert apply_json_patch(document(), operations)["spec"]["fresh"] == {"a": 1}
    assert operations == frozen
    assert patch(document())["spec"]["fresh"] == {}


def test_a_list_is_not_padded_without_end():
    with pytest.raises(PatchError, match="would be filled with nulls"):
        apply_json_patch(document(), [add("/spec/list/4000000000", 1)])


def copied(times):
    return [{"op": "copy", "from": "/spec", "path": f"/spec/c{n}"} for n in range(times)]


def inserted(times):
    return [{"op": "add", "path": "/spec/l/0", "value": n} for n in range(times)]


@pytest.mark.parametrize("operations", [copied(40), inserted(30_000)])
def test_patches_have_a_budget(operations):
    with pytest.raises(BudgetError, match="the budget of 1,000,000 steps"):
        apply_json_patch({"spec": {"a": 1, "l": []}}, operations)


def test_a_path_leads_no_deeper_than_what_is_read():
    with pytest.raises(PatchError, match="is more than 200 levels deep"):
        apply_json_patch({"a": 1}, [{"op": "add", "path": "/a" * 201, "value": 1}])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- {op: add, path: /a, value: 1}", "error in add for path: '/a': {expected}"),
        (
            "- {op: add, path: /a/b, value: 1}",
            'add operation does not apply: doc is missing path: "/a/b": missing value',
        ),
        ("- {op: remove, path: /a}", "error in remove for path: '/a': {expected}"),
        (
            "- {op: remove, path: /a/b}",
            "json: error calling MarshalJSON for type {type}: {expected}",
        ),
        ("[]", "json: error calling MarshalJSON for type {type}: {expected}"),
        (
            "- {op: replace, path: /a, value: 1}",
            "replace operation does not apply: doc is missing key: /a: missing value",
        ),
        ("- {op: move, from: /a, path: /b}", "error in move for path: 'a': {expected}"),
        ("- {op: copy, from: /a, path: /b}", "error in copy for from: '/a': {expected}"),
        ("- {op: test, path: /a, value: 1}", "error in test for path: '/a': {expected}"),
        (
            "- {op: move, from: /a/b, path: /b}",
            "move operation does not apply: doc is missing from path: /a/b: missing value",
        ),
    ],
)
def test_nothing_can_be_done_with_no_object(text, message):
    """A deletion leaves none, whose text is `null`."""
    known = {"expected": "invalid value, expected object", "type": "*jsonpatch.partialDoc"}
    with pytest.raises(PatchError) as caught:
        compile_json_patch(text)({})
    assert str(caught.value) == message.format(**known)


def test_an_operation_without_a_path_gives_the_document():
    text = "- {op: add, path: '', value: {a: 1}}\n- {op: add, path: /b, value: 2}"
    assert compile_json_patch(text)({}) == {"a": 1, "b": 2}


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


# JSON patches by the API server's rules, where they differ from those of mutate rules.

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
def test_what_operations_do_of_kubernetes_json_patch(operation, spec):
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
def test_errors_of_kubernetes_json_patch(operation, message):
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


ALL_OF_ONE_LIST = [{"op": "remove", "path": f"/spec/words/{index}"} for index in (0, 2, 1)]
AWAY = {"op": "move", "from": "/spec/words/0", "path": "/spec/x"}


@pytest.mark.parametrize(
    ("operations", "found"),
    [
        (ALL_OF_ONE_LIST, "`/spec/words/2` removes nothing instead of `three` (and 1 more)"),
        ([*ALL_OF_ONE_LIST[:1], add("/spec/words/-", "x"), *ALL_OF_ONE_LIST[1:]], ""),
        ([add("/spec", {"words": []}), *ALL_OF_ONE_LIST], ""),
        ([*ALL_OF_ONE_LIST[:1], AWAY, *ALL_OF_ONE_LIST[1:]], ""),
        ([{"op": "remove", "path": f"/spec/box/{key}"} for key in ("0", "1")], ""),
        ([{"op": "remove", "path": f"/spec/words/{key}"} for key in ("0", "-1", "9")], ""),
        ([{"op": "remove", "path": f"/none/words/{key}"} for key in ("0", "1")], ""),
    ],
)
def test_removals_of_moved_elements(operations, found):
    texts = [*moved_removals(document(), prepare_operations(operations))]
    assert [one.split(", so ")[1].split(":")[0] for one in texts] == ([found] if found else [])
