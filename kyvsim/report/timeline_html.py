"""A simulation as one page for a browser: lanes, versions of objects, hazards, expectations.

The page needs nothing beside it: no script, no font, no network.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from kyvsim.kube.objects import Json, ObjectKey, metadata, object_key
from kyvsim.model.simulation import Expectation, Hazard, HazardLevel, Simulation, TimelineEvent
from kyvsim.report.diff import Marked, hunks
from kyvsim.report.html_text import html_text
from kyvsim.report.object_diff import marked_yaml
from kyvsim.report.object_yaml import to_yaml, yaml_lines
from kyvsim.report.style import counted
from kyvsim.report.timeline_css import CSS
from kyvsim.report.timeline_html_orders import orders_section
from kyvsim.report.timeline_rows import (
    TimelineLook,
    cause_of,
    errors_of,
    hazard_subject,
    shown_events,
    summary_parts,
    time_text,
    title_of,
)

_OUTCOMES: Mapping[str, str] = MappingProxyType(
    {"denied": "bad", "failed": "bad", "waiting": "warn", "skipped": "warn"}
)
_LEVELS: Mapping[HazardLevel, str] = MappingProxyType(
    {HazardLevel.ERROR: "bad", HazardLevel.WARNING: "warn", HazardLevel.INFO: "info"}
)
_MARKS: Mapping[str, str] = MappingProxyType({"+": "add", "-": "del", "@": "gap", " ": "same"})
_CODE = re.compile("`([^`]+)`")
_PASSING = frozenset({"resourceVersion", "managedFields", "generation"})


def render(simulation: Simulation, look: TimelineLook) -> Iterator[str]:
    """Yield the page in pieces; bookkeeping is in it, shown where its switch is on."""
    shown = list(shown_events(simulation, every=False))
    name = html_text(simulation.name)
    yield "<!doctype html>\n"
    yield '<html lang="en"><head><meta charset="utf-8">\n'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
    yield f"<title>{name} · kyvsim simulate</title>\n<style>{CSS}</style></head>\n<body>\n"
    yield '<a class="skip" href="#timeline">to the timeline</a>\n'
    yield f"<header><h1>{name}</h1>\n"
    yield f"<p>{_prose(simulation.description)}</p>\n" if simulation.description else ""
    yield '<ul class="facts">'
    yield f"<li>install {html_text(simulation.installation)}</li>"
    yield f"<li>model {html_text(simulation.model)}</li>"
    yield "".join(f"<li>{html_text(one)}</li>" for one in summary_parts(simulation))
    yield "</ul></header>\n<main>\n"
    yield from _section("Hazards", map(_hazard, simulation.hazards))
    yield from _section("Expectations", map(_expectation, simulation.expectations))
    yield from _timeline(simulation, shown, every=look.every)
    if simulation.interleavings:
        yield from orders_section(simulation.interleavings)
    told = {event.object for event in shown} | set(map(object_key, simulation.objects))
    yield from _objects([event for event in simulation.events if event.object in told])
    yield '</main>\n<footer class="soft small">kyvsim simulate</footer>\n</body></html>\n'


def _section(title: str, items: Iterator[str]) -> Iterator[str]:
    found = list(items)
    if found:
        yield f'<section><h2>{title}</h2><ul class="list">\n'
        yield from found
        yield "</ul></section>\n"


def _hazard(hazard: Hazard) -> str:
    concerned = html_text(", ".join(hazard_subject(hazard)))
    place = (
        f'<p class="soft small mono">{html_text(str(hazard.location))}</p>'
        if hazard.location
        else ""
    )
    links = ", ".join(f'<a href="#e{number}">{number}</a>' for number in hazard.events)
    seen = f'<p class="small">shown by event {links}</p>' if links else ""
    looks = _LEVELS[hazard.level]
    manifests = html_text("---\n".join(map(to_yaml, hazard.manifests)))
    pasted = f'<pre class="diff">{manifests}</pre>' if manifests else ""
    return (
        f'<li class="item {looks}"><p><span class="tag {looks}">{hazard.code} {hazard.level}'
        f"</span> {concerned}</p><p>{_prose(hazard.message)}</p>{place}{seen}{pasted}</li>\n"
    )


def _expectation(one: Expectation) -> str:
    looks, word = ("good", "met") if one.met else ("bad", "not met")
    when = f' <span class="soft">at {time_text(one.time)}</span>' if one.met else ""
    reason = f"<p>{html_text(one.reason)}</p>" if one.reason else ""
    file = html_text(str(one.location)) if one.location else ""
    place = f' <span class="soft small mono">{file}</span>' if file else ""
    return (
        f'<li class="item {looks}"><p><span class="tag {looks}">{word}</span> {html_text(one.text)}'
        f"{when}{place}</p>{reason}</li>\n"
    )


def _timeline(
    simulation: Simulation, shown: Sequence[TimelineEvent], *, every: bool
) -> Iterator[str]:
    told = {event.number: event for event in shown}
    lanes = list(dict.fromkeys(event.actor for event in shown))
    hidden = [one.actor for one in simulation.events if one.number not in told]
    lanes += [actor for actor in dict.fromkeys(hidden) if actor not in lanes]
    quiet = set(lanes) - {event.actor for event in shown}
    yield '<section id="timeline"><h2>Timeline</h2>\n'
    checked = " checked" if every else ""
    yield f'<input type="checkbox" id="every"{checked}> '
    told_of = f"show {len(hidden)} events of bookkeeping too"
    yield f'<label class="toggle" for="every">{told_of}</label>\n'
    yield f'<div class="lanes" style="--count: {len(lanes) - len(quiet) or 1}">\n'
    main = [actor for actor in lanes if actor not in quiet] or lanes[:1]
    yield '<div class="head time">time</div>'
    yield "".join(f'<div class="head">{html_text(actor)}</div>' for actor in main)
    yield "\n"
    for event in simulation.events:
        one = told.get(event.number, event)
        lane = main.index(one.actor) if one.actor in main else 0
        cause = cause_of(one, set(told), simulation)
        yield _event(one, lane, len(main), cause, noise=event.number not in told)
    yield "</div></section>\n"


def _event(event: TimelineEvent, lane: int, count: int, cause: int | None, *, noise: bool) -> str:
    outlook = _OUTCOMES.get(event.outcome, "bad" if event.unevaluated else "")
    looks = f"event {outlook}{' noise' if noise else ''}"
    word = f' <span class="tag">{html_text(event.outcome)}</span>'
    outcome = "" if event.outcome == "done" else word
    head = (
        f'<span class="who">{html_text(event.actor)} </span>{html_text(event.action)} '
        f"<b>{html_text(title_of(event.object))}</b>{outcome}"
    )
    under = "".join(_under(event, cause))
    body = f"<details><summary>{head}</summary>{under}</details>" if under else head
    message = f'<div class="message">{html_text(event.told.strip())}</div>' if event.told else ""
    message += "".join(
        f'<div class="message"><span class="tag">error</span> {html_text(one)}</div>'
        for one in errors_of(event)
    )
    # A card may be as wide as two lanes where there is room to its right.
    span = min(2, count - lane)
    place = f'style="--lane: {lane + 2}; --span: {span}"'
    hidden = " noise" if noise else ""
    return (
        f'<div class="time mono{hidden}">{time_text(event.time)}</div>'
        f'<div class="{looks}" id="e{event.number}" {place}>{body}{message}</div>\n'
    )


def _under(event: TimelineEvent, cause: int | None) -> Iterator[str]:
    """Yield what a card shows when it is opened."""
    if event.policies:
        yield f'<p class="small">by {html_text(", ".join(event.policies))}</p>'
    if cause is not None:
        yield f'<p class="small">because of <a href="#e{cause}">event {cause}</a></p>'
    changes = _difference(event)
    if changes:
        yield changes


def _objects(events: Sequence[TimelineEvent]) -> Iterator[str]:
    """Yield every object with its versions, in order of first appearance."""
    versions: dict[ObjectKey, list[TimelineEvent]] = {}
    for event in events:
        if event.outcome == "done" and (event.before is not None or event.after is not None):
            versions.setdefault(event.object, []).append(event)
    if not versions:
        return
    yield '<section><h2>Objects</h2><ul class="list objects">\n'
    for key, changes in versions.items():
        gone = ' <span class="tag warn">gone</span>' if changes[-1].after is None else ""
        count = f'<span class="soft small">{counted(len(changes), "version")}</span>'
        title = html_text(title_of(key))
        yield f'<li class="item"><details><summary>{title} {count}{gone}</summary>'
        for event in changes:
            yield (
                f'<div class="version"><a href="#e{event.number}">{time_text(event.time)}</a> '
                f"{html_text(event.actor)} {html_text(event.action)}{_difference(event)}</div>"
            )
        yield "</details></li>\n"
    yield "</ul></section>\n"


def _difference(event: TimelineEvent) -> str:
    """Return how an event changed its object, "" where it changed nothing that matters."""
    before, after = _lasting(event.before), _lasting(event.after)
    if before == after:
        return ""
    if before is None or after is None:
        mark = "+" if before is None else "-"
        lines: list[Marked] = [
            (mark, line) for line in yaml_lines(after if before is None else before)
        ]
    else:
        lines = list(hunks(marked_yaml(before, after)))
    return f'<pre class="diff" tabindex="0">{"".join(map(_line, lines))}</pre>'


def _line(marked: Marked) -> str:
    mark, line = marked
    shown = "⋯" if mark == "@" else f"{mark} {line}"
    return f'<span class="{_MARKS[mark]}">{html_text(shown)}</span>'


def _lasting(obj: Json) -> Json:
    if obj.__class__ is not dict:
        return None
    meta = {name: value for name, value in metadata(obj).items() if name not in _PASSING}
    return {**obj, "metadata": meta}


def _prose(text: str) -> str:
    """Return a text in which what stands in backticks looks like code."""
    return _CODE.sub(r"<code>\1</code>", html_text(text))
