"""Explanations in all formats, with texts of users that want to be something else."""

import json
import re

import pytest

from kyvsim.model.explanation import ObjectExplanation, RuleExplanation, Step, StepKind, Value
from kyvsim.model.result import EngineResponse, Phase, PolicyResponse, RuleResult, RuleStatus, Stage
from kyvsim.model.source import Location
from kyvsim.report import explain
from kyvsim.report.explain import StepPage
from kyvsim.report.formats import EXPLAIN_FORMATS as FORMATS

HOSTILE = "<script>alert(1)</script>\x1b[31m & \"'"


@pytest.fixture
def explained(make):
    """One rule that failed and one that is not about the object, full of hostile texts."""
    policy = make.policy("strict", "check", "other")
    pod = make.pod(HOSTILE)
    failed = RuleResult(policy.rules[0], Phase.VALIDATE, RuleStatus.FAIL, f"no {HOSTILE}")
    place = Location("strict.yaml", 7, 5)
    node = Step(
        StepKind.PATTERN,
        HOSTILE,
        answer=False,
        wanted=Value("?*"),
        found=Value(HOSTILE),
        place=place,
        path=("spec", HOSTILE),
        seen_at=Location("pod.yaml", 4, 2),
    )
    change = Step(
        StepKind.CHANGE,
        "the object",
        wanted=Value({"a": HOSTILE, "c": 1}),
        found=Value({"a": "b", "c": 1}),
    )
    body = Step(StepKind.BODY, "validate", answer=RuleStatus.FAIL, steps=(change, node))
    index = Step(StepKind.INDEX, "kinds", answer=False, wanted=Value(["Job"]), found=Value("Pod"))
    rules = tuple(
        RuleExplanation(policy, rule, Stage.VALIDATE, results, (step,), place)
        for rule, results, step in zip(policy.rules, ((failed,), ()), (body, index), strict=True)
    )
    said = PolicyResponse(policy, Phase.VALIDATE, pod, (failed,))
    response = EngineResponse(pod, pod, (said,), make.document(pod, "pod.yaml"))
    return ObjectExplanation(response, rules)


def rendered(name, explained, **page):
    return "".join(FORMATS[name].write([explained], StepPage(**page)))


def test_text_has_verdict_decision_and_both_places(explained):
    text = rendered("text", explained)
    assert "FAIL   strict / check" in text
    assert "strict.yaml:7:5" in text
    assert "pod.yaml:4:2" in text
    assert "Rules that do not match" in text
    assert 'expected ["Job"], found "Pod"' in text
    assert "\x1b" not in text


@pytest.mark.parametrize("width", [80, 120])
def test_text_keeps_to_the_width(explained, width):
    lines = rendered("text", explained, width=width).splitlines()
    assert max(map(len, lines)) <= width


def test_text_has_colours_where_they_are_wanted(explained):
    plain = rendered("text", explained)
    coloured = rendered("text", explained, colours=True)
    assert coloured != plain
    assert re.sub(r"\x1b\[\d+m", "", coloured) == plain


def test_json_has_what_text_has_and_whole_values(explained):
    (found,) = json.loads(rendered("json", explained))["objects"]
    failed, other = found["rules"]
    assert (failed["verdict"], other["verdict"]) == ("fail", "unconcerned")
    assert failed["decided"]["policy"] == {"file": "strict.yaml", "line": 7, "column": 5}
    assert failed["decided"]["manifest"]["line"] == 4
    change, node = failed["steps"][0]["steps"]
    assert (node["wanted"], node["found"]) == ("?*", HOSTILE)
    assert (change["before"], change["after"]) == ({"a": "b", "c": 1}, {"a": HOSTILE, "c": 1})


def test_html_escapes_texts(explained):
    page = rendered("html", explained)
    assert page.count("<script>") == 1
    assert "&lt;script&gt;" in page
    assert "\x1b" not in page


def test_html_opens_the_way_to_what_decided(explained):
    page = rendered("html", explained)
    assert page.count('<details class="step"') == 1
    assert '<details class="step" open>' in page
    assert page.count('class="leaf decided"') == 2


def test_a_page_shows_the_objects_with_the_worst_results_if_there_are_many(explained, monkeypatch):
    monkeypatch.setattr(explain, "MOST_OBJECTS", 2)
    passed = explained._replace(rules=explained.rules[1:])
    page = "".join(FORMATS["html"].write([passed, explained, passed, explained], StepPage()))
    assert page.count('<section class="group">') == 2
    assert page.count('class="item bad"') == 2 * rendered("html", explained).count(
        'class="item bad"'
    )
    assert "2 more objects with results are only counted" in page
    assert "on 4 objects" in page
    assert "only counted" not in rendered("html", explained)
