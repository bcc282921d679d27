import pytest

from kyvsim.yaml import text as text_module
from kyvsim.yaml.text import find_position

LONG = f"# {'x' * (1 << 20)}\n"

TEXT = """\
# a comment
kind: Pod
metadata: {name: x, labels: {y: 1}}
spec:
  containers:
  - name: a
    image: b
  -   name: c
  kinds: [[u, v]]
spec2: &s
  q: 1
spec3: *s
"""


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ((), (2, 1)),
        (("kind",), (2, 1)),
        (("metadata", "labels"), (3, 21)),
        (("metadata", "labels", "true"), (3, 30)),
        (("metadata", "labels", "y"), (3, 21)),
        (("spec", "containers"), (5, 3)),
        (("spec", "containers", 0), (6, 5)),
        (("spec", "containers", 0, "image"), (7, 5)),
        (("spec", "containers", 1, "name"), (8, 7)),
        (("spec", "containers", 7, "name"), (5, 3)),
        (("spec", "containers", "0"), (5, 3)),
        (("spec", "kinds", 0, 1), (9, 15)),
        (("spec", "kinds", 0, 1, "x"), (9, 15)),
        (("spec2", "q"), (11, 3)),
        (("spec3", "q"), (12, 1)),
        (("nothing", "here"), (2, 1)),
    ],
)
def test_positions(path, place, monkeypatch):
    assert find_position(TEXT, path) == place
    assert find_position(TEXT + LONG, path) == place
    for size in (1, 20, 60):
        monkeypatch.setattr(text_module, "_FINE", size)
        assert find_position(f"{TEXT}# parts of {size} by themselves\n", path) == place


def test_the_last_of_duplicate_keys_counts():
    text = "a: {x: 1}\na: {y: 1}\n"
    assert find_position(text, ("a", "x")) == (2, 1)
    assert find_position(text + LONG, ("a", "x")) == (2, 1)


def test_positions_before_an_error():
    assert find_position("a: 1\nb: 2\nc: [", ("b",)) == (2, 1)


def test_only_the_first_document_counts():
    assert find_position("a: 1\n---\nb: 2\n", ("b",)) == (1, 1)


@pytest.mark.slow
def test_asking_for_every_item_of_a_long_list_reads_the_text_a_few_times(monkeypatch):
    count = 100
    item = "- metadata:\n    name: a\n" + "".join(f"  n{key}: 'x'\n" for key in range(900))
    text = "kind: List\nitems:\n" + item * count
    read = []

    def parse(part, *, parse=text_module.parse_events):
        read.append(len(part))
        return parse(part)

    monkeypatch.setattr(text_module, "parse_events", parse)
    length = item.count("\n")
    for index in range(count):
        line = 3 + index * length
        assert find_position(text, ("items", index)) == (line, 3)
        assert find_position(text, ("items", index, "metadata", "name")) == (line + 1, 5)
        assert find_position(text, ("items", index, "n7")) == (line + 9, 3)
    assert sum(read) < 3 * len(text)


def test_places_in_flow_lists_on_one_line():
    item = "{name: a, inner: [{b: 1}, {c: 2}], last: x}"
    text = f"items: [{', '.join([item] * 900)}]\n"
    for number in (0, 1, 899):
        start = len("items: [") + number * (len(item) + 2)
        for name in ("name", "inner", "last"):
            column = start + item.index(name) + 1
            assert find_position(text, ("items", number, name)) == (1, column)
        column = start + item.index("c: 2") + 1
        assert find_position(text, ("items", number, "inner", 1, "c")) == (1, column)
