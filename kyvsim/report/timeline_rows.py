"""What all views of a simulation share: events, endings, and how two endings differ."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from kyvsim.kubernetes.objects import (
    Json,
    ObjectKey,
    metadata,
    object_key,
    text_field,
    without_server_fields,
)
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.result import Fact, RunEnding, RunVerdict
from kyvsim.model.simulation import Hazard, HazardLevel, Interleavings, Simulation, TimelineEvent
from kyvsim.report.ending import error_fact, informing, left_out_fact, warning_fact, weighing
from kyvsim.report.style import counted

# What of the background's work is worth telling: attempts that fail, or do nothing.


_WORK = "UpdateRequest"
_FAILED = frozenset({"denied", "failed"})


class UpdateRequestEvents(NamedTuple):
    """The events about UpdateRequests and their attempts, as views tell them."""

    shown: frozenset[int]
    hidden: frozenset[int]
    """Failed writes that are reported once already."""
    shorter: Mapping[int, TimelineEvent]
    """Events that say less, since others have said it, by number."""


def update_request_events(simulation: Simulation) -> UpdateRequestEvents:
    """Return which events of UpdateRequests to show.

    Of attempts that fail the first and the last one are enough, and of their writes the first.
    """
    attempts: dict[object, list[TimelineEvent]] = {}
    writes: dict[int, list[TimelineEvent]] = {}
    for event in simulation.events:
        if event.object.kind == _WORK and event.action == "attempt":
            attempts.setdefault(event.object, []).append(event)
        elif event.object.kind != _WORK and event.cause is not None:
            writes.setdefault(event.cause, []).append(event)
    shown: set[int] = {one.number for one in simulation.events if one.outcome == "skipped"}
    hidden: set[int] = set()
    shorter: dict[int, TimelineEvent] = {}
    for some in attempts.values():
        if some[-1].outcome == "done" and not some[-1].failure_reasons:
            continue
        rendered = _shown_attempts(some, writes, shorter)
        shown |= rendered
        failed = (one for attempt in some for one in writes.get(attempt.number, ()))
        hidden |= {one.number for one in failed if one.outcome in _FAILED} - rendered
    return UpdateRequestEvents(frozenset(shown), frozenset(hidden), shorter)


def _shown_attempts(
    attempts: Sequence[TimelineEvent],
    writes: Mapping[int, Sequence[TimelineEvent]],
    shorter: dict[int, TimelineEvent],
) -> set[int]:
    """Return the events to report of one UpdateRequest, and note the shorter form of others."""
    first, last = attempts[0], attempts[-1]
    shown = {first.number, last.number, *(one.cause for one in attempts if one.cause is not None)}
    failed = [one for one in writes.get(first.number, ()) if one.outcome in _FAILED]
    if failed:
        shown.add(failed[0].number)
        shorter[first.number] = first._replace(failure_reasons=())
    if last is not first and last.failure_reasons == first.failure_reasons:
        message = f"{last.message}: fails again"
        shorter[last.number] = last._replace(message=message, failure_reasons=())
    return shown


# What views of a simulation share: which events they show, and the words for them.


_BOOKKEEPING = frozenset(
    {
        "ClusterEphemeralReport",
        "ClusterPolicyReport",
        "ControllerRevision",
        "Endpoints",
        "EndpointSlice",
        "EphemeralReport",
        "Event",
        "Lease",
        "PolicyReport",
        "UpdateRequest",
    }
)
_POLICIES = frozenset({"ClusterPolicy", "Policy"})
_QUIET_ACTORS = frozenset(
    {
        "cluster",
        "clusterrole-aggregation-controller",
        "reports",
        "root-ca-cert-publisher",
        "service-account-controller",
        "setup",
    }
)
_MOST_OBJECTS = 3
_OF_EVERY_NAMESPACE = frozenset({("ConfigMap", "kube-root-ca.crt"), ("ServiceAccount", "default")})


class TimelineOptions(NamedTuple):
    """What a view of a simulation shows, where there is a choice."""

    colours: bool = False
    every: bool = False
    """Show bookkeeping too."""
    width: int = 100
    """Columns that lines are wrapped to."""


def shown_events(simulation: Simulation, *, every: bool) -> Iterator[TimelineEvent]:
    """Yield the events that people want to see; a policy's becoming ready is one of them."""
    if every:
        yield from simulation.events
        return
    work = update_request_events(simulation)
    for event in simulation.events:
        ready = _as_readiness(event)
        if ready is not None:
            yield ready
        elif event.number in work.shown:
            yield work.shorter.get(event.number, event)
        elif not _is_noise(event) and event.number not in work.hidden:
            # An event without the warning that every policy of these kinds is answered with.
            common = event.object.kind in _POLICIES and event.message.startswith(
                f"{event.object.kind} (kyverno.io) is deprecated"
            )
            without_common_warning = (
                event._replace(message="") if common and event.outcome == "done" else event
            )
            yield without_common_warning


def cause_of(event: TimelineEvent, shown: set[int], simulation: Simulation) -> int | None:
    """Return the number of the nearest event that led to this one and is shown, or None."""
    number = event.cause
    while number is not None and number not in shown:
        number = simulation.events[number].cause
    return number


def title_of(key: ObjectKey) -> str:
    """Return what views call an object: `Pod shop/orders`."""
    place = "/".join(filter(None, (key.namespace, key.name or "(no name yet)")))
    return f"{key.kind} {place}"


def event_title(event: TimelineEvent) -> str:
    """Return what views call the object of an event; a list is of all objects of a kind."""
    if event.action != "list" or event.object.name:
        return title_of(event.object)
    return " in ".join(filter(None, (event.object.kind, event.object.namespace)))


def errors_of(event: TimelineEvent) -> Iterator[str]:
    """Yield the rules that could not be evaluated, with the reason where no denial reports it."""
    denies = event.policies if event.outcome == "denied" else ()
    shown = (
        one.rule if one.rule in denies else f"{one.rule}: {one.message}"
        for one in event.unevaluated
    )
    yield from dict.fromkeys(shown)


def hazard_subject(hazard: Hazard) -> list[str]:
    """Return the rules that a hazard is about, and its first objects."""
    titles = [title_of(one) for one in hazard.objects[:_MOST_OBJECTS]]
    further = len(hazard.objects) - _MOST_OBJECTS
    return [*hazard.policies, *titles, *([f"and {further} more"] if further > 0 else [])]


def time_text(seconds: float) -> str:
    """Return a moment: `0.105s`, `1m05.000s`, `2h00m05s`."""
    thousandths = round(seconds * 1000)
    minutes, rest = divmod(thousandths, 60_000)
    if not minutes:
        return f"{rest / 1000:.3f}s"
    hours, minutes = divmod(minutes, 60)
    if not hours:
        return f"{minutes}m{rest / 1000:06.3f}s"
    return f"{hours}h{minutes:02d}m{rest // 1000:02d}s"


def summary_text(simulation: Simulation) -> str:
    """Return the one line that counts."""
    return ", ".join(summary_parts(simulation))


def summary_parts(simulation: Simulation) -> list[str]:
    """Return what is counted: events, time, hazards, expectations."""
    counts = summary_counts(simulation)
    parts = [counted(counts["events"], "event"), f"{time_text(simulation.seconds)} of virtual time"]
    levels = [f"{counts[f'{one}s']} {one}" for one in HazardLevel if counts[f"{one}s"]]
    listed = f" ({', '.join(levels)})" if levels else ""
    parts.append(f"{counted(counts['hazards'], 'hazard')}{listed}")
    if simulation.cut:
        parts.append(f"aborted at {simulation.cut.reason}")
    if simulation.expectations:
        parts.append(
            f"{counts['met']} of {counted(len(simulation.expectations), 'expectation')} met"
        )
    return parts


def summary_counts(simulation: Simulation) -> dict[str, int]:
    """Return how many events, denials, hazards by level and expectations there are."""
    levels = [one.level for one in simulation.hazards]
    met = sum(one.met for one in simulation.expectations)
    return {
        "events": len(simulation.events),
        "objects": len(simulation.objects),
        "denied": sum(one.outcome == "denied" for one in simulation.events),
        "hazards": len(levels),
        **{f"{one}s": levels.count(one) for one in HazardLevel},
        "expectations": len(simulation.expectations),
        "met": met,
        "unmet": len(simulation.expectations) - met,
    }


def _is_noise(event: TimelineEvent) -> bool:
    key = event.object
    if event.unevaluated:
        return False
    if event.actor in _QUIET_ACTORS or (key.kind in _BOOKKEEPING and not _is_meant(event)):
        return True
    if (key.kind, key.name) in _OF_EVERY_NAMESPACE and event.outcome == "done":
        return True
    quiet = event.action.endswith((" status", " binding"))
    return quiet or event.outcome == "unchanged"


def _is_meant(event: TimelineEvent) -> bool:
    """Return whether a user or a rule wants what is bookkeeping elsewhere."""
    return event.actor == "user" or event.action in {"generate", "synchronize"}


def _as_readiness(event: TimelineEvent) -> TimelineEvent | None:
    """Return a change of a policy's status as its becoming ready, None for other events."""
    if event.object.kind not in _POLICIES or event.action != "update status":
        return None
    now, before = _is_ready(event.after), _is_ready(event.before)
    if now == before:
        return None
    return event._replace(action="ready" if now else "not ready", message="")


def _is_ready(obj: Json) -> bool | None:
    status = obj.get("status") if obj.__class__ is dict else None
    conditions = status.get("conditions") if status.__class__ is dict else None
    found = [one for one in conditions or () if one.get("type") == "Ready"]
    return found[0].get("status") == "True" if found else None


# What one end of a scenario has differently than another.

_MOST_FIELDS = 4
_FOLLOWING = frozenset({"ClusterPolicyReport", "PolicyReport"})
"""Kinds that only report about others."""


class EndDifference(NamedTuple):
    """One thing that differs, in a word and what it concerns."""

    word: str
    """`missing`, `further`, `differs`, `not met`, `met`, `hazard` or `no hazard`."""
    text: str


def differences(usual: Simulation, other: Simulation) -> Iterator[EndDifference]:
    """Yield what differs at the end of `other`: objects, expectations, hazards."""
    yield from _of_objects(usual, other)
    for expected, found in zip(usual.expectations, other.expectations, strict=False):
        if expected.text == found.text and expected.met != found.met:
            yield EndDifference("met" if found.met else "not met", found.text)
    before = dict.fromkeys(one.code for one in usual.hazards)
    after = dict.fromkeys(one.code for one in other.hazards)
    for one in other.hazards:
        if one.code not in before:
            yield EndDifference("hazard", f"{one.code}: {one.message}")
    for code in before:
        if code not in after:
            yield EndDifference("no hazard", code)


def _of_objects(usual: Simulation, other: Simulation) -> Iterator[EndDifference]:
    before, after = _by_key(usual), _by_key(other)
    for key in before:
        if key not in after:
            yield EndDifference("missing", title_of(key))
    for key in after:
        if key not in before:
            yield EndDifference("further", title_of(key))
    for key, old in before.items():
        fields = [*_fields(old, after[key], "")] if key in after else []
        if fields:
            more = f" and {len(fields) - _MOST_FIELDS} more" if len(fields) > _MOST_FIELDS else ""
            yield EndDifference(
                "differs", f"{title_of(key)}: {'; '.join(fields[:_MOST_FIELDS])}{more}"
            )


def _by_key(simulation: Simulation) -> dict[ObjectKey, Json]:
    """Return the objects without what passes, by a key that leaves chance out of names."""
    shown = (one for one in simulation.objects if object_key(one).kind not in _FOLLOWING)
    return {object_key(obj): without_server_fields(obj) for obj in map(_without_chance, shown)}


def _without_chance(obj: Json) -> Json:
    meta = metadata(obj)
    base = text_field(meta, "generateName")
    return {**obj, "metadata": {**meta, "name": f"{base}*"}} if base else obj


def _fields(before: Json, after: Json, path: str) -> Iterator[str]:
    """Yield what was and is at each place that differs."""
    if before == after:
        return
    if before.__class__ is dict and after.__class__ is dict:
        for name in dict.fromkeys((*before, *after)):
            below = f"{path}.{name}" if path else name
            yield from _fields(before.get(name), after.get(name), below)
        return
    if before.__class__ is list and after.__class__ is list and len(before) == len(after):
        for index, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from _fields(old, new, f"{path}[{index}]")
        return
    yield f"{path} {_short(after)}, not {_short(before)}"


def _short(value: Json) -> str:
    if value is None:
        return "absent"
    if value.__class__ in {dict, list}:
        return "1 entry" if len(value) == 1 else f"{len(value)} entries"
    # As YAML writes it: `true`, and a text without quotes.
    return f"`{value if isinstance(value, str) else json.dumps(value)}`"


def orders_text(found: Interleavings) -> str:
    """Return how many orders were tried, and in how many ways they end."""
    extent = f"all with up to {found.most_changes} reorderings" if found.complete else "more exist"
    ways = counted(len(found.endings), "ending")
    return f"{counted(found.runs, 'interleaving')} tried ({extent}): {ways}"


# How a simulation ended.

NO_LEVEL = "none"
"""The least level of a hazard that counts where none does."""
_LEVELS = tuple(one.value for one in HazardLevel)


class SimulationTerms(NamedTuple):
    """What was read beside the scenario, and what counts as a failure."""

    diagnostics: tuple[Diagnostic, ...] = ()
    left_out: int = 0
    least: str = HazardLevel.ERROR.value
    """The least level of a hazard that fails the run, or `none`."""


def simulation_ending(simulation: Simulation | None, terms: SimulationTerms) -> RunEnding:
    """Return how it ended; None for a simulation that did not begin."""
    facts = (
        error_fact(terms.diagnostics),
        *(_facts(simulation, terms.least) if simulation is not None else (_NOT_BEGUN,)),
        left_out_fact(terms.left_out),
        warning_fact(terms.diagnostics),
    )
    return RunEnding(facts)


_NOT_BEGUN = Fact("notBegun", 1, "nothing was simulated", RunVerdict.INCOMPLETE)


def runs_of(simulation: Simulation) -> list[Simulation]:
    """Return the run, and those in other orders of steps that end otherwise."""
    others = simulation.interleavings.endings[1:] if simulation.interleavings else ()
    return [simulation, *(ending.simulation for ending in others)]


def _facts(simulation: Simulation, least: str) -> Iterator[Fact]:
    runs = runs_of(simulation)
    cuts = [run.cut for run in runs if run.cut]
    reached = f"aborted at {cuts[0].reason}" if cuts else ""
    yield weighing("cut", len(cuts), reached, RunVerdict.INCOMPLETE)
    yield from _expectations(runs)
    counting = _LEVELS[: _LEVELS.index(least) + 1] if least != NO_LEVEL else ()
    counts = sum(one.level in counting for one in simulation.hazards)
    above = f"of level {least} or above" if least != _LEVELS[0] else f"of level {least}"
    yield weighing("hazards", counts, f"{counted(counts, 'hazard')} {above}")
    if not counts and not cuts and not any(run.is_checked for run in runs):
        skipped = max(run.skipped for run in runs)
        text = (
            f"{skipped} of {counted(skipped, 'result')} skipped" if skipped else "no rule matched"
        )
        yield Fact("nothingChecked", 1, text, RunVerdict.NOTHING)
    others = [one for one in simulation.hazards if one.level not in counting]
    yield informing("otherHazards", len(others), _others_text(others, counts))
    yield Fact("events", len(simulation.events), counted(len(simulation.events), "event"))


def _others_text(others: Sequence[Hazard], counts: int) -> str:
    """Return how many hazards do not count; where those of every level do not, of which level."""
    if counts:
        return counted(len(others), "further hazard")
    levels = [(level, sum(one.level == level for one in others)) for level in _LEVELS]
    if not any(number for level, number in levels if level == HazardLevel.ERROR.value):
        return counted(len(others), "hazard") + " below --fail-on"
    shown = ", ".join(f"{number} {level}" for level, number in levels if number)
    return f"{counted(len(others), 'hazard')} not counted ({shown})"


def _expectations(runs: list[Simulation]) -> Iterator[Fact]:
    """Yield what came of expectations: in the usual order, or else in another one."""
    usual = runs[0].expectations
    unmet = sum(not one.met for one in usual)
    expected = counted(len(usual), "expectation")
    yield weighing("unmet", unmet, f"{unmet} of {expected} not met")
    elsewhere = sum(any(not one.met for one in run.expectations) for run in runs[1:])
    others = counted(elsewhere, "other interleaving")
    yield weighing("unmetElsewhere", elsewhere, f"expectations not met in {others}")
    if usual and not unmet:
        yield Fact("met", len(usual), f"{expected} met")
