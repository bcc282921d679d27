import json
import re

import pytest

from kyvsim.model.coverage import Coverage, FileCoverage, Point, PointOutcome, Ratio
from kyvsim.model.source import Location
from kyvsim.model.tracing import PointKind
from kyvsim.report.formats import COVERAGE_FORMATS
from kyvsim.report.object_text import document_origin

NOTHING = Coverage(())
VERDICTS = ("passed", "failed")
TRUTH = ("true", "false")
FORMS = ("as written", "autogen", "autogen-cronjob")
SIZES = ("no element", "one element", "several elements")


def point(kind, names, times, line=7, inside=(), rule="r"):
    outcomes = tuple(map(PointOutcome, names, times))
    place = Location("a b.yaml", line, 3)
    path = ("spec", "rules", 0, *inside)
    return Point(kind, "p", rule, 0, path, inside, place, outcomes)


def covered(*points):
    return Coverage((FileCoverage("a b.yaml", points),))


def rendered(name, coverage):
    return "".join(COVERAGE_FORMATS[name].write(coverage))


@pytest.mark.parametrize(
    ("one", "said"),
    [
        (point(PointKind.RULE, VERDICTS, (0, 0)), "rule `r` never passed or failed"),
        (point(PointKind.RULE, VERDICTS, (3, 0)), "rule `r` never failed"),
        (point(PointKind.RULE, ("applied",), (0,)), "rule `r` never applied"),
        (
            point(PointKind.VARIANT, FORMS, (0, 1, 0)),
            "rule `r` never applied as written or as `autogen-cronjob-r`",
        ),
        (
            point(PointKind.MATCH, ("matched",), (0,), 9, ("match", "any", 1)),
            "rule `r`: `match.any[1]` never matched",
        ),
        (
            point(PointKind.EXCLUDE, ("excluded",), (0,), 9, ("exclude", "all", 0)),
            "rule `r`: `exclude.all[0]` never excluded anything",
        ),
        (
            point(PointKind.CONDITION, TRUTH, (0, 0), 9, ("preconditions", 0)),
            "rule `r`: `preconditions[0]` was never evaluated",
        ),
        (
            point(PointKind.CONDITION, TRUTH, (0, 2), 9, ("preconditions", 0)),
            "rule `r`: `preconditions[0]` was never true",
        ),
        (
            point(PointKind.ALTERNATIVE, ("chosen",), (0,), 9, ("validate", "anyPattern", 1)),
            "rule `r`: `validate.anyPattern[1]` was never chosen",
        ),
        (
            point(PointKind.FOREACH, SIZES, (0, 0, 0), 9, ("mutate", "foreach", 0)),
            "rule `r`: `mutate.foreach[0]` never ran",
        ),
        (
            point(PointKind.FOREACH, SIZES, (0, 1, 0), 9, ("mutate", "foreach", 0)),
            "rule `r`: `mutate.foreach[0]` was never tried with no element or several elements",
        ),
        (
            point(PointKind.EXCEPTION, ("applied",), (0,), rule="a*, b"),
            "exception for `a*, b` of policy `p` was never applied",
        ),
    ],
)
def test_text_says_what_was_not_reached_and_where(one, said):
    text = rendered("text", covered(one))
    assert f"\n  a b.yaml:{one.location.line}: {said}\n" in text


def test_text_is_silent_about_what_was_reached():
    text = rendered("text", covered(point(PointKind.CONDITION, TRUTH, (1, 1))))
    assert text == "100.0% (2 of 2)  a b.yaml\ncoverage: 100.0% (2 of 2)\n"


def test_text_of_a_user_moves_no_cursor():
    odd = point(PointKind.RULE, VERDICTS, (0, 0), rule="\x1b[2Jr\n")
    assert "rule `\\x1b[2Jr\\n` never" in rendered("text", covered(odd))


@pytest.mark.parametrize(
    ("ratio", "percent"),
    [(Ratio(2, 3), 66.6), (Ratio(9999, 10000), 99.9), (Ratio(3, 3), 100.0), (Ratio(0, 0), 0.0)],
)
def test_percentages_are_rounded_down(ratio, percent):
    assert ratio.percent == percent


def test_json_has_every_point_with_its_outcomes():
    one = point(PointKind.CONDITION, TRUTH, (2, 0), 9, ("preconditions", "any", 0))
    found = json.loads(rendered("json", covered(one)))
    counts = {"reached": 1, "total": 2, "percent": 50}
    assert found["summary"] == counts
    (file,) = found["files"]
    assert file == {"file": "a b.yaml", **counts, "points": file["points"]}
    assert file["points"] == [
        {
            "kind": "condition",
            "policy": "p",
            "rule": "r",
            "path": "spec.rules[0].preconditions.any[0]",
            "line": 9,
            "column": 3,
            "outcomes": {"true": 2, "false": 0},
        }
    ]


def test_lcov_has_functions_branches_and_lines():
    points = (
        point(PointKind.RULE, VERDICTS, (2, 0)),
        point(PointKind.MATCH, ("matched",), (2,), 9),
        point(PointKind.CONDITION, TRUTH, (0, 0), 9),
        point(PointKind.CONDITION, TRUTH, (0, 0), 11),
    )
    assert rendered("lcov", covered(*points)).splitlines() == [
        "TN:",
        "SF:a b.yaml",
        "FN:7,p/r",
        "FNDA:2,p/r",
        "FNF:1",
        "FNH:1",
        "BRDA:7,0,0,2",
        "BRDA:7,0,1,0",
        "BRDA:9,1,0,2",
        "BRDA:9,2,0,-",
        "BRDA:9,2,1,-",
        "BRDA:11,3,0,-",
        "BRDA:11,3,1,-",
        "BRF:7",
        "BRH:2",
        "DA:7,2",
        "DA:9,2",
        "DA:11,0",
        "LF:3",
        "LH:2",
        "end_of_record",
    ]


def test_lcov_names_no_function_twice():
    rules = [point(PointKind.RULE, VERDICTS, (1, 0), line) for line in (7, 20, 33)]
    names = re.findall("^FN:.*,(.*)$", rendered("lcov", covered(*rules)), re.MULTILINE)
    assert names == ["p/r", "p/r:20", "p/r:33"]


def test_nothing_to_reach_is_a_whole_report():
    nothing = {
        "files": [],
        "summary": {"reached": 0, "total": 0, "percent": 0},
        "kyvsim": document_origin("test --coverage"),
    }
    assert rendered("text", NOTHING) == "coverage: nothing to cover\n"
    assert json.loads(rendered("json", NOTHING)) == nothing
    assert rendered("lcov", NOTHING) == ""


def test_the_page_shows_unreached_points_first_and_escapes_names():
    reached = point(PointKind.RULE, VERDICTS, (1, 2))
    missing = point(PointKind.CONDITION, TRUTH, (0, 2), 9, ("preconditions", 0), rule="<b>")
    text = rendered("html", covered(reached, missing))
    assert '<p class="ending warn">coverage: 75.0% (3 of 4)</p>' in text
    assert re.findall(r'<li class="item (\w+)"', text) == ["bad", "good"]
    assert text.index('"item bad"') < text.index("<summary>1 reached") < text.index('"item good"')
    assert "passed 1 time, failed 2 times" in text
    assert "<b><b>" not in text
    assert '<p class="ending good">' in rendered("html", covered(reached))
    assert "There is nothing to cover." in rendered("html", NOTHING)
