import pytest

from kyvsim.yaml.text import DocumentText, split_chunks


def cut(text):
    """Return chunks without where they are from, which has to be what they hold."""
    found = list(split_chunks(text))
    assert [one.excerpt().text for one in found] == [one.text for one in found]
    return [one._replace(stream="", start=0) for one in found]


@pytest.mark.parametrize(
    ("text", "chunks"),
    [
        ("", []),
        ("# c\n\n  # d\n", []),
        ("---\n---\n", []),
        ("a: 1", [("a: 1\n", 1)]),
        ("---\na: 1\n---\nb: 2\n", [("a: 1\n", 2), ("b: 2\n", 4)]),
        ("# head\n---\na: 1\n", [("a: 1\n", 3)]),
        ("a: 1\n--- # note\nb: 2", [("a: 1\n", 1), ("b: 2\n", 3)]),
        ("a: 1\n---   \n# none\n---\nb: 2", [("a: 1\n", 1), ("b: 2\n", 5)]),
        ("a: 1\r\n---\r\nb: 2\r\n", [("a: 1\n", 1), ("b: 2\n", 3)]),
        ("a: |\n  x\n  ---\n  y\n", [("a: |\n  x\n  ---\n  y\n", 1)]),
        ("\ufeff---\na: 1\n", [("a: 1\n", 2)]),
        ("---", []),
    ],
)
def test_streams_are_cut_at_separators(text, chunks):
    assert cut(text) == [DocumentText(*chunk) for chunk in chunks]


@pytest.mark.parametrize("line", ["---foo", "--- junk", "--- {a: 1}", "----", "--- |"])
def test_a_bad_separator_ends_the_stream(line):
    text = f"a: 1\n{line}\nb: 2\n---\nc: 3\n"
    assert cut(text) == [DocumentText("a: 1\n", 1), DocumentText("", 2, line)]


def test_the_last_line_has_an_end_whatever_is_written():
    assert [one.text for one in split_chunks("a: |\n  b")] == ["a: |\n  b\n"]
