"""Merging reports: whatever their order, and whoever tells a piece twice."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kyvsim.fleet import FleetError
from kyvsim.fleet.reports import Gap, merged, moved, refusals_of, remarks_of, settled
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.partial import Count, Head
from kyvsim.model.result import RefusalCount
from kyvsim.model.source import Location


def head(file="a", first=0, last=10, **more):
    plain = {"stamp": "s", "assignment": "p", "cluster": file, "lines": 3}
    return Head(**{"file": file, "first": first, "last": last, **plain, **more})


def by_key(*heads):
    return {one.key: one for one in heads}


def remark(text, line=1, file="a"):
    return Diagnostic("KV006", Severity.ERROR, text, Location(file, line, 1))


def test_refused_objects_have_their_places_in_the_file():
    place = Location("a", 2, 1)
    refusal = RefusalCount("Pod", "metadata.labels", "is no string", "", place, 3)
    heads = by_key(head(), head(first=10, last=20, refusals=(refusal,)))
    (found,) = refusals_of(settled(heads, {"a": 20}).pieces)
    assert found == refusal._replace(location=place._replace(line=5))


SOME = st.lists(
    st.builds(
        head,
        file=st.sampled_from("ab"),
        first=st.sampled_from([0, 10]),
        last=st.sampled_from([10, 20]),
        failed=st.booleans(),
        remarks=st.sampled_from([(), (remark("x"),), (remark("y"),)]),
    ),
    max_size=6,
).map(lambda heads: by_key(*heads))


@given(SOME, SOME, SOME)
def test_merging_is_associative_and_commutative_and_counts_once(one, two, three):
    told = merged(one, merged(two, three))
    assert told == merged(merged(one, two), three)
    assert told == merged(merged(three, one), two)
    assert merged(told, told) == told


def test_pieces_stand_in_the_order_of_files_and_bytes():
    heads = [head("b"), head("a", 10, 20), head("a")]
    for some in itertools.permutations(heads):
        found = settled(by_key(*some), {"a": 20, "b": 10})
        assert [one.head.key for one in found.pieces] == [("a", 0, 10), ("a", 10, 20), ("b", 0, 10)]
        assert [one.lines_before for one in found.pieces] == [0, 3, 0]
        assert found.gaps == ()


def test_a_piece_within_another_does_not_count():
    whole = head("a", 0, 20, counts=(Count("n", "p", "r", "pass", 1),))
    found = settled(by_key(head("a"), head("a", 10, 20), whole), {"a": 20})
    assert [one.head for one in found.pieces] == [whole]


def test_what_is_missing_is_told_and_lines_behind_it_are_not():
    found = settled(by_key(head("a", 10, 20), head("b", 0, 5)), {"a": 20, "b": 10, "c": 5})
    assert found.gaps == (Gap("a", 0, 10), Gap("b", 5, 10), Gap("c", 0, 5))
    assert found.pieces[0].lines_before == -1
    assert moved(found.pieces[0], 3, 4) == (0, 0)
    empty = settled(by_key(head("a", 0, 0)), {"a": 0, "b": 0})
    assert [one.head.key for one in empty.pieces] == [("a", 0, 0)]
    assert empty.gaps == (Gap("b", 0, 0),)


def test_a_failed_piece_hides_the_lines_behind_it():
    failed = head("a", 0, 10, failed=True, lines=0)
    found = settled(by_key(failed, head("a", 10, 20)), {"a": 20})
    assert [one.lines_before for one in found.pieces] == [0, -1]
    assert found.gaps == ()


def test_nothing_counts_behind_the_end_of_a_file():
    heads = by_key(head("a", ended=True), head("a", 10, 20), head("b"))
    assert [one.head.key for one in settled(heads, {"a": 20, "b": 10}).pieces] == [
        ("a", 0, 10),
        ("b", 0, 10),
    ]


def test_of_a_file_that_is_no_text_only_that_is_told():
    heads = by_key(head("a"), head("a", 10, 20, refused=True, remarks=(remark("no text", 2),)))
    found = settled(heads, {"a": 20})
    assert [one.head.first for one in found.pieces] == [10]
    assert remarks_of(found.pieces) == (remark("no text", 5),)


def test_remarks_stand_where_one_process_has_them():
    heads = by_key(
        head("a", remarks=(remark("x"),), problems=(remark("p"),)),
        head("a", 10, 20, remarks=(remark("y", 2),)),
        head("b", objects=({"apiVersion": "v1", "kind": "Pod"},)),
        head("c", 0, 0, lines=0),
    )
    found = remarks_of(settled(heads, {"a": 20, "b": 10, "c": 0}).pieces)
    assert [(one.message[:8], one.location.line) for one in found] == [
        ("x", 1),
        ("y", 5),
        ("this fil", 0),
        ("p", 1),
    ]


def test_what_does_not_belong_together_is_not_merged():
    with pytest.raises(FleetError, match="have different policies"):
        merged(by_key(head("a")), by_key(head("b", assignment="q")))
    with pytest.raises(FleetError, match="two versions of this file"):
        merged(by_key(head("a")), by_key(head("a", 10, 20, stamp="t")))
    with pytest.raises(FleetError, match="its pieces overlap"):
        settled(by_key(head("a", 0, 10), head("a", 5, 20)), {"a": 20})
