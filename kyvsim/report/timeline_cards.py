"""Events as cards of a page: what each of them shows, in which lane, after which wait."""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from kyvsim.kube.objects import Json, metadata
from kyvsim.model.simulation import Simulation, TimelineEvent
from kyvsim.report.diff import Marked, hunks
from kyvsim.report.object_diff import marked_yaml
from kyvsim.report.object_yaml import yaml_lines
from kyvsim.report.style import counted
from kyvsim.report.timeline_axis import LONG_WAIT, wait_step
from kyvsim.report.timeline_repeats import repeats
from kyvsim.report.timeline_rows import cause_of, errors_of, event_title, shown_events, time_text

_OUTCOMES: Mapping[str, str] = MappingProxyType(
    {"denied": "bad", "failed": "bad", "waiting": "warn", "skipped": "warn"}
)
_PASSING: Final = frozenset({"resourceVersion", "managedFields", "generation"})
_LONG: Final = 60
"""Characters from which on a text that was told before is not told again."""
_MOST_NAMED: Final = 3


class Card(NamedTuple):
    """One event as a page shows it."""

    event: TimelineEvent
    lane: int
    """The number of its lane, from 0."""
    looks: str
    """`bad`, `warn` or ""."""
    time: str
    """When it was; "" where the card above has the same time."""
    step: int
    """How long nothing happened before it, in tenfold steps."""
    wait: str
    """The same in words, where it is long."""
    cause: TimelineEvent | None
    """The nearest event that led to it and is shown."""
    told: str
    same_as: int | None
    """The number of the card that tells its long text already."""
    errors: tuple[str, ...]
    is_noise: bool
    """Whether it is bookkeeping."""
    fold: int | None = None
    """The number of the fold that it is in."""
    folds: str = ""
    """What the fold that begins with it says, "" where none does."""

    @property
    def moment(self) -> str:
        """When it was, in any case."""
        return time_text(self.event.time)

    @property
    def title(self) -> str:
        """What its object is called."""
        return event_title(self.event)

    @property
    def difference(self) -> list[Marked]:
        """How the event changed its object, as lines; none where nothing changed that matters."""
        return difference(self.event)


class Lanes(NamedTuple):
    """A simulation as cards in lanes, one lane for each actor that is shown."""

    names: tuple[str, ...]
    cards: tuple[Card, ...]
    hidden: int
    """How many of them are bookkeeping."""
    step: int
    """How long nothing happened until the end, in tenfold steps."""
    wait: str
    """The same in words, where it is long."""


def lanes_of(simulation: Simulation) -> Lanes:
    """Return all events of a simulation as cards; bookkeeping of others is in the first lane."""
    shown = {event.number: event for event in shown_events(simulation, every=False)}
    events = [shown.get(event.number, event) for event in simulation.events]
    names = tuple(dict.fromkeys(event.actor for event in shown.values()))
    names = names or tuple(dict.fromkeys(event.actor for event in events))
    folds = _folds(tuple(shown.values()))
    cards = tuple(_folded(_cards(events, shown, names, simulation), folds))
    last = max((event.time for event in shown.values()), default=0.0)
    step, wait = _wait(simulation.seconds - last)
    return Lanes(names, cards, len(events) - len(shown), step, wait)


def difference(event: TimelineEvent) -> list[Marked]:
    """Return the lines in which an object changed, with their marks."""
    before, after = _lasting(event.before), _lasting(event.after)
    if before == after:
        return []
    if before is None or after is None:
        mark = "+" if before is None else "-"
        return [(mark, line) for line in yaml_lines(after if before is None else before)]
    return list(hunks(marked_yaml(before, after)))


def _cards(
    events: Sequence[TimelineEvent],
    shown: Mapping[int, TimelineEvent],
    names: Sequence[str],
    simulation: Simulation,
) -> Iterator[Card]:
    first_told: dict[str, int] = {}
    known, before, last = set(shown), 0.0, ""
    for event in events:
        is_noise = event.number not in shown
        told = event.told.strip()
        cause = cause_of(event, known, simulation)
        step, wait = _wait(0.0 if is_noise else event.time - before)
        time = time_text(event.time)
        earlier = first_told.setdefault(told, event.number)
        yield Card(
            event=event,
            lane=names.index(event.actor) if event.actor in names else 0,
            looks=_OUTCOMES.get(event.outcome, "bad" if event.unevaluated else ""),
            time="" if time == last and not is_noise else time,
            step=step,
            wait=wait,
            cause=None if cause is None else shown[cause],
            told=told,
            same_as=earlier if earlier != event.number and len(told) > _LONG else None,
            errors=tuple(errors_of(event)),
            is_noise=is_noise,
        )
        if not is_noise:
            before, last = event.time, time


def _wait(seconds: float) -> tuple[int, str]:
    """Return how long a wait is, and the same in words where it is long."""
    step = wait_step(seconds)
    return step, f"{time_text(seconds)} later" if step >= LONG_WAIT else ""


def _folds(shown: Sequence[TimelineEvent]) -> Mapping[int, tuple[int, int, str]]:
    """Return by the number where a fold begins: that of the fold, where it ends, what it says."""
    found = {}
    for number, one in enumerate(repeats(shown)):
        first, last = shown[one.first + one.length], shown[one.end - 1]
        start = shown[one.first : one.first + one.length]
        model = f"#{start[0].number}" + (f" to #{start[-1].number}" if one.length > 1 else "")
        again = counted(one.rounds - 1, "time")
        numbers = f"(#{first.number} to #{last.number})"
        names = [*dict.fromkeys(event_title(each) for each in shown[one.first : one.end])]
        others = _named(names[one.length :] or names)
        found[first.number] = (
            number,
            last.number,
            f"{model} again, {again} more until {time_text(last.time)} {numbers}: {others}",
        )
    return found


def _named(names: Sequence[str]) -> str:
    further = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {further} more" if further > 0 else "")


def _folded(cards: Iterator[Card], folds: Mapping[int, tuple[int, int, str]]) -> Iterator[Card]:
    number, end, text = None, -1, ""
    for card in cards:
        own = card.event.number
        if own in folds:
            number, end, text = folds[own]
            yield card._replace(fold=number, folds=text)
        else:
            yield card._replace(fold=number) if own <= end else card


def _lasting(obj: Json) -> Json:
    if obj.__class__ is not dict:
        return None
    meta = {name: value for name, value in metadata(obj).items() if name not in _PASSING}
    return {**obj, "metadata": meta}
