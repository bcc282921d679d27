"""Pages for a browser."""

import base64
import hashlib
import json
import re
import unicodedata
from html.parser import HTMLParser
from pathlib import Path

import pytest
from browser import golden_page
from hypothesis import given
from hypothesis import strategies as st

from kyvsim.api.apply import render_document
from kyvsim.model.result import BaselineState, Fact, RuleStatus, RunEnding, RunVerdict
from kyvsim.report import run_html
from kyvsim.report.page import TableEntry, ending_of, part, table_of
from kyvsim.report.run_html import begin, table_by_object
from kyvsim.report.style import RenderOptions

# What all pages for a browser have in common: one file, one frame, nothing of users that acts.

ROOT = Path(__file__).parents[3]
PAGES = {
    "apply": "apply/format-html",
    "explain": "explain/menagerie-html",
    "test": "test/holes-html",
    "equal": "equal/html",
    "migrate": "migrate/html",
    "upgrade": "upgrade/html",
    "diff": "diff/html",
    "simulate": "simulate/denied-namespace-html",
    "simulate --explain": "simulate/explained-html",
    "simulate --compare": "simulate/compared-html",
    "simulate of unusable input": "simulate/misspelt-html",
    "test --coverage": "test/coverage-html",
}


@pytest.fixture(params=PAGES)
def text(request):
    return golden_page(PAGES[request.param])


class Page(HTMLParser):
    """The tags of a page with their attributes, and what stands in its style and script."""

    VOID = frozenset({"meta", "input", "br"})

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.texts = [], [], {"style": [], "script": []}
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in self.texts:
            self.texts[self.open[-1]].append(data)

    def values(self, name):
        return [attrs[name] for _, attrs in self.tags if name in attrs]


def digest(text):
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def test_a_page_says_what_made_it_and_how_the_run_ended(text):
    footer = text.partition("<footer>")[2]
    assert "<p>kyvsim VERSION · 2026-01-01 00:00 UTC · kyvsim " in footer
    assert text.partition("<header>")[2].partition("</header>")[0].count('<p class="ending ') == 1


def test_failures_show_the_source_and_rules_their_passes():
    text = (ROOT / "tests/golden/apply/format-html/stdout").read_text("utf-8")
    assert '<span class="soft">35 | </span><mark>runAsUser: 0</mark></pre>' in text
    assert '<th class="number">pass</th>' in text


def test_a_page_is_whole(text):
    page = Page(text)
    assert page.open == []
    assert text.endswith("</html>\n")
    ids = page.values("id")
    assert len(ids) == len(set(ids))
    assert {link.removeprefix("#") for link in page.values("href")} <= set(ids)


def test_its_own_style_and_script_are_all_that_may_act(text):
    page = Page(text)
    (style,), (script,) = page.texts["style"], page.texts["script"]
    (policy,) = (
        attrs["content"]
        for _, attrs in page.tags
        if attrs.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy == (
        f"default-src 'none'; style-src 'sha256-{digest(style)}'; "
        f"script-src 'sha256-{digest(script)}'; base-uri 'none'; form-action 'none'"
    )
    names = {name for _, attrs in page.tags for name in attrs}
    assert not [name for name in names if name == "style" or name.startswith("on")]


def test_a_page_asks_nobody(text):
    page = Page(text)
    assert not {tag for tag, _ in page.tags} & {"link", "img", "iframe", "object", "form", "base"}
    assert page.values("src") == []
    assert all(link.startswith("#") for link in page.values("href"))
    assert not re.search(r"url\(|@import|fetch\(|XMLHttp|import\(", text)


def test_a_page_says_what_it_is_for_a_reader_of_screens(text):
    page = Page(text)
    tags = [tag for tag, _ in page.tags]
    assert [tags.count(one) for one in ("h1", "main", "header", "footer")] == [1, 1, 1, 1]
    fields = [attrs for tag, attrs in page.tags if tag in {"select", "input"}]
    assert all("aria-label" in attrs or attrs.get("type") == "checkbox" for attrs in fields)


def test_no_character_in_it_controls_or_turns_anything(text):
    odd = {one for one in text if unicodedata.category(one) in {"Cc", "Cf", "Zl", "Zp"}}
    assert odd <= {"\n", "\t"}


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
        ("a\" onclick='x'", "a&#34; onclick=&#39;x&#39;"),
        ("\x1b[31mred\x00", "\\x1b[31mred\\x00"),
        ("bidi-\u202egnp.exe\u2066", "bidi-\\u202egnp.exe\\u2066"),
        ("{{ 7 * 7 }}{% raw %}", "{{ 7 * 7 }}{% raw %}"),
        ("&lt;b&gt;", "&amp;lt;b&amp;gt;"),
    ],
)
def test_texts_of_users_are_only_texts(given, shown):
    assert part("prose", given) == shown


def test_what_stands_in_backticks_looks_like_code():
    assert part("prose", "a `b` c") == "a <code>b</code> c"
    assert part("prose", "a ` b") == "a ` b"
    assert part("prose", "`<b>`") == "<code>&lt;b&gt;</code>"
    assert part("prose", "`a` or `` a || `[]` ``") == "<code>a</code> or <code>a || `[]`</code>"


@pytest.mark.parametrize(
    ("verdict", "style"),
    [
        (RunVerdict.PASSED, "good"),
        (RunVerdict.SAME, "good"),
        (RunVerdict.WARNED, "warn"),
        (RunVerdict.NOTHING, "warn"),
        (RunVerdict.FAILED, "bad"),
        (RunVerdict.DIFFERENT, "bad"),
        (RunVerdict.INCOMPLETE, "bad"),
    ],
)
def test_the_end_of_a_run_has_its_colour(verdict, style):
    assert ending_of(RunEnding((Fact("x", 1, "x", verdict),)))["style"] == style


STATUSES = ("fail", "warn", "pass")
RESULTS = [
    TableEntry("b", "fail"),
    TableEntry("a", "warn"),
    TableEntry("a", "fail", ""),
    TableEntry("a", "fail"),
    TableEntry("c", "skip"),
    TableEntry("a", "fail", "high"),
]


def test_lines_count_by_name_and_note_with_the_worst_first():
    table = table_of("rule", RESULTS, STATUSES)
    assert table.key == "rule"
    assert table.columns == ("fail", "warn")
    assert [tuple(one) for one in table.lines] == [
        ("a", "", (2, 1)),
        ("b", "", (1, 0)),
        ("a", "high", (1, 0)),
    ]
    assert table.further == 0


def test_lines_beyond_a_limit_are_counted():
    table = table_of("rule", RESULTS, STATUSES, most=1)
    assert [one.name for one in table.lines] == ["a"]
    assert table.further == 2


def test_nothing_makes_no_line():
    assert table_of("rule", [], STATUSES).lines == ()


# The page of `apply`: what comes first, what is counted, what is left to the reader to open.


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


def test_passes_are_counted_and_lead_to_items_only_with_details(shown):
    for detailed in (False, True):
        text = shown(detailed=detailed)
        assert '<th class="number">pass</th>' in text
        assert ('data-status="pass" aria-label' in text) is detailed


def test_a_status_that_no_result_has_is_no_column(menagerie, make):
    for response in menagerie().responses:
        run = make.run((response,))
        text = "".join(render_document(begin, run, RenderOptions()))
        found = {result.status for policy in response.responses for result in policy.results}
        for status in (RuleStatus.PASS, RuleStatus.SKIP):
            assert (f'<th class="number">{status}</th>' in text) is (status in found), status


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
    assert "No findings" in text
    assert "<h2>By rule</h2>" not in text


def test_further_objects_are_only_counted(menagerie, make, monkeypatch):
    monkeypatch.setattr(run_html, "MOST_OBJECTS", 2)
    web, calm = menagerie().responses
    run = make.run((calm, web, web, calm, web), resource_count=5)
    text = "".join(render_document(begin, run, RenderOptions(detailed=True)))
    assert re.findall('<section class="group"><h2>([^ ]*)', text) == ["shop/Pod/web"] * 2
    assert "3 more objects with results are only counted" in text


COUNTED = ("fail", "error", "pass")


@given(st.lists(st.tuples(st.integers(0, 40), st.lists(st.sampled_from((*COUNTED, "skip"))))))
def test_the_table_by_object_is_that_of_all_objects(found):
    """Objects that occur once are not stored, and the lines are the same."""
    lines = [json.dumps((f"o{name}", [("r", "", one) for one in own])) for name, own in found]
    every = (TableEntry(f"o{name}", status) for name, own in found for status in own)
    assert table_by_object(lines, COUNTED) == table_of("object", every, COUNTED, 20)
