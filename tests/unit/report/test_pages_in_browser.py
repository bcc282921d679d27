"""Pages in a headless Chromium, where there is one: what they ask for, and what keys do."""

import os
import re
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest
from browser import AXE, MISSING, NARROW, NO_AXE, PROGRAM, WIDE, Browser, golden_page

from kyvsim.kubernetes.objects import ObjectKey
from kyvsim.model.simulation import Expectation, Hazard, HazardLevel, Simulation, TimelineEvent
from kyvsim.model.source import Location
from kyvsim.model.suite import GoldenDifference, ManifestOutcome, RowOutcome, SuiteOutcome
from kyvsim.report import suite_formats, timeline_formats
from kyvsim.report.suite_text import SuiteOptions
from kyvsim.report.timeline_rows import TimelineOptions

ROOT = Path(__file__).parents[3]
PAGES = {
    "apply": "apply/format-html",
    "explain": "explain/menagerie-html",
    "test": "test/holes-html",
    "equal": "equal/html",
    "migrate": "migrate/html",
    "diff": "diff/html",
    "upgrade": "upgrade/html",
    "simulate": "simulate/denied-namespace-html",
    "simulate --compare": "simulate/compared-html",
    "simulate --explain": "simulate/explained-html",
    "test --coverage": "test/coverage-html",
    "test --mutants": "test/mutants-html",
}
INCOMPLETE = "simulate/misspelt-html"
"""Nothing could be simulated, so it has no items to search."""
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not PROGRAM, reason=MISSING)]


@pytest.fixture(scope="module")
def browser():
    one = Browser()
    yield one
    one.close()


def page_of(name, folder):
    """Return the path of a golden page, as a file that a browser takes for one."""
    path = folder / f"{re.sub('[ /]', '', name)}.html"
    path.write_text(golden_page(PAGES.get(name, name)), encoding="utf-8")
    return path


@pytest.mark.parametrize("width", [WIDE, NARROW])
@pytest.mark.parametrize("name", [*PAGES, INCOMPLETE])
def test_a_page_asks_nobody_and_has_no_complaint(browser, tmp_path, name, width):
    path = page_of(name, tmp_path)
    browser.show(path, width)
    assert browser.requests == [f"file://{path}"]
    assert browser.complaints == []
    assert browser.value("document.documentElement.scrollWidth") <= width
    assert browser.value("document.documentElement.classList.contains('js')")


@pytest.mark.skipif(not AXE.exists(), reason=NO_AXE)
@pytest.mark.parametrize(("width", "theme"), [(WIDE, "light"), (NARROW, "dark")])
@pytest.mark.parametrize("name", [*PAGES, INCOMPLETE])
def test_a_page_is_accessible_with_all_its_parts_open(browser, tmp_path, name, width, theme):
    scheme = {"name": "prefers-color-scheme", "value": theme}
    browser.ask("Emulation.setEmulatedMedia", features=[scheme])
    browser.show(page_of(name, tmp_path), width)
    browser.value("for (const one of all('details')) one.open = true")
    assert browser.violations() == []
    assert browser.value("document.documentElement.scrollWidth") <= width
    levels = browser.value(
        "all('h1, h2, h3, h4').filter((one) => one.offsetParent).map((one) => +one.tagName[1])"
    )
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


@pytest.mark.parametrize("name", ["apply", "explain", "test", "simulate"])
def test_failures_are_found_by_key(browser, tmp_path, name):
    browser.show(page_of(name, tmp_path))
    bad = browser.value(
        "page.items.filter((one) => one.matches('.bad') && !page.absent(one)).length"
    )
    assert bad > 1
    mark = (
        "document.activeElement.matches('.item.bad') && page.items.indexOf(document.activeElement)"
    )
    found = []
    for _ in range(bad + 1):
        browser.press("n")
        found.append(browser.value(mark))
    assert len(set(found)) == bad
    assert found[-1] == found[0]
    browser.press("p")
    assert browser.value(mark) == found[-2]


@pytest.mark.parametrize("name", [name for name in PAGES if name != "equal"])  # one item
def test_search_and_filters_leave_what_fits(browser, tmp_path, name):
    browser.show(page_of(name, tmp_path))
    every = browser.value("page.output.textContent")
    browser.press("/")
    assert browser.here == "INPUT"
    browser.press(*"no such word n")
    assert browser.shown(".item[data-item]") == []
    assert browser.value("page.output.textContent").startswith("0 of ")
    browser.press("Escape")
    assert browser.value("page.output.textContent") == every
    key, value = browser.value(
        "((one) => [one.dataset.key, one.options[1].value])(page.selects.find((one) => "
        "one.options.length > 2))"
    )
    browser.value(
        f"page.selects.find((one) => one.dataset.key === {key!r}).value = {value!r}; show()"
    )
    left = browser.value(
        "page.items.filter((one) => one.offsetParent)"
        f".map((one) => (one.dataset[{key!r}] || '').split('\\n').includes({value!r}))"
    )
    assert left
    assert all(left)


def test_tables_lead_to_what_they_count(browser, tmp_path):
    browser.show(page_of("apply", tmp_path))
    browser.value("document.querySelector('td button[data-set=rule]').click()")
    rule, *counts = browser.value(
        "((row) => [row.querySelector('button').dataset.value, "
        "...[...row.querySelectorAll('.number')].map((one) => Number(one.textContent))])"
        "(document.querySelector('td button[data-set=rule]').closest('tr'))"
    )
    shown = browser.value(
        "page.items.filter((one) => one.offsetParent).map((one) => one.dataset.rule)"
    )
    assert shown == [rule] * sum(counts)


def test_counts_lead_to_the_results_they_count(browser, tmp_path):
    browser.show(page_of("apply", tmp_path))
    counts = browser.value(
        "all('.count').map((one) => [Number(one.textContent.match(/[0-9]+/)[0]), "
        "(one.click(), page.items.filter((item) => item.offsetParent).length)])"
    )
    assert len(counts) > 10
    assert [shown for _, shown in counts] == [number for number, _ in counts]


def test_a_long_page_shows_its_items_in_parts(browser, tmp_path):
    path = page_of("apply", tmp_path)
    text = path.read_text("utf-8")
    start, end = text.index('<section class="group">'), text.rindex("</section>")
    path.write_text(text[:start] + text[start:end] * 30 + text[end:], "utf-8")
    browser.show(path)
    shown = "page.items.filter((one) => one.offsetParent).length"
    every, first = browser.value("page.items.length"), browser.value(shown)
    assert 500 <= first < 600 < every
    assert browser.value("page.output.textContent") == f"{every} of {every}"
    browser.value("page.more.click()")
    assert 1000 <= browser.value(shown) < 1100
    browser.press("p")  # the last failure
    assert browser.value("document.activeElement.matches('.item.bad')")
    assert browser.value("document.activeElement.offsetParent !== null")


def test_hostile_names_do_nothing(browser, tmp_path):
    path = page_of("apply", tmp_path)
    browser.show(path)
    assert browser.value("document.scripts.length") == 1
    assert browser.value("document.querySelector('.item script, .item img, .item b b')") is None
    assert "<script>alert(1)</script>" in browser.value("document.body.textContent")
    assert browser.value("document.title") == "kyvsim apply"


ATTACKS = (
    "<script>window.owned = 1</script>",
    "<img src=x onerror='window.owned = 1'>",
    '"><svg onload=window.owned=1>',
    "' autofocus onfocus='window.owned = 1",
    "</style></title><script>window.owned = 1</script>",
    "javascript:window.owned=1",
    "{{ 7 * 7 }}\x1b]0;owned\x07\u202e",
)


def hostile_pages():
    """Yield pages in which every text of a user is an attack."""
    for attack in ATTACKS:
        key = ObjectKey("v1", attack, attack, attack)
        place = Location(attack, 1, 1)
        event = TimelineEvent(
            number=0,
            time=0.0,
            actor=attack,
            action=attack,
            object=key,
            outcome=attack,
            message=attack,
            after={"kind": "Pod", "metadata": {"name": attack}, attack: attack},
            policies=(attack,),
        )
        hazard = Hazard("KH001", HazardLevel.ERROR, attack, (key,), (attack,), (0,), place)
        expectation = Expectation(attack, met=False, time=0.0, reason=attack, location=place)
        run = Simulation(
            attack,
            (event, event._replace(number=1, cause=0)),
            ({"kind": attack, "metadata": {"name": attack}},),
            (hazard,),
            (expectation,),
            description=attack,
        )
        yield timeline_formats.render_html(run, TimelineOptions())
        yield timeline_formats.render_html(run._replace(compared=run), TimelineOptions())
        row = RowOutcome(attack, attack, attack, "Fail", attack, attack, location=place)
        difference = GoldenDifference(attack, {attack: attack}, {attack: 1})
        manifest = ManifestOutcome(attack, (row._replace(difference=difference),), ())
        yield suite_formats.render_html(SuiteOutcome((manifest,), ()), SuiteOptions())


def test_no_text_of_a_user_acts_anywhere(browser, tmp_path):
    path = tmp_path / "hostile.html"
    for pieces in hostile_pages():
        path.write_text("".join(pieces), encoding="utf-8")
        browser.show(path)
        assert browser.value("window.owned") is None
        assert browser.requests == [f"file://{path}"]
        assert browser.complaints == []
        browser.press("n")
        browser.value("document.querySelector('.item a, td button').click()")
        assert browser.value("window.owned") is None
        acting = "script, img, svg[onload], [onfocus], [onerror], [autofocus], [href^=java]"
        assert browser.value(f"document.body.querySelectorAll('{acting}').length") == 1


def test_arrows_lead_from_cause_to_effect(browser, tmp_path):
    path = page_of("simulate", tmp_path)
    browser.show(path)
    caused = browser.value(
        "page.items.filter((one) => one.dataset.cause && one.offsetParent).length"
    )
    assert caused > 2
    assert len(browser.value("arrows.map((one) => one.from + one.to)")) == caused
    browser.value("cards.get('e7').focus()")
    assert browser.shown(".event.on") == ["e4", "e6", "e7"]
    browser.show(path, NARROW)
    assert browser.value("arrows.length") == caused
    lanes, cards = browser.value(
        "[canvas.querySelectorAll('.rail').length, "
        "[...cards.values()].filter((one) => one.offsetParent)"
        ".every((one) => one.getBoundingClientRect().left > 12 + laneOf(one) * 12)]"
    )
    assert lanes == 3
    assert cards  # they are beside the lanes
    assert browser.value("document.documentElement.scrollWidth") <= NARROW


def test_a_long_timeline_shows_its_events_in_parts(browser, tmp_path):
    path = page_of("simulate", tmp_path)
    text = path.read_text("utf-8")
    start, end = text.index('<li class="row"'), text.index('<li class="row end"')
    path.write_text(text[:start] + text[start:end] * 60 + text[end:], "utf-8")
    browser.show(path)
    shown = "page.items.filter((one) => one.offsetParent).length"
    every, first = browser.value("page.fitting.size"), browser.value(shown)
    assert first == 500 < every
    assert browser.value("document.querySelector('.row.end').hidden")
    browser.value("while (!page.more.hidden) page.more.click()")
    assert browser.value(shown) == browser.value(
        "page.items.filter((one) => !page.absent(one)).length"
    )
    assert browser.value("document.querySelector('.row.end').hidden") is False


def test_sections_without_items_stay(browser, tmp_path):
    path = tmp_path / "upgrade.html"
    command = [
        "upgrade",
        "policies/namespace-team",
        "--to",
        "1.20",
        "--output-format",
        f"html={path}",
    ]
    subprocess.run(
        [os.sys.executable, "-m", "kyvsim", *command], cwd=ROOT, check=False, capture_output=True
    )
    browser.show(path)
    assert browser.value("page.items.length") == 0
    assert browser.value("document.querySelector('.group table').offsetParent !== null")
    assert browser.shown("[data-go], .bar input") == []


def test_differences_of_two_runs_are_found_by_key(browser, tmp_path):
    browser.show(page_of("simulate --compare", tmp_path))
    found = []
    for _ in range(3):
        browser.press("d")
        found.append(browser.here)
    assert found == ["f5", "e11", "e12"]
    browser.value("page.selects[0].value = 'only in B'; show()")
    assert browser.shown(".event") == ["f5"]


def test_bookkeeping_has_a_switch(browser, tmp_path):
    browser.show(page_of("simulate", tmp_path))
    before = browser.shown(".event")
    browser.value("document.getElementById('every').click()")
    after = browser.shown(".event")
    assert set(before) < set(after)
    assert len(after) == browser.value("page.items.length")


def test_repeats_are_folded_and_opened(browser, tmp_path):
    path = tmp_path / "loop.html"
    command = ["-m", "kyvsim", "simulate", "fixtures/scenarios/job-loop.yaml", "-o", f"html={path}"]
    subprocess.run([os.sys.executable, *command], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    browser.show(path)
    events = browser.shown(".event")
    browser.value("document.querySelector('.fold button').click()")
    opened = browser.shown(".event")
    assert len(opened) > len(events)
    assert "e19" in opened
    assert "e19" not in events
    browser.show(f"{path}#e24")
    assert browser.here == "e24"
