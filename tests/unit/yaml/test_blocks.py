"""Blocks of a stream have, one after the other, what the stream has."""

import json

import pytest

from kyvsim.yaml.blocks import cut_bytes, read_items
from kyvsim.yaml.document import read_first
from kyvsim.yaml.lines import NeedsFullParser
from kyvsim.yaml.text import find_position, split_chunks


def reader(data):
    return lambda start, size: data[start : start + size]


def blocks(text, size, is_list=lambda _frame: True):
    data = text.encode()
    return [
        (span, data[span.start : span.end].decode())
        for span in cut_bytes(reader(data), len(data), size, is_list)
    ]


@pytest.mark.parametrize("size", [1, 5, 20, 1000])
@pytest.mark.parametrize(
    "text",
    [
        "a: 1\n---\nb: 2\n---\nc: 3\n",
        "---\r\na: 1\r\n---\r\nb: 2",
        "\ufeffa: 1\n--- # next\n---\n# none\n---\nb: |\n  x\n---",
        "a: 1\n---\nb: 2\n--- c\nd: 4\n---\ne: 5\n",
        "--- a\nb: 1\n",
        "a: 1\n--- \u00e4 b\n---\nc: 1\n",
        "a: '\n ---'\n---  \t\r\n# \u20ac\n---\nc: |\n  --- x\n",
        "--- # \x85 a\nb: 1\n---\nc: 2\n",
        "\n",
    ],
)
def test_blocks_of_documents(text, size):
    whole = [(one.text, one.line, one.bad_separator) for one in split_chunks(text)]
    found = blocks(text, size)
    parts = [one for span, part in found for one in split_chunks(part, span.line)]
    assert [(one.text, one.line, one.bad_separator) for one in parts] == whole
    assert size < 1000 or len(found) == 1


def test_there_is_nothing_in_nothing():
    assert blocks("", 10) == []


def pods(count):
    return [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"p{one}", "labels": {"a": "- b"}},
            "spec": {"containers": [{"name": "a", "args": ["x", "y: 1"]}, {"name": "b"}]},
        }
        for one in range(count)
    ]


def in_yaml(items, column=0):
    lines = ["apiVersion: v1", "items:"]
    for item in items:
        text = json.dumps(item["metadata"])
        lines += [
            " " * column + "- apiVersion: v1",
            " " * column + "  kind: Pod",
            " " * column + f"  metadata: {text}",
            " " * column + "  spec:",
            " " * column + "    note: |",
            " " * column + "      - no item \u20ac",
            " " * column + f"    containers: {json.dumps(item['spec']['containers'])}",
        ]
    return "\n".join([*lines, "kind: List", "metadata:", '  resourceVersion: ""', ""])


def in_json(items, **style):
    whole = {"apiVersion": "v1", "items": items, "kind": "List", "metadata": {"a": "\u20ac"}}
    return json.dumps(whole, ensure_ascii=False, **style) + "\n"


LISTS = {
    "yaml": in_yaml(pods(60)),
    "yaml, indented": in_yaml(pods(60), 2),
    "below a separator": "---\n" + in_yaml(pods(60)),
    "without an end": in_yaml(pods(60)).rstrip("\n"),
    "json": in_json(pods(60), indent=4),
    "json, one blank": in_json(pods(60), indent=1),
}


@pytest.mark.parametrize("size", [300, 2000])
@pytest.mark.parametrize("name", LISTS)
def test_blocks_of_a_list(name, size):
    text = LISTS[name]
    found = blocks(text, size)
    assert len(found) > 3
    whole = read_first(text.removeprefix("---\n"), floats=True).data
    shift = text.startswith("---\n")
    items = []
    for span, part in found:
        assert span.frame.envelope == {**whole, "items": []}
        for item in read_items(part, span.frame, floats=True):
            line, column = find_position(item.place.text, ("metadata", "name"))
            place = (line + item.place.line - 1 + span.line - 1 - shift, column)
            number = len(items)
            path = ("items", number, "metadata", "name")
            assert place == find_position(text.removeprefix("---\n"), path)
            items.append(item.data)
    assert items == whole["items"]


@pytest.mark.parametrize(
    "text",
    [
        in_json(pods(60)),  # on one line
        in_yaml(pods(60)).replace("items:", "entries:"),
        in_yaml(pods(60)).replace("\n", "\r\n"),
        in_json([{"items": pods(60)}], indent=4),
        in_yaml(pods(60)).replace("kind: List", "items: []"),
        in_json(pods(60), indent=4).replace('"kind": "List"', '"items": []'),
        in_json(pods(60), indent=4).removesuffix("}\n"),
        "a: |\n" + "  text\n" * 500,
    ],
)
def test_what_is_no_plain_list_is_one_block(text):
    ((span, part),) = blocks(text, 100)
    assert (part, span.line, span.frame) == (text, 1, None)


def test_a_list_may_stand_between_documents():
    text = "a: 1\n---\n" + in_yaml(pods(60)) + "---\n# next\nb: 2\n"
    found = blocks(text, 500)
    assert found[0][1] == "a: 1\n"
    last, part = found[-1]
    assert (part, last.frame) == ("---\n# next\nb: 2\n", None)
    assert last.line == text[: text.index("---\n# next")].count("\n") + 1
    assert all(span.frame for span, _ in found[1:-1])


def test_who_says_that_it_is_no_list_gets_a_block():
    assert len(blocks(LISTS["yaml"], 300, lambda frame: frame.envelope["kind"] == "x")) == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("  kind: Pod\n", "kind: Pod\n", 1),
        lambda text: text.replace("spec:", "spec: &a", 1),
        lambda text: text.replace("  kind: Pod\n", '  kind: "Pod\n', 1),
    ],
)
def test_items_that_are_not_plain_take_the_whole_list(change):
    found = blocks(change(LISTS["yaml"]), 300)
    with pytest.raises((ValueError, NeedsFullParser)):
        [list(read_items(part, span.frame, floats=True)) for span, part in found]


def test_items_of_json_need_their_commas():
    text = LISTS["json"].replace("        },\n        {", "        }\n        {", 1)
    found = blocks(text, 300)
    with pytest.raises((ValueError, NeedsFullParser)):
        [list(read_items(part, span.frame, floats=True)) for span, part in found]
