"""What other orders of steps lead to, as a section of the page."""

from collections.abc import Iterator

from kyvsim.model.simulation import Ending, Interleavings, Simulation, TimelineEvent
from kyvsim.report.endings import differences, orders_text
from kyvsim.report.html_text import html_text
from kyvsim.report.style import counted
from kyvsim.report.timeline_rows import shown_events, time_text, title_of


def orders_section(found: Interleavings) -> Iterator[str]:
    """Yield the section: how many orders were tried, and each other ending with its events."""
    usual, *others = found.endings
    yield f'<section id="orders"><h2>Other orders of steps</h2>\n<p>{orders_text(found)}</p>\n'
    yield '<ul class="list">\n'
    for ending in others:
        yield from _ending(usual.simulation, ending)
    yield "</ul></section>\n"


def _ending(usual: Simulation, ending: Ending) -> Iterator[str]:
    changes = counted(ending.changes, "change")
    title = f"otherwise in {counted(ending.runs, 'order')}, the nearest with {changes}"
    yield f'<li class="item warn"><h3>{title}</h3>\n<ul>\n'
    for one in differences(usual, ending.simulation):
        yield f"<li><b>{html_text(one.word)}</b> {html_text(one.text)}</li>\n"
    yield "</ul>\n<details><summary>what happens then</summary><ol>\n"
    yield from map(_event, shown_events(ending.simulation, every=False))
    yield "</ol></details></li>\n"


def _event(event: TimelineEvent) -> str:
    told = f'<div class="message">{html_text(event.told.strip())}</div>'
    tag = f' <span class="tag">{html_text(event.outcome)}</span>'
    return (
        f'<li><span class="mono soft">{time_text(event.time)}</span> {html_text(event.actor)} '
        f"{html_text(event.action)} <b>{html_text(title_of(event.object))}</b>"
        f"{'' if event.outcome == 'done' else tag}{told if event.told else ''}</li>\n"
    )
