import json
from pathlib import Path

import jsonschema
import pytest

from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.source import Location
from kyvsim.report.formats import LINT_FORMATS as FORMATS
from kyvsim.report.lint import Findings
from kyvsim.report.style import RenderOptions

ERROR = Diagnostic("KV012", Severity.ERROR, "unknown `x`,\n50% \x1b", Location("a,b:c.yaml", 3, 5))
WARNING = Diagnostic("KV201", Severity.WARNING, "old: ü", Location("/p/q r.yaml", 2, 1))
INFO = Diagnostic("KV012", Severity.INFO, "note", Location("./f.yaml"))
NOWHERE = Diagnostic("KV001", Severity.ERROR, "nothing")
SCHEMAS = Path(__file__).parent / "schemas"
ALL = Findings((ERROR, WARNING, INFO, NOWHERE), 2)


def shown(name, findings=ALL):
    return "".join(FORMATS[name].write(findings, RenderOptions()))


def test_text():
    findings = ALL._replace(texts={"a,b:c.yaml": "a:\r\n  b:\r\n    x: {\x1b: 1}\r\n"})
    assert shown("text", findings).splitlines() == [
        r"a,b:c.yaml:3:5: error KV012: unknown `x`,\n50% \x1b",
        r"    3 |     x: {\x1b: 1}",
        "      |     ^",
        "/p/q r.yaml:2:1: warning KV201: old: ü",
        "./f.yaml: info KV012: note",
        "error KV001: nothing",
        "",
        f"{'By code':<62}    error  warning",
        f"{'  KV001':<62}        1        -",
        f"{'  KV012  first: a,b:c.yaml:3:5':<62}        1        -",
        f"{'  KV201  first: /p/q r.yaml:2:1':<62}        -        1",
        "",
        "INCOMPLETE: 2 errors in 2 inputs · 2 policy documents checked · 1 warning ·",
        "            Kyverno 1.19.1 · exit status 2",
    ]


def test_text_is_wrapped_on_terminals_and_its_places_are_whole():
    place = Location("policies/" + "deep/" * 20 + "a.yaml", 3, 5)
    finding = ERROR._replace(message="word " * 30, location=place)
    wide = "".join(FORMATS["text"].write(Findings((finding,), 1), RenderOptions()))
    assert len(wide.splitlines()[0]) > 200
    told = "".join(FORMATS["text"].write(Findings((finding,), 1), RenderOptions(on_terminal=True)))
    first, *lines = told.splitlines()
    assert first == f"{place}:"
    assert all(len(line) <= 80 for line in lines if str(place) not in line)


def test_an_expression_has_its_place_within_its_text():
    finding = ERROR._replace(excerpt=("| a ==", "| ....^"))
    told = shown("text", Findings((finding,), 1, texts={"a,b:c.yaml": "\n\n    x: 1"}))
    assert told.splitlines()[1:3] == ["    | a ==", "    | ....^"]
    assert "x: 1" not in told


def test_json():
    document = json.loads(shown("json"))
    assert document["summary"] == {"errors": 2, "warnings": 1, "policies": 2}
    assert document["diagnostics"][1] == {
        "code": "KV201",
        "severity": "warning",
        "message": "old: ü",
        "file": "/p/q r.yaml",
        "line": 2,
        "column": 1,
    }
    assert document["diagnostics"][3]["file"] == ""


def test_github():
    assert shown("github").splitlines() == [
        r"::error file=a%2Cb%3Ac.yaml,line=3,col=5,title=KV012::unknown `x`,%0A50%25 \x1b",
        "::warning file=/p/q r.yaml,line=2,col=1,title=KV201::old: ü",
        "::notice file=./f.yaml,title=KV012::note",
        "::error title=KV001::nothing",
    ]


def validate(text, schema):
    """Hold a document against a schema of ours."""
    rules = json.loads((SCHEMAS / f"{schema}.json").read_text("utf-8"))
    jsonschema.Draft7Validator(rules).validate(json.loads(text))


def check_sarif(log):
    """Hold a log against what SARIF 2.1.0 demands of the parts that are used here."""
    assert log["version"] == "2.1.0"
    assert log["$schema"].endswith("sarif-2.1.0.json")
    for run in log["runs"]:
        driver = run["tool"]["driver"]
        assert driver["name"]
        ids = [rule["id"] for rule in driver["rules"]]
        assert len(set(ids)) == len(ids)
        for result in run["results"]:
            assert isinstance(result["message"]["text"], str)
            assert result["level"] in {"none", "note", "warning", "error"}
            assert ids[result["ruleIndex"]] == result["ruleId"]
            for location in result.get("locations", ()):
                place = location["physicalLocation"]
                assert place["artifactLocation"]["uri"].isascii()
                assert " " not in place["artifactLocation"]["uri"]
                assert all(number >= 1 for number in place.get("region", {}).values())


@pytest.mark.parametrize("findings", [ALL, Findings((), 0)])
def test_sarif_is_sarif(findings):
    validate(shown("sarif", findings), "sarif-2.1.0")
    log = json.loads(shown("sarif", findings))
    check_sarif(log)
    assert len(log["runs"][0]["results"]) == len(findings.diagnostics)


def test_sarif_explains_the_codes_that_occur():
    rules = json.loads(shown("sarif"))["runs"][0]["tool"]["driver"]["rules"]
    assert [one["id"] for one in rules] == ["KV001", "KV012", "KV201"]
    shown_rule = rules[2]
    assert shown_rule["shortDescription"] == {"text": "deprecated operator"}
    assert shown_rule["help"]["text"].startswith("The operator still works")
    assert shown_rule["help"]["text"].endswith(
        "See docs/diagnostics/KV201.md in the repository of kyvsim."
    )
    assert "```yaml\napiVersion: kyverno.io/v1\n" in shown_rule["help"]["markdown"]
    assert not any("helpUri" in one for one in rules)


def test_sarif_places():
    results = json.loads(shown("sarif"))["runs"][0]["results"]
    assert [result["level"] for result in results] == ["error", "warning", "note", "error"]
    places = [result["locations"][0]["physicalLocation"] for result in results[:3]]
    assert places == [
        {
            "artifactLocation": {"uri": "a%2Cb%3Ac.yaml"},
            "region": {"startLine": 3, "startColumn": 5},
        },
        {
            "artifactLocation": {"uri": "file:///p/q%20r.yaml"},
            "region": {"startLine": 2, "startColumn": 1},
        },
        {"artifactLocation": {"uri": "f.yaml"}},
    ]
    assert "locations" not in results[3]


@pytest.mark.parametrize("name", FORMATS)
def test_formats_of_nothing(name):
    text = shown(name, Findings((), 0))
    nothing = "NOTHING CHECKED: 0 policy documents checked · Kyverno 1.19.1 · exit status 0\n"
    assert text in {"", "[]\n", nothing} or json.loads(text)


def test_gitlab():
    validate(shown("gitlab"), "gitlab-code-quality")
    found = json.loads(shown("gitlab"))
    assert [(one["check_name"], one["severity"]) for one in found] == [
        ("KV012", "major"),
        ("KV201", "minor"),
        ("KV012", "info"),
        ("KV001", "major"),
    ]
    assert found[0]["location"] == {"path": "a,b:c.yaml", "lines": {"begin": 3}}
    assert found[2]["location"] == {"path": "f.yaml", "lines": {"begin": 1}}
    assert r"\x1b" in found[0]["description"]
    prints = [one["fingerprint"] for one in json.loads(shown("gitlab", Findings(ALL[0] * 2, 2)))]
    assert len(set(prints)) == len(prints) == 8
