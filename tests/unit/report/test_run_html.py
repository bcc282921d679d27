"""The page of `apply`: what comes first, what is counted, what is left to the reader to open."""

import re

import pytest

from kyvsim.api.apply import render_document
from kyvsim.model.result import BaselineState, RuleStatus
from kyvsim.report.run_html import begin
from kyvsim.report.style import RenderOptions


@pytest.fixture
def shown(menagerie):
    return lambda **look: "".join(render_document(begin, menagerie(), RenderOptions(**look)))


def test_the_end_comes_before_counts_and_counts_before_findings(shown):
    text = shown()
    marks = ['class="ending bad"', "<h2>Input</h2>", "<h2>By rule</h2>", "<h2>By object</h2>"]
    places = [text.index(one) for one in (*marks, 'id="findings"', "data-item")]
    assert places == sorted(places)


def test_what_fails_comes_first(shown):
    statuses = re.findall(r'data-item data-status="(\w+)"', shown(detailed=True))
    order = ["fail", "error", "warn", "none", "pass", "skip"]
    ranks = [order.index(one) for one in statuses if one in order]
    assert statuses[0] == "fail"
    assert ranks[: ranks.count(0)] == [0] * ranks.count(0)


def test_places_of_manifest_and_rule_are_told(shown):
    text = shown()
    found = re.search(r"<b>checks / image</b>.*?</li>", text, re.DOTALL)[0]
    assert '<span class="place">pods.yaml:3:3</span>' in found
    assert '<span class="place">checks.yaml:' in found


def test_changes_are_told_with_who_made_them(shown):
    text = shown()
    assert re.findall(r'<span class="tag">(mutated|patched|generated)</span>', text) == [
        "mutated",
        "patched",
        "generated",
    ]
    assert '<span class="add">+ ' in text
    assert '<span class="add">' not in shown(objects=False)


def test_without_details_passes_are_not_counted_by_rule(shown):
    column = '<th class="number">pass</th>'
    assert column not in shown()
    assert column in shown(detailed=True)


def test_what_a_baseline_has_is_told_apart_and_weighs_less(menagerie):
    run = menagerie()

    def known(response):
        answers = tuple(
            one._replace(
                results=tuple(
                    result._replace(baseline=BaselineState.UNCHANGED)
                    if result.status is RuleStatus.FAIL
                    else result
                    for result in one.results
                )
            )
            for one in response.responses
        )
        return response._replace(answers=answers)

    run = run._replace(responses=map(known, run.responses))
    text = "".join(render_document(begin, run, RenderOptions()))
    assert 'data-status="fail"' not in text
    assert '<li class="item " tabindex="-1" data-item data-status="known"' in text
    assert '<span class="tag ">fail, known</span>' in text
    assert '<th class="number">known</th>' in text


def test_nothing_to_tell_is_told(make):
    text = "".join(render_document(begin, make.run([]), RenderOptions()))
    assert "Nothing to tell" in text
    assert "<h2>By rule</h2>" not in text
