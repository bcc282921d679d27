import pytest

from kyvsim.load.documents import parse_documents
from kyvsim.load.files import Source
from kyvsim.report.object_text import compact_lines

OBJECTS = [
    {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": []}},
    {"metadata": {"labels": {"a": "1", "b": "true", "c": ""}}, "spec": {"x": None, "y": 1.0}},
    {"a": ["x, y", "[z]", "{q}", "k: v", "#"], "b": "two\nlines\n", "c": {"d": "two\nlines"}},
    {"list": [{"name": "n" * 40, "image": "i" * 40}, ["x" * 30, "y" * 40], [], {}]},
]


@pytest.mark.parametrize("obj", OBJECTS)
def test_it_is_the_object_that_is_read_back(obj):
    source = Source("object", "\n".join([*compact_lines(obj), ""]))
    assert [one.data for one in parse_documents(source)] == [obj]


def test_small_parts_stand_on_one_line():
    assert compact_lines({"metadata": {"labels": {"app": "a"}, "name": "b"}}) == [
        "metadata: {labels: {app: a}, name: b}"
    ]


def test_large_parts_have_lines_of_their_own():
    lines = compact_lines({"spec": {"containers": [{"name": "a", "image": "i" * 60}]}})
    assert lines == ["spec:", "  containers:", f"  - image: {'i' * 60}", "    name: a"]
