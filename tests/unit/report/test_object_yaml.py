import pytest
import yaml

from kyvsim.report.object_text import scalar, to_yaml
from kyvsim.yaml.text import load_one


def test_keys_are_sorted_and_lists_stand_level_with_their_key():
    assert to_yaml({"b": [{"y": 1, "x": [2]}], "a": {}}) == ('a: {}\nb:\n- x:\n  - 2\n  "y": 1\n')


def test_whole_floats_are_written_as_ints():
    assert to_yaml({"a": 100000000.0, "b": 0.5, "c": 7}) == "a: 100000000\nb: 0.5\nc: 7\n"


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("nginx:1.25", "nginx:1.25"),
        ("--port=80", "--port=80"),
        ("1.2.3", "1.2.3"),
        ("10m", "10m"),
        ("yes", '"yes"'),
        ("n", '"n"'),
        ("0o17", '"0o17"'),
        ("1e3", '"1e3"'),
        ("12:30", '"12:30"'),
        ("2001-12-14", '"2001-12-14"'),
        ("null", '"null"'),
        ("", '""'),
        ("a: b", '"a: b"'),
        ("a #b", '"a #b"'),
        ('{"a": 1}', "'{\"a\": 1}'"),
        ("\x1b[31m", '"\\u001b[31m"'),
        ("a\x85b", '"a\\u0085b"'),
    ],
)
def test_text_is_quoted_where_a_reader_would_misread_it(text, written):
    assert scalar(text) == written
    assert load_one(f"a: {written}") == {"a": text}
    assert yaml.safe_load(f"a: {written}") == {"a": text}


@pytest.mark.parametrize(
    "text",
    ["a\nb", "a\nb\n", "a\n\n\n", "\n", " a\nb", "a\n  b\n", "a \n\tb", "a\r\nb", "#a\n- b\n"],
)
@pytest.mark.parametrize(
    "wrap", [lambda t: {"k": t}, lambda t: {"k": [t, {"l": t}]}, lambda t: [[t]]]
)
def test_text_of_several_lines_reads_back(text, wrap):
    assert load_one(to_yaml({"top": wrap(text)})) == {"top": wrap(text)}


def test_nesting_costs_no_recursion():
    tree = {}
    for _ in range(5000):
        tree = {"a": tree}
    assert to_yaml(tree).endswith("a: {}\n")


@pytest.mark.parametrize("text", ["a\u202eb", "a\u2066\nb", "a\n::error::b\nc", "a\n  ##[x]"])
def test_nothing_reorders_lines_or_speaks_to_who_reads_a_log(text):
    written = to_yaml({"a": text})
    assert load_one(written) == {"a": text}
    assert not {"\u202e", "\u2066"} & set(written)
    assert not [line for line in written.splitlines() if line.lstrip().startswith(("::", "##["))]
