"""A simulation as lanes along a time axis, with folded repetitions; alignment of two runs."""

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from enum import StrEnum
from typing import Final, NamedTuple

from kyvsim.kubernetes.objects import KubernetesObject, metadata, text_field, without_server_fields
from kyvsim.model.simulation import Simulation, TimelineEvent
from kyvsim.report.object_text import Marked, hunks, marked_yaml, yaml_lines
from kyvsim.report.style import counted
from kyvsim.report.timeline_rows import cause_of, errors_of, event_title, shown_events, time_text

_FEWEST_ROUNDS: Final = 3
"""Minimum number of rounds to fold."""


class Repeat(NamedTuple):
    """Consecutive rounds of equal events."""

    first: int
    """The index of the first event of the first round."""
    length: int
    """Number of events in a round."""
    rounds: int

    @property
    def end(self) -> int:
        """The index after the last event."""
        return self.first + self.length * self.rounds


def repeats(events: Sequence[TimelineEvent]) -> Iterator[Repeat]:
    """Yield the repeated rounds of up to 8 events: longest folds first, then shortest rounds."""
    # The properties in which repeated events agree; names of objects may differ.
    marks = [
        (
            *(event.actor, event.action, event.outcome, event.policies, event.unevaluated),
            *(event.object.kind, event.object.namespace),
            event.full_message.replace(event.object.name, "*")
            if event.object.name
            else event.full_message,
        )
        for event in events
    ]
    at = 0
    while at < len(marks):
        candidates = [_repeat(marks, at, length) for length in range(1, 9)]
        best = max(candidates, key=lambda repeat: (repeat.end, -repeat.length))
        if best.rounds >= _FEWEST_ROUNDS:
            yield best
            at = best.end
        else:
            at += 1


def _repeat(marks: Sequence[Hashable], first: int, length: int) -> Repeat:
    """Return the repetitions of the round at an index; a single round is an empty repeat."""
    round_ = marks[first : first + length]
    rounds, at = 1, first + length
    while len(round_) == length and marks[at : at + length] == round_:
        rounds, at = rounds + 1, at + length
    return Repeat(first, length, rounds) if rounds >= _FEWEST_ROUNDS else Repeat(first, 0, 1)


# The time axis: milliseconds and hours on one line.
# The distance of two moments is the logarithm of the time between them, anywhere on the line: a
# burst of milliseconds after two hours is as wide as one at the beginning. An axis that is
# logarithmic from its origin would compress it into a point.

_LEAST: Final = 0.15
"""Minimum distance of two events, in powers of ten."""


class Label(NamedTuple):
    """A labelled moment of the axis."""

    at: float
    """Position in percent of the axis."""
    number: int
    """The index of its time."""
    is_minor: bool
    """Whether it is hidden on a narrow screen."""


def wait_step(seconds: float) -> int:
    """Return a duration in powers of ten: 0 below 1 ms, 1 below 10 ms, 4 for seconds."""
    milliseconds = round(seconds * 1000, 3)
    return 0 if milliseconds < 1 else min(9, 1 + int(math.log10(milliseconds)))


def places(times: Sequence[float]) -> list[float]:
    """Return the positions of ascending times in seconds on the axis, in percent."""
    reached, places_reached, before = 0.0, [], times[0] if times else 0.0
    for time in times:
        reached += _LEAST + math.log10(1 + max(0.0, time - before) * 1000)
        places_reached.append(reached)
        before = time
    extent = reached + _LEAST
    return [round(100 * place / extent, 2) for place in places_reached]


def labels(times: Sequence[float], at: Sequence[float]) -> list[Label]:
    """Return the moments to label: the ends, then those after the longest waits, if there is room.

    Two labels are at least 14 percent of the axis apart; on a narrow screen 38 percent.
    """
    waits = [after - before for before, after in zip((0.0, *times), times, strict=False)]
    order = sorted(range(len(times)), key=lambda index: -waits[index])
    ends = [0, len(times) - 1] if times else []
    chosen: list[Label] = []
    for index in dict.fromkeys((*ends, *order)):
        spot = at[index]
        if all(abs(spot - label.at) >= 14 for label in chosen):
            wide = all(abs(spot - label.at) >= 38 for label in chosen if not label.is_minor)
            chosen.append(Label(spot, index, not wide))
    return sorted(chosen)


_OUTCOMES: Mapping[str, str] = {
    "denied": "bad",
    "failed": "bad",
    "waiting": "warn",
    "skipped": "warn",
}
_LONG: Final = 60
"""Length in characters from which repeated texts are not shown again."""
_MOST_NAMED: Final = 3


class Card(NamedTuple):
    """One event, as the page shows it."""

    event: TimelineEvent
    lane: int
    """The index of its lane, from 0."""
    style: str
    """`bad`, `warn` or ""."""
    time: str
    """The time; "" if the card above has the same time."""
    step: int
    """The time since the previous event, in powers of ten."""
    wait: str
    """The same as text, if it is long."""
    cause: TimelineEvent | None
    """The nearest shown event that caused it."""
    message: str
    same_as: int | None
    """The number of the card that already shows this long text."""
    errors: tuple[str, ...]
    is_noise: bool
    """Whether the event is bookkeeping."""
    fold: int | None = None
    """The number of the fold that contains it."""
    folds: str = ""
    """The text of the fold that begins here, or ""."""

    @property
    def moment(self) -> str:
        """The time, even if the card above has the same one."""
        return time_text(self.event.time)

    @property
    def title(self) -> str:
        """The title of its object."""
        return event_title(self.event)

    @property
    def difference(self) -> list[Marked]:
        """The changes of its object as lines; none if nothing relevant changed."""
        return difference(self.event)


class Lanes(NamedTuple):
    """A simulation as cards in lanes, one lane for each actor that is shown."""

    names: tuple[str, ...]
    cards: tuple[Card, ...]
    hidden: int
    """Number of cards that are bookkeeping."""
    step: int
    """The time between the last event and the end, in powers of ten."""
    wait: str
    """The same as text, if it is long."""


def lanes_of(simulation: Simulation) -> Lanes:
    """Return all events as cards; bookkeeping of hidden actors is in the first lane."""
    shown = {event.number: event for event in shown_events(simulation, every=False)}
    events = [shown.get(event.number, event) for event in simulation.events]
    names = tuple(dict.fromkeys(event.actor for event in shown.values()))
    names = names or tuple(dict.fromkeys(event.actor for event in events))
    folds = _folds(tuple(shown.values()))
    cards: list[Card] = []
    first_told: dict[str, int] = {}
    known, before, last = set(shown), 0.0, ""
    fold, fold_end = None, -1
    for event in events:
        is_noise = event.number not in shown
        rendered = event.full_message.strip()
        cause = cause_of(event, known, simulation)
        step, wait = _wait(0.0 if is_noise else event.time - before)
        time = time_text(event.time)
        earlier = first_told.setdefault(rendered, event.number)
        fold_text = ""
        if event.number in folds:
            fold, fold_end, fold_text = folds[event.number]
        cards.append(
            Card(
                event=event,
                lane=names.index(event.actor) if event.actor in names else 0,
                style=_OUTCOMES.get(event.outcome, "bad" if event.unevaluated else ""),
                time="" if time == last and not is_noise else time,
                step=step,
                wait=wait,
                cause=None if cause is None else shown[cause],
                message=rendered,
                same_as=earlier if earlier != event.number and len(rendered) > _LONG else None,
                errors=tuple(errors_of(event)),
                is_noise=is_noise,
                fold=fold if event.number <= fold_end else None,
                folds=fold_text,
            )
        )
        if not is_noise:
            before, last = event.time, time
    step, wait = _wait(simulation.seconds - before)
    return Lanes(names, tuple(cards), len(events) - len(shown), step, wait)


def _folds(shown: Sequence[TimelineEvent]) -> Mapping[int, tuple[int, int, str]]:
    """Return number, last event and text of each fold, by the number of its first event."""
    folds = {}
    for number, repeat in enumerate(repeats(shown)):
        first, last = shown[repeat.first + repeat.length], shown[repeat.end - 1]
        start = shown[repeat.first : repeat.first + repeat.length]
        model = f"#{start[0].number}" + (f" to #{start[-1].number}" if repeat.length > 1 else "")
        again = counted(repeat.rounds - 1, "time")
        numbers = f"(#{first.number} to #{last.number})"
        titles = [*dict.fromkeys(event_title(event) for event in shown[repeat.first : repeat.end])]
        names = titles[repeat.length :] or titles
        others = ", ".join(names[:_MOST_NAMED])
        if len(names) > _MOST_NAMED:
            others += f" and {len(names) - _MOST_NAMED} more"
        text = f"{model} again, {again} more until {time_text(last.time)} {numbers}: {others}"
        folds[first.number] = number, last.number, text
    return folds


def difference(event: TimelineEvent) -> list[Marked]:
    """Return the changed lines of an object, with marks."""
    before, after = _lasting(event.before), _lasting(event.after)
    if before == after:
        return []
    if before is None or after is None:
        mark = "+" if before is None else "-"
        return [(mark, line) for line in yaml_lines(after if before is None else before)]
    return list(hunks(marked_yaml(before, after)))


def _wait(seconds: float) -> tuple[int, str]:
    """Return a wait in powers of ten, and as text if it is a second or longer."""
    step = wait_step(seconds)
    return step, f"{time_text(seconds)} later" if step >= 4 else ""


def _lasting(obj: object) -> KubernetesObject | None:
    if not isinstance(obj, dict):
        return None
    passing = {"resourceVersion", "managedFields", "generation"}
    meta = {name: value for name, value in metadata(obj).items() if name not in passing}
    return {**obj, "metadata": meta}


LANE: Final = 22
"""Height of a lane in pixels."""
_WEIGHTS: Final = ("", "warn", "bad")
_GRAIN: Final = 0.3
"""Events of a lane within this distance, in percent of the axis, are one dot."""


class Dot(NamedTuple):
    """The events of a lane at one position of the axis; the most important one is shown."""

    at: float
    level: float
    card: Card
    events: int


class Arrow(NamedTuple):
    """A cause and its effect."""

    start: Dot
    end: Dot


class Chart(NamedTuple):
    """The contents of the chart, in percent of its width and in pixels of its height."""

    height: float
    dots: tuple[Dot, ...]
    """The most severe ones are last, in front of the others."""
    arrows: tuple[Arrow, ...]
    moments: tuple[tuple[Label, str], ...]


def chart_of(lanes: Lanes, seconds: float) -> Chart:
    """Return the chart of the shown events; `seconds` is the duration of the run."""
    cards = [card for card in lanes.cards if not card.is_noise]
    times = [card.event.time for card in cards]
    times.append(max([seconds, *times]))
    at = places(times)
    dots: dict[tuple[int, int], Dot] = {}
    spots: dict[int, tuple[int, int]] = {}
    for card, place in zip(cards, at, strict=False):
        spot = card.lane, round(place / _GRAIN)
        dot = Dot(place, (card.lane + 0.5) * LANE, card, 1)
        known = dots.get(spot)
        if known:
            heavier = dot if _weight(dot) > _weight(known) else known
            dot = known._replace(card=heavier.card, events=known.events + 1)
        dots[spot] = dot
        spots[card.event.number] = spot

    pairs = ((card.cause, card.event) for card in cards if card.cause)
    arrows = dict.fromkeys((spots[cause.number], spots[event.number]) for cause, event in pairs)
    return Chart(
        height=len(lanes.names) * LANE,
        dots=tuple(sorted(dots.values(), key=_weight)),
        arrows=tuple(Arrow(dots[a], dots[b]) for a, b in arrows if a != b),
        moments=tuple((label, time_text(times[label.number])) for label in labels(times, at)),
    )


def _weight(dot: Dot) -> int:
    return _WEIGHTS.index(dot.card.style)


class PairDifference(StrEnum):
    """How the events of a pair differ."""

    ALIKE = "alike"
    DIFFERS = "differs"
    ONLY_FIRST = "only in A"
    ONLY_SECOND = "only in B"


class AlignedEvents(NamedTuple):
    """The event of the same step in both runs, or an event that only one of them has."""

    first: TimelineEvent | None
    second: TimelineEvent | None

    @property
    def difference(self) -> PairDifference:
        """How the events differ; times and numbers of causes are ignored."""
        if self.second is None:
            return PairDifference.ONLY_FIRST
        if self.first is None:
            return PairDifference.ONLY_SECOND
        outcomes = [
            (event.outcome, event.full_message, event.policies, event.unevaluated)
            for event in (self.first, self.second)
        ]
        same = outcomes[0] == outcomes[1] and _change(self.first) == _change(self.second)
        return PairDifference.ALIKE if same else PairDifference.DIFFERS


def pairs_of(simulation: Simulation, other: Simulation, *, every: bool) -> Iterator[AlignedEvents]:
    """Yield the events of two runs, in an order that fits both."""
    first = list(shown_events(simulation, every=every))
    second = list(shown_events(other, every=every))
    marks = [_step(event) for event in first], [_step(event) for event in second]
    for tag, start, end, from_, to in SequenceMatcher(None, *marks, autojunk=False).get_opcodes():
        if tag == "equal":
            yield from map(AlignedEvents, first[start:end], second[from_:to])
        else:
            yield from (AlignedEvents(event, None) for event in first[start:end])
            yield from (AlignedEvents(None, event) for event in second[from_:to])


def _step(event: TimelineEvent) -> Hashable:
    """Return what identifies a step in two runs; generated names are ignored."""
    key = event.object
    prefixes = (text_field(metadata(obj), "generateName") for obj in (event.after, event.before))
    prefix = next(filter(None, prefixes), "")
    name = "*" if key.kind == "UpdateRequest" else f"{prefix}*" if prefix else key.name
    return (event.actor, event.action, key.kind, key.namespace, name)


def _change(event: TimelineEvent) -> list[Marked]:
    """Return the lines of an object that an event changed, without fields set by the server."""
    lasting_only = event._replace(
        before=without_server_fields(event.before), after=without_server_fields(event.after)
    )
    return [(mark, line) for mark, line in difference(lasting_only) if mark in "+-"]
