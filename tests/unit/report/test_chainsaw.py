"""Reports of chainsaw tests."""

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
import xmlschema

from kyvsim.kubernetes.objects import ObjectKey
from kyvsim.model.chainsaw import ChainsawOutcome, ChainsawReport
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.simulation import TimelineEvent
from kyvsim.model.source import Location
from kyvsim.report.chainsaw import chainsaw_ending
from kyvsim.report.formats import CHAINSAW_FORMATS as FORMATS
from kyvsim.report.suite_text import SuiteOptions

PLACE = Location("t/chainsaw-test.yaml", 8, 5)
EVENT = TimelineEvent(0, 0.05, "user", "create", ObjectKey("v1", "Pod", "n", "p"), "done")
REPORT = ChainsawReport(
    (
        ChainsawOutcome("good", "g.yaml", "pass", seconds=2.0, duration_ms=12, events=(EVENT,)),
        ChainsawOutcome("bad", "b.yaml", "fail", "one: assert: a <b>\x1b", PLACE, 3.25, 5),
        ChainsawOutcome("odd", "o.yaml", "unsupported", "one: proxy", PLACE),
    ),
    (Diagnostic("KV061", Severity.ERROR, "no test", Location("x.yaml")),),
)


@pytest.fixture
def shown():
    """Return what renders the report in a format."""
    return lambda name, **sight: "".join(FORMATS[name].write(REPORT, SuiteOptions(**sight)))


def test_text_shows_results_reasons_and_counts(shown):
    assert shown("text") == (
        "pass  good  (2.0 s of virtual time)\n"
        "         0.050  user create Pod n/p done\n"
        "FAIL  bad  (3.2 s of virtual time)\n"
        "      one: assert: a <b>\\x1b\n"
        "      t/chainsaw-test.yaml:8:5\n"
        "n/a   odd  (0.0 s of virtual time)\n"
        "      one: proxy\n"
        "      t/chainsaw-test.yaml:8:5\n"
        "\n3 tests: 1 passed, 1 failed, 1 unsupported\n"
    )


def test_failed_tests_alone(shown):
    assert "good" not in shown("text", fail_only=True)
    assert [one["test"] for one in json.loads(shown("json", fail_only=True))["results"]] == ["bad"]


def test_json_holds_every_test_the_remarks_and_the_counts(shown):
    data = json.loads(shown("json"))
    assert data["results"][1] == {
        "test": "bad",
        "file": "b.yaml",
        "result": "fail",
        "reason": "one: assert: a <b>\x1b",
        "duration_ms": 5,
        "virtual_seconds": 3.25,
        "location": {"file": "t/chainsaw-test.yaml", "line": 8, "column": 5},
    }
    assert data["diagnostics"][0]["code"] == "KV061"
    assert data["summary"] == {"total": 3, "passed": 1, "failed": 1, "unsupported": 1}


def test_junit_counts_unsupported_tests_as_skipped(shown):
    xmlschema.XMLSchema(Path(__file__).parent / "schemas/junit.xsd").validate(shown("junit"))
    suite = ET.fromstring(shown("junit"))[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("4", "1", "1")
    assert [[child.tag for child in case] for case in suite] == [
        ["error"],
        [],
        ["failure"],
        ["skipped"],
    ]
    assert suite[2][0].get("message") == "one: assert: a <b>\\x1b"


@pytest.mark.parametrize("outcomes", [(), (ChainsawOutcome("odd", "o.yaml", "unsupported", "x"),)])
def test_a_run_in_which_nothing_was_decided_is_green_in_no_format(outcomes):
    report = ChainsawReport(outcomes, ())
    texts = {name: "".join(one.write(report, SuiteOptions())) for name, one in FORMATS.items()}
    ending = json.loads(texts["json"])["ending"]
    assert (ending["verdict"], ending["exitStatus"]) == ("INCOMPLETE", 2)
    assert chainsaw_ending(report).status == 2
    suite = ET.fromstring(texts["junit"])[0]
    assert suite.get("errors") == "1"
    assert "no test passed or failed" in suite[0][0].get("message")
