"""Equal results are shown once and counted."""

import random

import pytest

from kyvsim.report.style import RenderOptions, layout_of
from kyvsim.report.text import (
    ChunkGroups,
    GroupedResult,
    ObjectBlock,
    RenderedResult,
    ResultGroups,
    ResultKey,
    SeenResults,
    from_lines,
    to_line,
)


def fold():
    return ResultGroups(layout_of(RenderOptions()))


def block(name, *kinds, seen=None):
    """Return an object with a result of each kind, as a part tells it that has seen some."""
    items = []
    for kind in kinds:
        whole = seen is None or seen.is_new(kind)
        text = f"        {kind.wording}\n" if whole else ""
        items.append(GroupedResult(kind, RenderedResult("FAIL", kind.rule, text=text), whole))
    return ObjectBlock(name, f"{name}.yaml:1:1", items)


def told(blocks):
    made = fold()
    return "".join(map(made.add, blocks)), "".join(made.lines())


RED, BLUE = ResultKey("r", "red"), ResultKey("r", "blue")


def test_the_first_of_a_wording_is_told_and_others_are_counted():
    text, end = told([block("a", RED), block("b", RED), block("c", BLUE), block("d", RED)])
    assert text.count("FAIL  r\n") == 2
    assert "b.yaml" not in text
    assert "same finding on 2 more objects:\n" in end
    assert [name for name in "abcd" if f"{name}.yaml" in end] == ["b", "d"]


def test_an_object_that_is_shown_names_all_its_results():
    text, end = told([block("a", RED), block("b", RED, BLUE)])
    head = next(line for line in text.splitlines() if line.endswith("(as above)"))
    assert head.startswith("  FAIL  r ")
    assert end == ""


def test_what_is_of_no_kind_is_always_told():
    text, end = told([block("a", ResultKey("")), block("b", ResultKey(""))])
    assert text.count("FAIL") == 2
    assert end == ""


def test_few_wordings_and_few_examples_are_kept():
    blocks = [block(f"o{number}", ResultKey("r", f"w{number}")) for number in range(300)]
    blocks += [block(f"p{number}", ResultKey("r", "w3")) for number in range(300)]
    text, end = told(blocks)
    assert text.count("FAIL") == 10
    assert "with a different message on 290 more objects:" in end
    assert "same finding on 300 more objects:" in end
    assert end.count(".yaml:1:1") == 10
    assert end.count("… 295 more objects (--show all)") == 1


@pytest.mark.parametrize("seed", range(40))
def test_parts_put_together_tell_what_one_tells(seed):
    """Each part leaves out what it has told itself: the order of wordings is another in each."""
    chance = random.Random(seed)
    names = [
        (f"o{number}", [ResultKey(f"r{chance.randrange(2)}", f"w{chance.randrange(16)}")])
        for number in range(600)
    ]
    whole = told(block(name, *kinds) for name, kinds in names)
    cuts = sorted(chance.sample(range(1, len(names)), 5))
    lines, blocks = [], 0
    tellers = [(SeenResults(), ChunkGroups()) for _ in range(2)]  # each tells several parts
    for start, end in zip([0, *cuts], [*cuts, len(names)], strict=True):
        seen, part = chance.choice(tellers)
        for name, kinds in names[start:end]:
            found = block(name, *kinds, seen=seen)
            if any(item.is_whole for item in found.items) or not part.counts(kinds):
                lines.append(to_line(found))
                blocks += 1
        lines += map(to_line, part.taken())
    text = "".join(lines)
    pieces = [text[at : at + 37] for at in range(0, len(text), 37)]
    made = fold()
    again = "".join(map(made.take, from_lines(pieces))), "".join(made.lines())
    assert again == whole
    assert blocks < len(names)


def test_an_object_is_counted_when_there_are_enough_examples():
    one, other = fold(), fold()
    blocks = [block(f"o{number}", RED, BLUE) for number in range(20)]
    text = "".join(map(one.add, blocks))
    counted = [found for found in blocks if other.counts([RED, BLUE]) or other.add(found) is None]
    assert "".join(one.lines()) == "".join(other.lines())
    assert text.count(".yaml") == 1
    assert [found.title for found in counted] == [f"o{number}" for number in range(6, 20)]


def test_sizes_say_what_was_changed_and_created():
    made = fold()
    made.add(
        ObjectBlock("a", "", [GroupedResult(ResultKey(""), RenderedResult("edit", "p"))], edited=1)
    )
    assert "".join(made.sizes()) == "objects: 1 mutated (--show objects prints it)\n"
    made.add(
        ObjectBlock("b", "", [GroupedResult(ResultKey(""), RenderedResult("new", "p"))], created=2)
    )
    assert "".join(made.sizes()) == "objects: 1 mutated, 2 generated (--show objects prints them)\n"
