"""A simulation for people: who did what when, and why; then expectations and hazards."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from kyvsim.model.simulation import (
    Expectation,
    Hazard,
    HazardLevel,
    Interleavings,
    Simulation,
    TimelineEvent,
)
from kyvsim.report.endings import Difference, differences, orders_text
from kyvsim.report.inquiry_text import inquiry_pieces
from kyvsim.report.object_text import yaml_lines
from kyvsim.report.style import MARK_LOOKS, Paint, counted, painter, safe_line, safe_text
from kyvsim.report.timeline_pairs import PairDifference, pairs_of
from kyvsim.report.timeline_rows import (
    TimelineLook,
    cause_of,
    errors_of,
    event_title,
    hazard_subject,
    shown_events,
    summary_text,
    time_text,
)

_OUTCOMES: Mapping[str, str] = MappingProxyType(
    {"denied": "fail", "failed": "fail", "waiting": "warn", "skipped": "skip"}
)
_LEVELS: Mapping[HazardLevel, str] = MappingProxyType(
    {HazardLevel.ERROR: "error", HazardLevel.WARNING: "warn", HazardLevel.INFO: "skip"}
)
_NARROWEST = 40
_TITLE = 30
"""Columns that titles of objects are filled up to."""
_UNDER = " " * 10
_ERROR = "error  "


def render(simulation: Simulation, look: TimelineLook) -> Iterator[str]:
    """Yield the view; the last line counts."""
    paint = painter(colours=look.colours)
    name = paint("title", safe_line(simulation.name))
    how = f"(install {safe_line(simulation.installation)}, model {simulation.model})"
    yield f"{name} {paint('dim', how)}\n"
    for line in _wrapped(simulation.description, look.width):
        yield f"{line}\n"
    yield "\n"
    yield from _timeline(simulation, look, paint)
    if simulation.expectations:
        yield "\nexpectations\n"
    for expectation in simulation.expectations:
        yield from _expectation(expectation, look, paint)
    if simulation.hazards:
        yield "\nhazards\n"
    for hazard in simulation.hazards:
        yield from _hazard(hazard, look, paint)
    if simulation.explained:
        yield from inquiry_pieces(simulation, look)
    if simulation.interleavings:
        yield from _orders(simulation.interleavings, look)
    if simulation.compared:
        yield from _comparison(simulation, simulation.compared, look)
    yield f"\n{summary_text(simulation)}\n"


def _orders(found: Interleavings, look: TimelineLook) -> Iterator[str]:
    """Yield what other orders of steps lead to, each ending with its shortest timeline."""
    paint = painter(colours=look.colours)
    yield f"\n{orders_text(found)}\n"
    usual, *others = found.endings
    for ending in others:
        changes = counted(ending.changes, "change")
        orders = counted(ending.runs, "order")
        yield f"\n{paint('title', f'otherwise in {orders}')}, the nearest with {changes} of order\n"
        for one in differences(usual.simulation, ending.simulation):
            yield from _difference(one, look)
        yield "\n"
        yield from _timeline(ending.simulation, look, paint)


def _comparison(simulation: Simulation, other: Simulation, look: TimelineLook) -> Iterator[str]:
    """Yield how another run ends otherwise, and which of its events are not those of this one."""
    paint = painter(colours=look.colours)
    yield f"\n{paint('title', f'compared with {safe_line(other.name)}')}\n"
    found = [*differences(simulation, other)]
    for one in found or [Difference("alike", "both runs end alike")]:
        yield from _difference(one, look)
    rows = [*_changed_rows(simulation, other, look)]
    widths = [max((len(row[1][column]) for row in rows), default=0) for column in range(4)]
    yield "\n" if rows else ""
    for mark, cells, outcome in rows:
        aligned = [cell.ljust(width) for cell, width in zip(cells, widths, strict=False)]
        line = "  ".join(filter(None, (*aligned, *cells[4:], outcome))).rstrip()
        yield f"  {paint(MARK_LOOKS[mark], f'{mark} {line}')}\n"


def _changed_rows(
    simulation: Simulation, other: Simulation, look: TimelineLook
) -> Iterator[tuple[str, tuple[str, ...], str]]:
    """Yield the events that are not the same in both runs: a mark, cells, an outcome."""
    pairs = pairs_of(simulation, other, every=look.every)
    changed = (one for one in pairs if one.difference is not PairDifference.ALIKE)
    for mark, event in (one for pair in changed for one in zip("-+", pair, strict=True)):
        if event:
            outcome = "" if event.outcome == "done" else safe_line(event.outcome)
            yield mark, _cells(event), outcome


def _difference(one: Difference, look: TimelineLook) -> Iterator[str]:
    first, *more = _wrapped(f"{one.word:<9} {one.text}", look.width - len(_UNDER)) or [""]
    yield f"  {first}\n"
    yield from (f"{_UNDER}  {line}\n" for line in more)


def _timeline(simulation: Simulation, look: TimelineLook, paint: Paint) -> Iterator[str]:
    events = list(shown_events(simulation, every=look.every))
    shown = {one.number for one in events}
    rows = [_cells(event) for event in events]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(4)]
    for event, row in zip(events, rows, strict=True):
        aligned = (str.rjust, str.rjust, str.ljust, str.ljust)
        cells = [
            align(text, width) for align, text, width in zip(aligned, row, widths, strict=False)
        ]
        cells.append(row[-1].ljust(_TITLE))
        yield _row(event, cells, _reason(event, cause_of(event, shown, simulation)), look)
        for line in _wrapped(event.told, look.width - len(_UNDER)):
            yield f"{_UNDER}{paint('dim', line)}\n"
        for error in errors_of(event):
            first, *more = _wrapped(error, look.width - len(_UNDER) - len(_ERROR)) or [""]
            yield f"{_UNDER}{paint('error', _ERROR.rstrip())}  {first}\n"
            yield from (f"{_UNDER}{' ' * len(_ERROR)}{line}\n" for line in more)


def _cells(event: TimelineEvent) -> tuple[str, ...]:
    cells = (str(event.number), time_text(event.time), event.actor, event.action)
    return tuple(map(safe_line, (*cells, event_title(event))))


def _reason(event: TimelineEvent, cause: int | None) -> str:
    """Return on whose account something was done, and what led to it."""
    parts = [f"by {safe_line(', '.join(event.policies))}"] if event.policies else []
    parts += [f"(because of {cause})"] if cause is not None else []
    return " ".join(parts)


def _row(event: TimelineEvent, cells: Sequence[str], reason: str, look: TimelineLook) -> str:
    """Return the line of an event; the reason goes below where there is no room for it."""
    paint = painter(colours=look.colours)
    looks = _OUTCOMES.get(event.outcome)
    outcome = "" if event.outcome == "done" else safe_line(event.outcome)
    plain = "  ".join(filter(None, (*cells, outcome)))
    word = paint(looks, outcome) if looks else outcome
    row = "  ".join(filter(None, (paint("dim", cells[0]), *cells[1:], word))).rstrip()
    if not reason:
        return f"{row}\n"
    told = paint("dim", reason)
    if len(plain) + 2 + len(reason) <= look.width:
        return f"{row}{' ' * (len(plain) - len(plain.rstrip()) + 2)}{told}\n"
    return f"{row}\n{_UNDER}{told}\n"


def _expectation(one: Expectation, look: TimelineLook, paint: Paint) -> Iterator[str]:
    word = paint("pass", "met    ") if one.met else paint("fail", "NOT MET")
    place = f" {paint('dim', f'({safe_line(str(one.location))})')}" if one.location else ""
    when = f" {paint('dim', f'at {time_text(one.time)}')}" if one.met else ""
    yield f"  {word}  {safe_line(one.text)}{when}{place}\n"
    for line in _wrapped(one.reason, look.width - len(_UNDER)):
        yield f"{_UNDER} {line}\n"


def _hazard(hazard: Hazard, look: TimelineLook, paint: Paint) -> Iterator[str]:
    level = paint(_LEVELS[hazard.level], f"{hazard.level:<7}")
    subject = safe_line(", ".join(hazard_subject(hazard)))
    yield f"  {level}  {hazard.code}  {subject}".rstrip() + "\n"
    for line in _wrapped(hazard.message, look.width - len(_UNDER)):
        yield f"{_UNDER} {line}\n"
    if hazard.location:
        yield f"{_UNDER} {paint('place', f'at {safe_line(str(hazard.location))}')}\n"
    if hazard.events:
        numbers = ", ".join(map(str, hazard.events))
        yield f"{_UNDER} {paint('dim', f'see {numbers}')}\n"
    for number, manifest in enumerate(hazard.manifests):
        lines = (["---"] if number else []) + yaml_lines(manifest)
        yield from (f"{_UNDER}   {safe_line(line)}\n" for line in lines)


def _wrapped(text: str, width: int) -> Iterator[str]:
    """Yield the lines of a text, safe to show and broken where they are too long."""
    for line in safe_text(text).splitlines():
        if line.strip():
            indent = " " * (len(line) - len(line.lstrip()))
            yield from textwrap.wrap(
                line.rstrip(),
                max(width, _NARROWEST),
                subsequent_indent=indent,
                break_long_words=False,
                break_on_hyphens=False,
            )
