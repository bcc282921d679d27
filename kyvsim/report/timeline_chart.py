"""A simulation at a glance: a line for each actor, a dot for each event, along the axis of time."""

from typing import Final, NamedTuple

from kyvsim.report.timeline_axis import Label, labels, places
from kyvsim.report.timeline_cards import Card, Lanes
from kyvsim.report.timeline_rows import time_text

LANE: Final = 22
"""Pixels that a lane is high."""
_WEIGHTS: Final = ("", "warn", "bad")
_GRAIN: Final = 0.3
"""Percent of the axis within which the events of a lane are one dot."""


class Dot(NamedTuple):
    """The events of a lane at a place of the axis; that which weighs most stands for all."""

    at: float
    level: float
    card: Card
    events: int


class Arrow(NamedTuple):
    """What led to what, from dot to dot."""

    start: Dot
    end: Dot


class Chart(NamedTuple):
    """Everything that is drawn, in percent of the width and in pixels of the height."""

    height: float
    dots: tuple[Dot, ...]
    """Those that weigh most come last, on top of the others."""
    arrows: tuple[Arrow, ...]
    moments: tuple[tuple[Label, str], ...]


def chart_of(lanes: Lanes, seconds: float) -> Chart:
    """Return the chart of what is shown, up to the end of a run that took so many seconds."""
    cards = [one for one in lanes.cards if not one.is_noise]
    times = [one.event.time for one in cards]
    times.append(max([seconds, *times]))
    at = places(times)
    dots: dict[tuple[int, int], Dot] = {}
    spots: dict[int, tuple[int, int]] = {}
    for card, place in zip(cards, at, strict=False):
        spot = card.lane, round(place / _GRAIN)
        dot = Dot(place, (card.lane + 0.5) * LANE, card, 1)
        known = dots.get(spot)
        dots[spot] = _together(known, dot) if known else dot
        spots[card.event.number] = spot
    moments = tuple((one, time_text(times[one.number])) for one in labels(times, at))
    arrows = dict.fromkeys(
        (spots[one.cause.number], spots[one.event.number]) for one in cards if one.cause
    )
    return Chart(
        height=len(lanes.names) * LANE,
        dots=tuple(sorted(dots.values(), key=_weight)),
        arrows=tuple(Arrow(dots[a], dots[b]) for a, b in arrows if a != b),
        moments=moments,
    )


def _weight(dot: Dot) -> int:
    return _WEIGHTS.index(dot.card.looks)


def _together(one: Dot, other: Dot) -> Dot:
    heavier = _weight(other) > _weight(one)
    return one._replace(card=other.card if heavier else one.card, events=one.events + 1)
