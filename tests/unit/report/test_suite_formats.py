import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
import xmlschema
import yaml

from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.source import Location
from kyvsim.model.suite import (
    GoldenDifference,
    ManifestOutcome,
    Mutants,
    RowOutcome,
    SuiteOutcome,
    SurvivingMutant,
)
from kyvsim.report.formats import ANNOTATIONS, log_safe
from kyvsim.report.formats import SUITE_FORMATS as FORMATS
from kyvsim.report.suite_text import SuiteOptions

JUNIT = xmlschema.XMLSchema(Path(__file__).parent / "schemas/junit.xsd")
PLACE = Location("a/kyverno-test.yaml", 7, 5)
ODD = 'a\x00b\x1b[31m <&"> | ]]> \u202e \U0001f600'
ROWS = (
    RowOutcome("p", "r", "v1/Pod/default/a", "Pass", "Ok", "fine"),
    RowOutcome("p", "r", "v1/Pod/default/b", "Pass", "Ok", "left out", skip="excluded"),
    RowOutcome("p", "r", "v1/Pod/default/c", "Fail", "Want pass, got fail", ODD, "", PLACE),
    RowOutcome(
        "p",
        "",
        "v1/Pod/default/d",
        "Fail",
        "Resource diff",
        "Patched resource didn't match",
        location=PLACE,
        difference=GoldenDifference(
            "a/d.yaml", {"spec": {"size": 1}}, {"spec": {"size": 2.0, "many": [1]}}
        ),
    ),
    RowOutcome("q", "r", "v1/Pod/default/e", "Skip", "Invalid Policy", "no rules"),
)
WRONG = Diagnostic("KV001", Severity.ERROR, "no such file", Location("x"))
OUTCOME = SuiteOutcome(
    (ManifestOutcome("a/kyverno-test.yaml", ROWS, (WRONG,)), ManifestOutcome("b", (), (WRONG,))),
    (Diagnostic("KV041", Severity.ERROR, "no folder", Location("y")),),
)


def text_of(name, outcome=OUTCOME, **sight):
    return "".join(FORMATS[name].write(outcome, SuiteOptions(**sight)))


def test_json_and_yaml_hold_the_same():
    found = json.loads(text_of("json"))
    again = yaml.load(text_of("yaml"), yaml.CSafeLoader)
    assert again == json.loads(json.dumps(found))
    assert found["summary"] == {"total": 5, "passed": 2, "failed": 2, "skipped": 1, "manifests": 1}
    assert [one["code"] for one in found["diagnostics"]] == ["KV041", "KV001"]
    assert found["results"][1]["skip"] == "excluded"
    assert found["results"][3]["location"] == {
        "file": "a/kyverno-test.yaml",
        "line": 7,
        "column": 5,
    }
    assert found["results"][3]["difference"]["actual"] == {"spec": {"size": 2, "many": [1]}}


def test_junit_is_well_formed_whatever_the_text():
    root = ET.fromstring(text_of("junit").encode("utf-8", "strict"))
    suites = root.findall("testsuite")
    assert [suite.get("name") for suite in suites] == ["paths", "a/kyverno-test.yaml", "b"]
    counts = {"tests": "8", "failures": "2", "errors": "3"}  # Jenkins knows no others here
    assert root.attrib == {"name": "kyvsim test (Kyverno 1.19.1)", **counts}
    for suite in suites:
        cases = suite.findall("testcase")
        assert len(cases) == int(suite.get("tests"))
        assert len(suite.findall("testcase/failure")) == int(suite.get("failures"))
        assert len(suite.findall("testcase/error")) == int(suite.get("errors"))
        assert len(suite.findall("testcase/skipped")) == int(suite.get("skipped"))
    failure = suites[1].findall("testcase/failure")[0]
    assert failure.get("message") == "Want pass, got fail"
    assert failure.text == (
        'a/kyverno-test.yaml:7:5\na\\x00b\\x1b[31m <&"> | ]]> \\u202e \U0001f600'
    )
    assert "- " in suites[1].findall("testcase/failure")[1].text


def test_junit_shows_or_replaces_what_is_no_character_of_xml():
    row = ROWS[2]._replace(message="\ud800 \ufffe \x0b \t")
    found = SuiteOutcome((ManifestOutcome("m", (row,), ()),), ())
    failure = ET.fromstring(text_of("junit", found)).find(".//failure")
    assert failure.text.endswith("\ufffd \ufffd \\x0b \t")


@pytest.mark.parametrize("name", ["text", "table", "markdown"])
def test_formats_for_people_show_no_control_characters(name):
    text = text_of(name, detailed=True)
    assert not set(text) & {"\x00", "\x1b", "\u202e"}
    assert "\\x00" in text.replace("\\\\", "\\")
    assert text.endswith("5 rows in 1 manifest: 2 passed, 2 failed, 1 skipped\n")


@pytest.mark.parametrize("name", ["text", "table", "markdown"])
def test_only_failures_show_when_asked_for(name):
    text = text_of(name, fail_only=True, detailed=True)
    assert "Pod/default/c" in text
    assert "Pod/default/a" not in text
    assert "Pod/default/a" in text_of(name, detailed=True)


def test_text_shows_the_place_and_the_difference():
    text = text_of("text")
    head = next(line for line in text.splitlines() if "v1/Pod/default/d" in line)
    assert head.startswith("  FAIL  p: v1/Pod/default/d ")
    assert head.endswith(" a/kyverno-test.yaml:7:5")
    assert "        -   size: 1\n" in text
    assert "        +   size: 2\n" in text
    assert "skipped as expected: 1 excluded" in text


def test_a_table_row_is_a_line_and_columns_are_aligned():
    lines = text_of("table", detailed=True).splitlines()
    assert len(lines) == len(ROWS) + 4
    starts = {line.index("v1/Pod") for line in lines[2:7]}
    assert len(starts) == 1


def test_markdown_escapes_what_would_end_a_cell():
    row = next(
        line for line in text_of("markdown", detailed=True).splitlines() if "default/c" in line
    )
    assert row.count(" | ") - row.count("\\| ") <= 7
    assert "\\|" in row


def test_colours_only_when_asked_for():
    assert "\x1b[" in text_of("text", colours=True)
    assert "\x1b[" not in text_of("text")


@pytest.mark.parametrize("name", FORMATS)
def test_no_manifest_at_all_is_shown_too(name):
    text = text_of(name, SuiteOutcome((), ()))
    assert text.endswith("\n")
    if name in {"json", "yaml"}:
        assert yaml.load(text, yaml.CSafeLoader)["results"] == []


def points(text):
    """Return the numbers of test points, failed ones negative, and the blocks below them."""
    found, blocks = [], []
    for line in text.splitlines():
        point = re.match(r"(not )?ok (\d+) - ", line)
        if point:
            found.append(int(point[2]) * (-1 if point[1] else 1))
            blocks.append([])
        elif line.startswith("  "):
            blocks[-1].append(line[2:])
    return found, blocks


def test_tap_has_a_point_for_each_row_and_each_unusable_input():
    text = text_of("tap", fail_only=True)
    assert text.startswith("TAP version 13\n1..7\n")
    numbers, blocks = points(text)
    assert numbers == [-1, -2, 3, 4, -5, -6, 7]
    assert "ok 7 - a/kyverno-test.yaml: q / r / v1/Pod/default/e # SKIP no rules\n" in text
    details = [yaml.load("\n".join(block), yaml.CSafeLoader) for block in blocks]
    assert details[0] == {"message": "KV041: no folder", "file": "y"}
    assert details[3] == {"message": "Ok (skip: excluded)"}
    assert details[4] == {
        "message": "Want pass, got fail",
        "file": "a/kyverno-test.yaml",
        "line": 7,
        "column": 5,
        "details": 'a\\x00b\\x1b[31m <&"> | ]]> \\u202e \U0001f600',
    }
    assert "-   size: 1" in details[5]["difference"]


def one_failure(**fields):
    row = ROWS[2]._replace(**fields)
    return SuiteOutcome((ManifestOutcome("m", (row,), ()),), ())


def test_tap_takes_no_directive_or_point_from_a_text():
    found = one_failure(policy="p # TODO later\\", message="a\nok 2 - b\n  ...")
    lines = text_of("tap", found).splitlines()
    assert lines[2] == "not ok 1 - m: p \\# TODO later\\\\ / r / v1/Pod/default/c"
    assert lines[-3:] == ['  details: "a\\nok 2 - b\\n  ..."', "  ...", "# Kyverno 1.19.1"]
    nothing = "TAP version 13\n1..0 # SKIP no rows\n# Kyverno 1.19.1\n"
    assert text_of("tap", SuiteOutcome((), ())) == nothing


def test_github_has_a_command_for_each_failure_and_remark():
    lines = text_of("github").splitlines()
    text = 'p / r  v1/Pod/default/c%0Aa\\x00b\\x1b[31m <&"> | ]]> \\u202e \U0001f600'
    assert lines[:3] == [
        "::error file=y,title=KV041::no folder",
        "::error file=x,title=KV001::no such file",
        f"::error file=a/kyverno-test.yaml,line=7,col=5,title=Want pass%2C got fail::{text}",
    ]
    assert "%0A-   size: 1%0A+   size: 2" in lines[3].replace("%0A  ", "%0A")
    assert len(lines) == 5


def test_github_takes_no_command_from_a_text():
    place = Location("a,b:c%/d\n::error::x", 7, 5)
    found = one_failure(message="100%\r\n::warning::no", location=place)
    command, summary = log_safe(text_of("github", found), ANNOTATIONS).splitlines()
    assert command == (
        "::error file=a%2Cb%3Ac%25/d%0A%3A%3Aerror%3A%3Ax,line=7,col=5,"
        "title=Want pass%2C got fail"
        "::p / r  v1/Pod/default/c%0A100%25%0D%0A\\x3a:warning::no"
    )
    assert summary == "1 row in 1 manifest: 0 passed, 1 failed"


HOLE = SurvivingMutant("p", "constant", "1", "2", Location("p.yaml", 3, 7), "  size: 1", None)
CHANGED = OUTCOME._replace(mutants=Mutants(3, (HOLE,), 0, 0))


def test_junit_is_valid():
    for outcome in (OUTCOME, CHANGED):
        JUNIT.validate(text_of("junit", outcome))


def test_junit_has_a_skipped_case_for_each_mutant_that_no_test_notices():
    root = ET.fromstring(text_of("junit", CHANGED))
    found = root.findall("testsuite")[-1]
    assert (found.get("name"), found.get("skipped"), found.get("failures")) == ("mutants", "1", "0")
    case = found.find("testcase")
    assert case.get("name") == "p.yaml:3:7: constant: `1` became `2`"
    assert "no object was found" in case.find("system-out").text
    assert root.get("tests") == "9"


def test_tap_has_a_point_to_do_for_each_mutant_that_no_test_notices():
    lines = text_of("tap", CHANGED).splitlines()
    assert lines[1] == "1..8"
    point = "not ok 8 - mutant of p: constant: `1` became `2` # TODO no test detects this"
    assert point in lines
    assert lines[-2:] == ["# mutants: 75.0% (3 of 4) detected by tests", "# Kyverno 1.19.1"]


def test_page_shows_mutants_that_no_test_notices():
    page = text_of("html", CHANGED)
    assert "Changes that no test detects" in page
    assert "<code>1</code> became <code>2</code>" in page
    assert "Changes that no test detects" not in text_of("html")
