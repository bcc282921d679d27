"""Where a node stands by lines is where it stands by libyaml's events."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from kyvsim.yaml.lines import read_fast
from kyvsim.yaml.text import plain_position, position_by_events, split_chunks

ROOT = Path(__file__).parents[3]

TEXT = """\
# a comment
kind: Pod

metadata:
  name: 'a'
  "labels": {x: 1, y: [2]}
  annotations:
    note: |
      one: 1

        - two
    folded: >-
      a: b
      c
    plain: a text
      of two lines
    quoted : 'a: b
      # ''c'' '
  none:
spec:
  containers:
  - name: a  # the first
    ports:
    - containerPort: 80
    args: [a, "b"]
  -   name: b
      script: |-
        x: 1
  - c
  - |
    d: 1
  - [u, v]
last: true
"""
PIECES = (
    "\n",
    "\n\n",
    "  ",
    "- ",
    "-   ",
    "k: v\n",
    "# c\n",
    "|",
    "a: |\n",
    ": ",
    "x",
    "[a]",
    "\n- b",
    "\n       y",
    "'",
)


def paths_of(data, path=()):
    yield path
    yield (*path, "nowhere")
    yield (*path, 7, "nowhere")
    parts = enumerate(data) if isinstance(data, list) else getattr(data, "items", tuple)()
    for key, value in parts:
        yield from paths_of(value, (*path, key))


def count_of_places(text):
    """Return how many places of a text lines tell, none of them wrong."""
    data = read_fast(text)
    if data is None:
        return 0
    found = {path: plain_position(text, path) for path in paths_of(data)}
    told = {path: place for path, place in found.items() if place is not None}
    wrong = {p: (place, position_by_events(text, p)) for p, place in told.items()}
    assert not {path: both for path, both in wrong.items() if both[0] != both[1]}
    return len(told)


def test_places_of_a_text():
    assert count_of_places(TEXT) > 60
    assert plain_position(TEXT, ("spec", "containers", 1, "script")) == (27, 7)
    assert plain_position(TEXT, ("spec", "containers", 3)) == (30, 5)
    assert plain_position(TEXT, ("spec", "containers", 9, "x")) == (21, 3)
    assert plain_position(TEXT, ("metadata", "labels", "x")) is None


def test_what_is_not_plain_is_left_to_events():
    assert plain_position("a: &b 1\n", ("a",)) is None
    assert plain_position(f"a: 1\n{'b: 2 # ' + 'x' * 20_000}\n", ("a",)) is None


def test_places_of_all_yaml_here():
    texts = {
        chunk.text
        for folder in ("fixtures", "policies")
        for file in sorted((ROOT / folder).rglob("*.yaml"))
        for chunk in split_chunks(file.read_text(encoding="utf-8"))
    }
    told = [count_of_places(text) for text in sorted(texts) if len(text) < 6_000]
    assert sum(map(bool, told)) > len(told) * 0.9


@given(st.lists(st.tuples(st.integers(0, len(TEXT)), st.sampled_from(PIECES)), max_size=4))
def test_places_of_changed_texts(changes):
    text = TEXT
    for place, piece in changes:
        text = text[:place] + piece + text[place:]
    count_of_places(text)
