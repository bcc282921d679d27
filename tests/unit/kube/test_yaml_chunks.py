import pytest

from kyvsim.kube.yaml_chunks import Chunk, cut_stream, split_chunks


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
    assert cut(text) == [Chunk(*chunk) for chunk in chunks]


@pytest.mark.parametrize("line", ["---foo", "--- junk", "--- {a: 1}", "----", "--- |"])
def test_a_bad_separator_ends_the_stream(line):
    text = f"a: 1\n{line}\nb: 2\n---\nc: 3\n"
    assert cut(text) == [Chunk("a: 1\n", 1), Chunk("", 2, line)]


def test_the_last_line_has_an_end_whatever_is_written():
    assert [one.text for one in split_chunks("a: |\n  b")] == ["a: |\n  b\n"]


@pytest.mark.parametrize("size", [1, 5, 20, 1000])
@pytest.mark.parametrize(
    "text",
    [
        "a: 1\n---\nb: 2\n---\nc: 3\n",
        "---\r\na: 1\r\n---\r\nb: 2",
        "\ufeffa: 1\n--- # next\n---\n# none\n---\nb: |\n  x\n---",
        "a: 1\n---\nb: 2\n--- c\nd: 4\n---\ne: 5\n",
        "--- a\nb: 1\n",
        "",
    ],
)
def test_parts_of_a_stream_have_its_documents_and_lines(text, size):
    whole = [(one.text, one.line, one.bad_separator) for one in split_chunks(text)]
    parts = list(cut_stream(text, size))
    found = [one for part in parts for one in split_chunks(part.text, part.line)]
    assert [(one.text, one.line, one.bad_separator) for one in found] == whole
    assert size < 1000 or len(parts) == 1
