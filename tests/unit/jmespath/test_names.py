import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kyvsim.jmespath.query import names_in


def loads(name, text):
    """Upstream's own rule: a regular expression made of the entry's name."""
    return re.search(rf"(?:\A|\Z|\s|[^.0-9A-Za-z]){name}\b", text, re.ASCII) is not None


@pytest.mark.parametrize(
    ("text", "name", "found"),
    [
        ("request.object.name", "request", True),
        ("request.object.name", "name", False),
        ("x.y", "x", True),
        ("length(images)", "images", True),
        ("[?name == 'cm']", "cm", True),
        ("my-map.data", "my-map", True),
        ('"my-map".data', "my-map", True),
        ('"two words".x', "two words", True),
        ("'a' || \"two words\"", "two words", True),
        ("allowed_list", "list", True),
        ("allowedlist", "list", False),
        ("list2", "list", False),
    ],
)
def test_name(text, name, found):
    assert (name in names_in(text)) is found
    assert loads(name, text) is found


@given(st.text("ab.-_ ('", max_size=9), st.from_regex(r"[ab][ab_-]{0,3}", fullmatch=True))
def test_names_are_those_upstream_would_load(text, name):
    assert (name in names_in(text)) is loads(name, text)
