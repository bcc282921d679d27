"""Equal results are shown once and counted."""

import random

import pytest

from kyvsim.report.result_groups import (
    ChunkGroups,
    GroupedResult,
    ObjectBlock,
    RenderedResult,
    ResultGroups,
    ResultKey,
    SeenResults,
    from_lines,
    key_of_result,
    to_line,
)
from kyvsim.report.style import RenderOptions, layout_of
from kyvsim.report.text_blocks import ReferenceIndex


def fold():
    return ResultGroups(layout_of(RenderOptions()), ReferenceIndex())


def block(name, *kinds, seen=None):
    """Return an object with a result of each kind, as a part tells it that has seen some."""
    items = []
    for kind in kinds:
        whole = seen is None or seen.takes(kind)
        text = f"        {kind.wording}\n" if whole else ""
        items.append(GroupedResult(kind, RenderedResult("FAIL", kind.rule, text=text), whole))
    return ObjectBlock(name, f"{name}.yaml:1:1", items)


def told(blocks):
    made = fold()
    for one in blocks:
        made.add(one)
    return "".join(made.lines())


RED, BLUE = ResultKey("r", "red"), ResultKey("r", "blue")


def test_three_equal_results_are_shown_in_full():
    text = told([block("a", RED), block("b", RED), block("c", BLUE), block("d", RED)])
    assert text.count("FAIL  r\n") == 4
    assert "same finding" not in text
    heads = [line.split()[0] for line in text.splitlines() if line.endswith(".yaml:1:1")]
    assert heads == ["a", "b", "c", "d"]


def test_of_four_equal_results_the_first_lists_the_positions_of_the_others():
    text = told([block(name, RED) for name in "abcd"] + [block("e", BLUE)])
    assert text.count("FAIL  r\n") == 2
    lines = [line for line in text.splitlines() if line.strip()]
    at = lines.index("        same finding on 3 more objects:")
    assert [line.split()[0] for line in lines[at + 1 : at + 4]] == ["b", "c", "d"]
    assert lines[at + 4].split() == ["e", "e.yaml:1:1"]


@pytest.mark.parametrize(("number", "listed", "left"), [(11, 10, 0), (12, 11, 0), (13, 10, 2)])
def test_no_single_position_is_left_out(number, listed, left):
    lines = told([block(f"o{one}", RED) for one in range(number)]).splitlines()
    at = lines.index(f"        same finding on {number - 1} more objects:")
    listed_lines = [line for line in lines[at + 1 :] if ".yaml:1:1" in line]
    assert len(listed_lines) == listed
    assert any("more objects (--show all)" in line for line in lines) == bool(left)


def test_what_is_of_no_kind_is_always_shown():
    text = told([block(name, ResultKey("")) for name in "abcde"])
    assert text.count("FAIL") == 5


def test_few_wordings_and_few_positions_are_kept():
    blocks = [block(f"o{number}", ResultKey("r", f"w{number}")) for number in range(300)]
    blocks += [block(f"p{number}", ResultKey("r", "w3")) for number in range(300)]
    text = told(blocks)
    assert text.count("FAIL") == 11
    assert "with a different message on 290 more objects:" in text
    assert "same finding on 300 more objects:" in text
    assert text.count("… 290 more objects (--show all)") == 1
    assert text.count("… 280 more objects (--show all)") == 1
    assert "more findings" not in text


def test_fifty_findings_are_shown_and_the_others_counted():
    text = told(block(f"o{number}", ResultKey(f"r{number}", "w")) for number in range(1060))
    assert text.count("FAIL") == 50
    more = "… 1,010 more findings (--show all, --output-format html=report.html)"
    assert text.splitlines()[-2] == more


def test_long_findings_end_after_two_hundred_lines():
    long = [
        ObjectBlock(
            f"o{number}",
            "",
            [GroupedResult(ResultKey(f"r{number}"), RenderedResult("FAIL", "r", text="x\n" * 90))],
        )
        for number in range(5)
    ]
    text = told([*long, block("short", RED)])
    assert text.count("FAIL") == 2
    assert "… 4 more findings (" in text
    (huge,) = [one._replace(items=[one.items[0]]) for one in long[:1]]
    huge = huge._replace(items=[GroupedResult(RED, RenderedResult("FAIL", "r", text="x\n" * 900))])
    assert told([huge]).count("x") == 900


def test_changes_have_room_of_their_own():
    change = GroupedResult(ResultKey("edit p", "+ a"), RenderedResult("edit", "p", text="+ a\n"))
    blocks = [block(f"o{number}", ResultKey(f"r{number}", "w")) for number in range(60)]
    text = told([*blocks, ObjectBlock("changed", "", [change], edited=1)])
    assert "  edit  p\n+ a\n" in text
    assert "… 10 more findings (" in text


def test_errors_with_one_cause_are_a_group_whatever_their_rule():
    offline = 'rule {}: kyvsim is offline: add `images:` {{"{}": {{}}}}'
    keys = {
        key_of_result(
            ("error", "ClusterPolicy", f"p / {rule}"), (offline.format(rule, rule), ""), ()
        )
        for rule in "abc"
    }
    assert len(keys) == 1
    blocks = [
        ObjectBlock(
            name, "", [GroupedResult(next(iter(keys)), RenderedResult("ERROR", f"p / {name}"))]
        )
        for name in "abcd"
    ]
    text = told(blocks)
    assert "        same cause in 3 more results:\n          b (p / b)\n" in text


@pytest.mark.parametrize("status", ["fail", "error"])
def test_only_errors_have_a_cause(status):
    keys = {
        key_of_result((status, "ClusterPolicy", f"p / {rule}"), ("m", "add the ConfigMap"), ())
        for rule in "ab"
    }
    assert len(keys) == (1 if status == "error" else 2)


def test_an_autogen_rule_has_the_findings_of_its_source_rule():
    names = ("r", "autogen-r", "autogen-cronjob-r")
    texts = "m", ""
    assert len({key_of_result(("fail", "Policy", f"p / {one}"), texts, ()) for one in names}) == 1


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
    for part in from_lines(pieces):
        (made.add if isinstance(part, ObjectBlock) else made.take)(part)
    assert "".join(made.lines()) == whole
    assert blocks < len(names)


def test_an_object_is_counted_when_there_are_enough_positions():
    one, other = fold(), fold()
    blocks = [block(f"o{number}", RED, BLUE) for number in range(20)]
    for found in blocks:
        one.add(found)
    counted = [found for found in blocks if other.counts([RED, BLUE]) or other.add(found)]
    assert "".join(one.lines()) == "".join(other.lines())
    assert [found.title for found in counted] == [f"o{number}" for number in range(12, 20)]


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
