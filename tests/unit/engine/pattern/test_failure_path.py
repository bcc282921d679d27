import pytest

from kyvsim.engine.pattern.checks import (
    ROOT,
    Mismatch,
    Weight,
    below,
    collect,
    in_element,
    inside,
    path_text,
    skipping,
    weigh,
)

IMAGE = below(inside(below(below(ROOT, "spec"), "containers")), "image")


def mismatch():
    return Mismatch(Weight.PLAIN, IMAGE, lambda indices: f"bad at {path_text(IMAGE, indices)}")


def test_a_place_takes_the_index_that_its_list_adds():
    found = in_element(mismatch(), 2)
    assert path_text(found.place, found.indices) == "/spec/containers/2/image/"


def test_collected_texts_keep_their_own_indices():
    both = collect([in_element(mismatch(), 0), in_element(mismatch(), 1)], ROOT)
    assert (
        both.text(both.indices)
        == "bad at /spec/containers/0/image/; bad at /spec/containers/1/image/"
    )
    assert both.collected


def test_a_skipping_anchor_takes_the_text_over():
    found = skipping(in_element(mismatch(), 0), "why")
    assert (found.weight, found.text(found.indices)) == (
        Weight.SKIP,
        "why: bad at /spec/containers/0/image/",
    )


@pytest.mark.parametrize(
    ("text", "weight"),
    [
        ("x", Weight.PLAIN),
        ("an anchor may", Weight.PLAIN),
        ("x conditional anchor mismatch", Weight.SKIP),
        ("negation anchor matched in resource", Weight.NEGATION),
        ("negation anchor matched in resource, global anchor mismatch", Weight.SKIP),
    ],
)
def test_weigh(text, weight):
    assert weigh(text) is weight
