from pathlib import Path

import pytest

from kyvsim.api import Source
from kyvsim.testing.effects import sources


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("a.yaml", ("a.yaml",)),
        (Path("a/b.yaml"), (str(Path("a/b.yaml")),)),
        ("a: 1\n", (Source("<policy 1>", "a: 1\n"),)),
        ({"a": "ü: 1"}, (Source("<policy 1>", '{"a": "ü: 1"}'),)),
        (["a.yaml", {"a": 1}], ("a.yaml", Source("<policy 2>", '{"a": 1}'))),
        ([["a"], ("b", ["c"])], ("a", "b", "c")),
        ((one for one in "ab"), ("a", "b")),
        ([], ()),
    ],
)
def test_every_form_becomes_what_the_loader_takes(given, found):
    assert sources(given, "policy") == found
