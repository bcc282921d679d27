"""What views of a simulation share: which events they show, and the words for them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from kyvsim.kubernetes.objects import Json, ObjectKey
from kyvsim.model.simulation import Hazard, HazardLevel, Simulation, TimelineEvent
from kyvsim.report.style import counted

# What of the background's work is worth telling: attempts that fail, or do nothing.


_WORK = "UpdateRequest"
_FAILED = frozenset({"denied", "failed"})


class Work(NamedTuple):
    """The events about UpdateRequests and their attempts, as views tell them."""

    shown: frozenset[int]
    hidden: frozenset[int]
    """Failed writes that are told once already."""
    shorter: Mapping[int, TimelineEvent]
    """Events that say less, since others have said it, by number."""


def telling_work(simulation: Simulation) -> Work:
    """Return what is to be told of UpdateRequests.

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
        if some[-1].outcome == "done" and not some[-1].obstacles:
            continue
        told = _told(some, writes, shorter)
        shown |= told
        failed = (one for attempt in some for one in writes.get(attempt.number, ()))
        hidden |= {one.number for one in failed if one.outcome in _FAILED} - told
    return Work(frozenset(shown), frozenset(hidden), shorter)


def _told(
    attempts: Sequence[TimelineEvent],
    writes: Mapping[int, Sequence[TimelineEvent]],
    shorter: dict[int, TimelineEvent],
) -> set[int]:
    """Return the events to tell of one UpdateRequest, and put down those that say less."""
    first, last = attempts[0], attempts[-1]
    told = {first.number, last.number, *(one.cause for one in attempts if one.cause is not None)}
    failed = [one for one in writes.get(first.number, ()) if one.outcome in _FAILED]
    if failed:
        told.add(failed[0].number)
        shorter[first.number] = first._replace(obstacles=())
    if last is not first and last.obstacles == first.obstacles:
        message = f"{last.message}: fails alike"
        shorter[last.number] = last._replace(message=message, obstacles=())
    return told


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


class TimelineLook(NamedTuple):
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
    work = telling_work(simulation)
    for event in simulation.events:
        ready = _as_readiness(event)
        if ready is not None:
            yield ready
        elif event.number in work.shown:
            yield work.shorter.get(event.number, event)
        elif not _is_noise(event) and event.number not in work.hidden:
            yield _without_common_warning(event)


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
    """Yield the rules that could not be evaluated, with the reason where no denial tells it."""
    denies = event.policies if event.outcome == "denied" else ()
    told = (
        one.rule if one.rule in denies else f"{one.rule}: {one.message}"
        for one in event.unevaluated
    )
    yield from dict.fromkeys(told)


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
        parts.append(f"stopped at {simulation.cut.reason} before its end")
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


def _without_common_warning(event: TimelineEvent) -> TimelineEvent:
    """Return an event without the warning that every policy of these kinds is answered with."""
    common = event.object.kind in _POLICIES and event.message.startswith(
        f"{event.object.kind} (kyverno.io) is deprecated"
    )
    return event._replace(message="") if common and event.outcome == "done" else event


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
