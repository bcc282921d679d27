"""The formats of `apply` on the menagerie: they keep their schemas, and nothing in them acts."""

import csv
import io
import json
import re
import unicodedata
from collections import Counter
from pathlib import Path

import jsonschema
import pytest
import xmlschema
import yaml

from kyvsim.api.apply import render_document, render_run
from kyvsim.model.release import NEWEST
from kyvsim.model.source import Document, Location
from kyvsim.report.formats import RUN_FORMATS as FORMATS
from kyvsim.report.run import RenderedRun
from kyvsim.report.style import RenderOptions

ROOT = Path(__file__).parents[3]
SCHEMAS = Path(__file__).parent / "schemas"
HOSTILE = ("sarif", "junit", "github", "gitlab", "markdown", "csv", "html", "text", "table")


def golden(name):
    """Return what a format says of the whole menagerie, hostile names among it."""
    return (ROOT / f"tests/golden/apply/format-{name}/stdout").read_bytes().decode()


def shown(name, run, **look):
    return "".join(render_document(FORMATS[name].write, run, RenderOptions(**look)))


def check(document, schema):
    """Hold a document against a schema of ours, formats of texts included."""
    found = json.loads((SCHEMAS / f"{schema}.json").read_text(encoding="utf-8"))
    jsonschema.Draft7Validator.check_schema(found)
    jsonschema.Draft7Validator(found).validate(document)


@pytest.fixture(params=["golden", "made by hand", "detailed", "empty"])
def text_of(request, menagerie, make):
    """A function that gives a document in a format, of several runs."""
    runs = {
        "golden": golden,
        "made by hand": lambda name: shown(name, menagerie()),
        "detailed": lambda name: shown(name, menagerie(), detailed=True),
        "empty": lambda name: shown(name, make.run([])),
    }
    return runs[request.param]


def test_sarif(text_of):
    log = json.loads(text_of("sarif"))
    check(log, "sarif-2.1.0")
    (run,) = log["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert len(rules) == len(set(rules))
    assert {one["ruleId"] for one in run["results"]} == set(rules)


def test_gitlab(text_of):
    report = json.loads(text_of("gitlab"))
    check(report, "gitlab-code-quality")
    assert {one["engine_name"] for one in report} <= {f"kyvsim (Kyverno {NEWEST})"}
    assert max(Counter(one["fingerprint"] for one in report).values(), default=1) == 1


def test_junit(text_of):
    text = text_of("junit")
    xmlschema.XMLSchema(SCHEMAS / "junit.xsd").validate(text)


@pytest.mark.parametrize("name", ["policy-report", "open-report"])
def test_reports(text_of, name):
    for report in yaml.safe_load_all(text_of(name)):
        check(report, name)
    found = json.loads(text_of(f"{name}-json"))
    for report in found["items"] if found["kind"] == "List" else [found]:
        check(report, name)


def test_marks_of_a_baseline_keep_the_schemas():
    """Of the four failures there one is new."""

    def marked(name):
        path = ROOT / f"tests/golden/apply/baseline-{name}/stdout"
        return path.read_text(encoding="utf-8")

    log = json.loads(marked("sarif"))
    check(log, "sarif-2.1.0")
    failures = [one for one in log["runs"][0]["results"] if one["kind"] == "fail"]
    states = Counter(one["baselineState"] for one in failures)
    assert states == {"unchanged": 3, "new": 1}
    xmlschema.XMLSchema(SCHEMAS / "junit.xsd").validate(marked("junit"))
    assert marked("junit").count("<failure") == 1
    check(json.loads(marked("gitlab")), "gitlab-code-quality")


def test_github(text_of):
    *lines, counts = text_of("github").splitlines()
    assert all(re.match(r"::(error|warning|notice) \S", line) for line in lines)
    assert counts.startswith("pass: ")


def test_csv(text_of):
    names, *rows = csv.reader(io.StringIO(text_of("csv"), newline=""))
    assert len(set(names)) == len(names)
    assert {len(row) for row in rows} <= {len(names)}
    cells = [cell for row in rows for cell in row]
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t"))]


def test_markdown(text_of):
    rows = [line for line in text_of("markdown").splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)(?:\\\\)*\|", row)) for row in rows} <= {5}
    bare = re.sub(r"\\.|<br>|&#?\w+;", "", "\n".join(rows[2:]))
    assert not set(bare) & set("[]()<>*_`#!@$~")


def test_html(text_of):
    text = text_of("html")
    known = (
        "html head meta title style body a header h1 main section h2 h3 p ul li div input select "
        "option label output button span kbd b code details summary pre mark table tr th td footer "
        "script"
    )
    assert set(re.findall(r"<([a-z0-9]+)", text.partition("</style>")[2])) <= set(known.split())
    statuses = re.findall(r'data-item data-status="(\w+)"', text)
    assert len(statuses) == text.count("data-item data-")


@pytest.mark.parametrize("name", HOSTILE)
def test_no_character_of_a_user_controls_a_terminal(name):
    odd = {one for one in golden(name) if unicodedata.category(one) in {"Cc", "Cf", "Zl", "Zp"}}
    assert odd <= {"\n", "\t"}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_told(name):
    """They are in the menagerie, so that the tests above mean something."""
    assert "owned" in golden(name)
    assert "u202egnp.exe" in golden(name)


def fingerprints(run):
    log = json.loads(shown("sarif", run))
    return [one["partialFingerprints"]["kyvsim/v1"] for one in log["runs"][0]["results"]]


def test_fingerprints_stay_when_lines_move(menagerie):
    moved = menagerie()
    later = (
        one._replace(
            document=one.document
            and Document(one.trigger, one.document.file, 7, lambda _: Location("pods.yaml", 99, 1))
        )
        for one in moved.responses
    )
    assert fingerprints(moved._replace(responses=later)) == fingerprints(menagerie())


def test_equal_findings_have_different_fingerprints(menagerie):
    run = menagerie()
    twice = (response for one in run.responses for response in (one, one))
    found = fingerprints(run._replace(responses=twice))
    assert len(set(found)) == len(found) == 2 * len(fingerprints(menagerie()))


def test_findings_stand_where_they_are_in_the_manifest(menagerie):
    log = json.loads(shown("sarif", menagerie()))
    failed = log["runs"][0]["results"][0]
    assert failed["ruleId"] == "checks/image"
    (place,) = failed["locations"]
    assert place["physicalLocation"]["artifactLocation"] == {"uri": "pods.yaml"}
    assert place["physicalLocation"]["region"] == {"startLine": 3, "startColumn": 3}
    assert place["logicalLocations"][0]["fullyQualifiedName"] == "shop/Pod/web"
    (rule,) = failed["relatedLocations"]
    assert rule["physicalLocation"]["artifactLocation"] == {"uri": "checks.yaml"}
    assert log["runs"][0]["invocations"][0]["exitCode"] == 2


def test_severities_weigh_in_code_quality(menagerie):
    found = {one["check_name"]: one["severity"] for one in json.loads(shown("gitlab", menagerie()))}
    assert found == {
        "checks/image": "critical",
        "advice/label": "minor",
        "shop/own/local": "major",
        "KV012": "major",
    }


@pytest.mark.parametrize("name", FORMATS)
def test_parts_are_put_together(menagerie, make, name):
    """What two parts tell, each by itself, is what the whole tells."""

    def run(*responses):
        return make.run(responses, resource_count=4)

    web, calm = menagerie().responses
    # Without what has to do with other parts: references, and objects that two of them create.
    web = web._replace(object=web.trigger, answers=web.answers[1:3])
    look = RenderOptions(detailed=True)
    begin = FORMATS[name].write
    whole = run(web, calm, calm, web)
    again, texts, lists = run(), [], {}
    for some in ((web, calm), (calm, web)):
        part = run(*some)._replace(is_part=True)
        document = begin(part, look)
        texts += [*map(document.row, part.responses), document.counted()]
        for key, entries in document.lists.items():
            lists.setdefault(key, []).extend(entries)
        again.result_counts.add(part.result_counts)
    told = RenderedRun([texts], [{key: entries for key, entries in lists.items() if entries}])
    again = again._replace(rendered=told)
    pieces = render_run(again, [begin(again, look)])
    assert "".join(piece for _, piece in pieces) == "".join(render_document(begin, whole, look))
