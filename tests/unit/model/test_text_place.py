"""Where characters of a text stand in the file that it was read from."""

import pytest

from kyvsim.load.documents import STRICT, read_documents
from kyvsim.load.files import Source
from kyvsim.model.source import place_in_text

STYLES = {
    "plain": "at:\n  text: a &&  b\n",
    "plain on several lines": "at:\n  text: a\n    &&\n    b\n",
    "plain on the next line": "at:\n  text:\n    a && b\n",
    "in a flow": "at: {other: 1, text: a && b}\n",
    "single quotes": "at:\n  text: 'a && ''x'' && b'\n",
    "double quotes": 'at:\n  "text": "a && \\"x\\" &&\\n\\t b"\n',
    "double quotes on several lines": 'at:\n  text: "a &&\n    b"\n',
    "a literal block": "at:\n  text: |-\n\n    a &&\n      b\n",
    "a literal block with an indentation": "at:\n  text: |2+\n      a &&\n    b\n\n",
    "a folded block": "at:\n  text: >-  # why\n    a\n\n    &&\n    b\n",
    "a tag and an anchor": "at:\n  text: !!str &x a && b\n",
    "behind other documents": "a: b\n---\nat:\n  text: >\n    a && b\n",
}


def document(text):
    (*_, found), told = read_documents((Source("file.yaml", text),), None, STRICT)
    assert not told
    return found


@pytest.mark.parametrize("text", STYLES.values(), ids=STYLES)
def test_a_character_is_found_whatever_the_style(text):
    found = document(text)
    value = found.data["at"]["text"]
    place = place_in_text(found, ("at", "text"), value, value.rindex("b"))
    lines = text.splitlines()
    line = max(number for number, one in enumerate(lines, 1) if "b" in one.partition("#")[0])
    assert (place.file, place.line) == ("file.yaml", line)
    assert place.column == lines[line - 1].rindex("b") + 1


def test_an_item_of_a_list_is_found():
    found = document("at:\n- a\n- >-\n  b &&\n  c\n")
    place = place_in_text(found, ("at", 1), found.data["at"][1], 5)
    assert (place.line, place.column) == (5, 3)


UNLIKE = {
    "an alias": "one: &x a && b\nat:\n  text: *x\n",
    "another text": "at:\n  text: c || b\n",
    "an escape by number": 'at:\n  text: "\\u0061 && b"\n',
}


@pytest.mark.parametrize("text", UNLIKE.values(), ids=UNLIKE)
def test_what_is_not_written_there_has_the_place_of_the_whole(text):
    found = document(text)
    place = place_in_text(found, ("at", "text"), "a && b", 5)
    assert place == found.locate(("at", "text"))
