"""Functions shared by all views of a simulation: shown events, endings, and their differences."""

import json
from collections.abc import Iterator
from typing import Final, NamedTuple

from kyvsim.kubernetes.objects import (
    KubernetesObject,
    ObjectKey,
    metadata,
    object_key,
    text_field,
    without_server_fields,
)
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.result import Fact, RunEnding, RunVerdict
from kyvsim.model.simulation import Hazard, HazardLevel, Interleavings, Simulation, TimelineEvent
from kyvsim.report.run import error_fact, info_fact, left_out_fact, verdict_fact, warning_fact
from kyvsim.report.style import counted

_WORK = "UpdateRequest"
_FAILED = frozenset({"denied", "failed"})


def _update_request_events(
    simulation: Simulation,
) -> tuple[set[int], set[int], dict[int, TimelineEvent]]:
    """Return the events of UpdateRequests to show: first and last failure, first write.

    Also the failed writes that are already reported, and by number the events with a shortened
    text, since other events contain the rest.
    """
    attempts: dict[object, list[TimelineEvent]] = {}
    writes: dict[int, list[TimelineEvent]] = {}
    for event in simulation.events:
        if event.object.kind == _WORK and event.action == "attempt":
            attempts.setdefault(event.object, []).append(event)
        elif event.object.kind != _WORK and event.cause is not None:
            writes.setdefault(event.cause, []).append(event)
    shown: set[int] = {event.number for event in simulation.events if event.outcome == "skipped"}
    hidden: set[int] = set()
    shorter: dict[int, TimelineEvent] = {}
    for of_request in attempts.values():
        first, last = of_request[0], of_request[-1]
        if last.outcome == "done" and not last.failure_reasons:
            continue
        failed = {
            attempt.number: [
                write.number for write in writes.get(attempt.number, ()) if write.outcome in _FAILED
            ]
            for attempt in of_request
        }
        own = {first.number, last.number}
        own |= {attempt.cause for attempt in of_request if attempt.cause is not None}
        if failed[first.number]:
            own.add(failed[first.number][0])
            shorter[first.number] = first._replace(failure_reasons=())
        if last is not first and last.failure_reasons == first.failure_reasons:
            message = f"{last.message}: fails again"
            shorter[last.number] = last._replace(message=message, failure_reasons=())
        shown |= own
        hidden |= {number for numbers in failed.values() for number in numbers} - own
    return shown, hidden, shorter


_BOOKKEEPING = frozenset(
    {
        *("ClusterEphemeralReport", "ClusterPolicyReport", "EphemeralReport", "PolicyReport"),
        *("ControllerRevision", "Endpoints", "EndpointSlice", "Event", "Lease", "UpdateRequest"),
    }
)
_QUIET_ACTORS = frozenset(
    {
        *("cluster", "reports", "setup", "clusterrole-aggregation-controller"),
        *("root-ca-cert-publisher", "service-account-controller"),
    }
)
_MOST_OBJECTS = 3
_OF_EVERY_NAMESPACE = frozenset({("ConfigMap", "kube-root-ca.crt"), ("ServiceAccount", "default")})


NOT_BEGUN: Final = Simulation("Nothing was simulated", (), (), release="")
"""What formats show if an input could not be used, so that no simulation began."""


class SimulationTerms(NamedTuple):
    """Diagnostics about inputs, and the hazards that count as failures."""

    diagnostics: tuple[Diagnostic, ...] = ()
    left_out: int = 0
    least: str = HazardLevel.ERROR.value
    """The lowest level of a hazard that fails the run, or `none`."""


class TimelineOptions(NamedTuple):
    """Display options of a simulation."""

    colours: bool = False
    every: bool = False
    """Include bookkeeping."""
    width: int = 100
    """Columns to which lines are wrapped."""
    terms: SimulationTerms = SimulationTerms()


def shown_events(simulation: Simulation, *, every: bool) -> Iterator[TimelineEvent]:
    """Yield the events relevant for users; one of them is a policy becoming ready."""
    if every:
        yield from simulation.events
        return
    shown, hidden, shorter = _update_request_events(simulation)
    for event in simulation.events:
        is_policy = event.object.kind in {"ClusterPolicy", "Policy"}
        ready = before = None
        if is_policy and event.action == "update status":
            ready, before = _is_ready(event.after), _is_ready(event.before)
        if ready != before:
            yield event._replace(action="ready" if ready else "not ready", message="")
        elif event.number in shown:
            yield shorter.get(event.number, event)
        elif not _is_noise(event) and event.number not in hidden:
            yield event


def cause_of(event: TimelineEvent, shown: set[int], simulation: Simulation) -> int | None:
    """Return the number of the nearest shown event that caused this one, or None."""
    number = event.cause
    while number is not None and number not in shown:
        number = simulation.events[number].cause
    return number


def title_of(key: ObjectKey) -> str:
    """Return the title of an object: `Pod shop/orders`."""
    place = "/".join(filter(None, (key.namespace, key.name or "(no name yet)")))
    return f"{key.kind} {place}"


def event_title(event: TimelineEvent) -> str:
    """Return the title of an event's object; a list has the kind only."""
    if event.action != "list" or event.object.name:
        return title_of(event.object)
    return " in ".join(filter(None, (event.object.kind, event.object.namespace)))


def errors_of(event: TimelineEvent) -> Iterator[str]:
    """Yield the rules with evaluation errors, with the reason unless a denial contains it."""
    denies = event.policies if event.outcome == "denied" else ()
    shown = (
        error.rule
        if error.rule in denies and not error.in_message
        else f"{error.rule}: {error.message}"
        for error in event.unevaluated
    )
    yield from dict.fromkeys(shown)


def hazard_subject(hazard: Hazard) -> list[str]:
    """Return the rules that a hazard concerns, and its first objects."""
    titles = [title_of(key) for key in hazard.objects[:_MOST_OBJECTS]]
    further = len(hazard.objects) - _MOST_OBJECTS
    return [*hazard.policies, *titles, *([f"and {further} more"] if further > 0 else [])]


def time_text(seconds: float) -> str:
    """Return a time as text: `0.105s`, `1m05.000s`, `2h00m05s`."""
    thousandths = round(seconds * 1000)
    minutes, rest = divmod(thousandths, 60_000)
    if not minutes:
        return f"{rest / 1000:.3f}s"
    hours, minutes = divmod(minutes, 60)
    if not hours:
        return f"{minutes}m{rest / 1000:06.3f}s"
    return f"{hours}h{minutes:02d}m{rest // 1000:02d}s"


def summary_parts(simulation: Simulation) -> list[str]:
    """Return the parts of the summary: events, time, hazards, expectations."""
    counts = summary_counts(simulation)
    parts = [counted(counts["events"], "event"), f"{time_text(simulation.seconds)} of virtual time"]
    levels = [f"{counts[f'{level}s']} {level}" for level in HazardLevel if counts[f"{level}s"]]
    listed = f" ({', '.join(levels)})" if levels else ""
    parts.append(f"{counted(counts['hazards'], 'hazard')}{listed}")
    if simulation.cut:
        parts.append(f"aborted at {simulation.cut.reason}")
    if simulation.expectations:
        expected = counted(len(simulation.expectations), "expectation")
        parts.append(f"{counts['met']} of {expected} met")
    return parts


def summary_counts(simulation: Simulation) -> dict[str, int]:
    """Return the numbers of events, denials, hazards by level and expectations."""
    levels = [hazard.level for hazard in simulation.hazards]
    met = sum(expectation.met for expectation in simulation.expectations)
    return {
        "events": len(simulation.events),
        "objects": len(simulation.objects),
        "denied": sum(event.outcome == "denied" for event in simulation.events),
        "hazards": len(levels),
        **{f"{level}s": levels.count(level) for level in HazardLevel},
        "expectations": len(simulation.expectations),
        "met": met,
        "unmet": len(simulation.expectations) - met,
    }


def _is_noise(event: TimelineEvent) -> bool:
    key = event.object
    if event.unevaluated:
        return False
    # A user or a rule may create objects that are bookkeeping otherwise.
    is_meant = event.actor == "user" or event.action in {"generate", "synchronize"}
    if event.actor in _QUIET_ACTORS or (key.kind in _BOOKKEEPING and not is_meant):
        return True
    if (key.kind, key.name) in _OF_EVERY_NAMESPACE and event.outcome == "done":
        return True
    return event.action.endswith((" status", " binding")) or event.outcome == "unchanged"


def _is_ready(obj: object) -> bool | None:
    status = obj.get("status") if isinstance(obj, dict) else None
    conditions = status.get("conditions") if isinstance(status, dict) else None
    ready = [condition for condition in conditions or () if condition.get("type") == "Ready"]
    return ready[0].get("status") == "True" if ready else None


_MOST_FIELDS = 4


class EndDifference(NamedTuple):
    """One difference: its kind, and what it concerns."""

    word: str
    """`missing`, `further`, `differs`, `not met`, `met`, `hazard` or `no hazard`."""
    text: str


def differences(usual: Simulation, other: Simulation) -> Iterator[EndDifference]:
    """Yield the differences at the end of `other`: objects, expectations, hazards."""
    old_objects, new_objects = _by_key(usual), _by_key(other)
    missing = (key for key in old_objects if key not in new_objects)
    further = (key for key in new_objects if key not in old_objects)
    yield from (EndDifference("missing", title_of(key)) for key in missing)
    yield from (EndDifference("further", title_of(key)) for key in further)
    for key, old in old_objects.items():
        fields = [*_fields(old, new_objects[key], "")] if key in new_objects else []
        if fields:
            more = f" and {len(fields) - _MOST_FIELDS} more" if len(fields) > _MOST_FIELDS else ""
            text = f"{title_of(key)}: {'; '.join(fields[:_MOST_FIELDS])}{more}"
            yield EndDifference("differs", text)
    yield from _judged_differences(usual, other)


def _judged_differences(usual: Simulation, other: Simulation) -> Iterator[EndDifference]:
    for expected, actual in zip(usual.expectations, other.expectations, strict=False):
        if expected.text == actual.text and expected.met != actual.met:
            yield EndDifference("met" if actual.met else "not met", actual.text)
    before = dict.fromkeys(hazard.code for hazard in usual.hazards)
    after = {hazard.code for hazard in other.hazards}
    for hazard in other.hazards:
        if hazard.code not in before:
            yield EndDifference("hazard", f"{hazard.code}: {hazard.message}")
    yield from (EndDifference("no hazard", code) for code in before if code not in after)


def _by_key(simulation: Simulation) -> dict[ObjectKey, KubernetesObject]:
    """Return the objects without server fields; keys have no generated names."""
    objects: dict[ObjectKey, KubernetesObject] = {}
    for obj in simulation.objects:
        key = object_key(obj)
        base = text_field(metadata(obj), "generateName")
        if key.kind not in {"ClusterPolicyReport", "PolicyReport"}:  # reports concern other objects
            named = {**obj, "metadata": {**metadata(obj), "name": f"{base}*"}} if base else obj
            objects[object_key(named)] = without_server_fields(named)
    return objects


def _fields(before: object, after: object, path: str) -> Iterator[str]:
    if before == after:
        return
    if isinstance(before, dict) and isinstance(after, dict):
        for name in dict.fromkeys((*before, *after)):
            below = f"{path}.{name}" if path else name
            yield from _fields(before.get(name), after.get(name), below)
        return
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from _fields(old, new, f"{path}[{index}]")
        return
    yield f"{path} {_short(after)}, not {_short(before)}"


def _short(value: object) -> str:
    if value is None:
        return "absent"
    if isinstance(value, dict | list):
        return "1 entry" if len(value) == 1 else f"{len(value)} entries"
    # As in YAML: `true`, and strings without quotes.
    return f"`{value if isinstance(value, str) else json.dumps(value)}`"


def interleavings_text(interleavings: Interleavings) -> str:
    """Return the number of tried interleavings and of their endings."""
    extent = "more exist"
    if interleavings.complete:
        extent = f"all with up to {interleavings.most_changes} reorderings"
    endings = counted(len(interleavings.endings), "ending")
    return f"{counted(interleavings.runs, 'interleaving')} tried ({extent}): {endings}"


NO_LEVEL = "none"
"""The value of --fail-on for which hazards of no level count."""
_LEVELS = tuple(level.value for level in HazardLevel)


def failing_levels(least: str) -> tuple[str, ...]:
    """Return the levels of hazards that fail a run, given the lowest one, or `none`."""
    return _LEVELS[: _LEVELS.index(least) + 1] if least != NO_LEVEL else ()


def simulation_ending(simulation: Simulation, terms: SimulationTerms) -> RunEnding:
    """Return the result of a simulation."""
    is_begun = simulation is not NOT_BEGUN
    not_begun = Fact("notBegun", 1, "nothing was simulated", RunVerdict.INCOMPLETE)
    return RunEnding(
        (
            error_fact(terms.diagnostics),
            *(_facts(simulation, terms.least) if is_begun else (not_begun,)),
            left_out_fact(terms.left_out),
            warning_fact(terms.diagnostics),
        ),
        release=simulation.release,
    )


def _facts(simulation: Simulation, least: str) -> Iterator[Fact]:
    # The run, and the interleavings with different endings.
    others = simulation.interleavings.endings[1:] if simulation.interleavings else ()
    runs = [simulation, *(ending.simulation for ending in others)]
    cuts = [run.cut for run in runs if run.cut]
    reached = f"aborted at {cuts[0].reason}" if cuts else ""
    yield verdict_fact("cut", len(cuts), reached, RunVerdict.INCOMPLETE)

    # Expectations in the usual interleaving, and in others.
    unmet = sum(not expectation.met for expectation in simulation.expectations)
    expected = counted(len(simulation.expectations), "expectation")
    yield verdict_fact("unmet", unmet, f"{unmet} of {expected} not met")
    elsewhere = sum(not all(entry.met for entry in run.expectations) for run in runs[1:])
    text = f"expectations not met in {counted(elsewhere, 'other interleaving')}"
    yield verdict_fact("unmetElsewhere", elsewhere, text)
    if simulation.expectations and not unmet:
        yield Fact("met", len(simulation.expectations), f"{expected} met")

    counting = failing_levels(least)
    counts = sum(hazard.level in counting for hazard in simulation.hazards)
    above = f"of level {least} or above" if least != _LEVELS[0] else f"of level {least}"
    yield verdict_fact("hazards", counts, f"{counted(counts, 'hazard')} {above}")
    if not counts and not cuts and not any(run.is_checked for run in runs):
        skipped = max(run.skipped for run in runs)
        results = counted(skipped, "result")
        text = f"{skipped} of {results} skipped" if skipped else "no rule matched"
        yield Fact("nothingChecked", 1, text, RunVerdict.NOTHING)

    # Hazards of levels that do not count.
    levels = [hazard.level for hazard in simulation.hazards if hazard.level not in counting]
    if counts:
        text = counted(len(levels), "further hazard")
    elif HazardLevel.ERROR not in levels:
        text = counted(len(levels), "hazard") + " below --fail-on"
    else:
        shown = [f"{levels.count(level)} {level}" for level in HazardLevel if level in levels]
        text = f"{counted(len(levels), 'hazard')} not counted ({', '.join(shown)})"
    yield info_fact("otherHazards", len(levels), text)
    yield Fact("events", len(simulation.events), counted(len(simulation.events), "event"))
