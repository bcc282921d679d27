"""A simulation as a Mermaid sequence diagram: actors, and the objects that they act on."""

import re
from collections.abc import Iterable, Iterator

from kyvsim.model.simulation import Simulation, TimelineEvent
from kyvsim.report.timeline_rows import (
    TimelineLook,
    errors_of,
    shown_events,
    time_text,
    title_of,
)

_LONGEST_NOTE = 160
_LINE = 48
_END = re.compile(r"\bend\b", re.IGNORECASE)
"""The word that closes a block in a diagram."""
_BAD = frozenset({"denied", "failed"})


def render(simulation: Simulation, look: TimelineLook) -> Iterator[str]:
    """Yield the diagram; each actor is a participant, and so is each kind that is acted on."""
    events = list(shown_events(simulation, every=look.every))
    yield "sequenceDiagram\n"
    yield f"  title {_escaped(simulation.name)} ({simulation.model})\n"
    actors = dict.fromkeys(event.actor for event in events)
    kinds = dict.fromkeys(event.object.kind for event in events)
    for index, actor in enumerate(actors):
        word = "actor" if actor == "user" else "participant"
        yield f"  {word} a{index} as {_escaped(actor)}\n"
    for index, kind in enumerate(kinds):
        yield f"  participant k{index} as {_escaped(kind)}\n"
    actor_ids = {actor: f"a{index}" for index, actor in enumerate(actors)}
    kind_ids = {kind: f"k{index}" for index, kind in enumerate(kinds)}
    for event in events:
        yield from _message(event, actor_ids[event.actor], kind_ids[event.object.kind])
    if simulation.hazards and events:
        over = f"a0,{kind_ids[events[-1].object.kind]}"
        told = (f"{one.code} {one.level}: {_shortened(one.message)}" for one in simulation.hazards)
        yield from (f"  Note over {over}: {text}\n" for text in map(_broken, told))


def _message(event: TimelineEvent, actor: str, kind: str) -> Iterator[str]:
    arrow = "-x" if event.outcome in _BAD else "->>"
    outcome = "" if event.outcome == "done" else f" ({event.outcome})"
    name = title_of(event.object).partition(" ")[2]
    text = f"{time_text(event.time)} {event.action} {name}{outcome}"
    yield f"  {actor}{arrow}{kind}: {_escaped(text)}\n"
    for text in filter(None, (event.told, *(f"error {one}" for one in errors_of(event)))):
        yield f"  Note right of {kind}: {_broken(_shortened(text))}\n"


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_NOTE else f"{line[: _LONGEST_NOTE - 1]}…"


def _broken(text: str) -> str:
    """Return a text escaped, with line breaks between words."""
    lines: list[str] = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + len(word) >= _LINE:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return "<br/>".join(map(_escaped, lines))


def _escaped(text: str) -> str:
    """Return a text as it may stand in a diagram: entities for what has a meaning there."""
    return _END.sub("#101;nd", "".join(_characters(" ".join(text.split()))))


def _characters(text: Iterable[str]) -> Iterator[str]:
    for char in text:
        if char.isalnum() or char in " .,/-_()'=+*!?…":
            yield char
        elif char.isprintable():
            yield f"#{ord(char)};"
