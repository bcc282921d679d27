"""Run a scenario: its steps and expectations, on its own simulated cluster."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple

from kyvsim.engine.compile import Model
from kyvsim.kubernetes.objects import (
    Json,
    KubernetesObject,
    ObjectKey,
    metadata,
    object_key,
    text_field,
)
from kyvsim.kubernetes.quantities import SECOND, format_duration
from kyvsim.kubernetes.wildcard import matches
from kyvsim.model.diagnostic import Diagnostic, error_in
from kyvsim.model.request import Operation, UserInfo
from kyvsim.model.result import PolicyResponse
from kyvsim.model.simulation import (
    HELM,
    OF_REQUESTS,
    Cut,
    Demand,
    Expectation,
    Expected,
    FailureCause,
    Scenario,
    ScenarioSettings,
    ScenarioStep,
    Simulation,
    Verb,
)
from kyvsim.model.source import Document, Location
from kyvsim.patch.json_patch import apply_json_patch, merge_patch
from kyvsim.patch.nodes import PatchError
from kyvsim.schema.kinds import CEL_GROUP, RULES_GROUP
from kyvsim.simulator.admission.classic import Admission, result_counts
from kyvsim.simulator.api_server import ApiError, ApiRequest, ApiResponse, ObjectStore, StoreChange
from kyvsim.simulator.api_server.errors import invalid
from kyvsim.simulator.api_server.metadata import with_metadata
from kyvsim.simulator.api_server.server import ADMIN, Admitted
from kyvsim.simulator.cluster import RESTARTS, SimulatedCluster, open_cluster
from kyvsim.simulator.context import (
    MOST_STEPS,
    NOTICE,
    WEBHOOK,
    Readers,
    ReplicaLimit,
    SimulationContext,
    SimulationSettings,
    StallDetector,
)
from kyvsim.simulator.hazards import find_hazards
from kyvsim.simulator.hazards.facts import facts_of
from kyvsim.simulator.kyverno import Kyverno
from kyvsim.simulator.policies import POLICY_KINDS, is_webhook_policy
from kyvsim.simulator.scheduler import START, Choose, earliest
from kyvsim.simulator.timeline import OF_EVERY_NAMESPACE
from kyvsim.simulator.tracer import SimulationTracer

# Compare objects with what a scenario expects.
#
# An expected mapping matches a mapping that has its fields, a list one with an item for each of
# its items, a string the same string (wildcards allowed), and null a missing field.

_NUMBERS = frozenset({int, float})
_LONGEST = 60


class FieldMismatch(NamedTuple):
    """The first difference between an object and the expected one."""

    path: str
    reason: str
    depth: int

    def __str__(self) -> str:
        return f"`{self.path}` {self.reason}"


def first_mismatch(expected: object, actual: object) -> FieldMismatch | None:
    """Return the first difference between an object and the expected one, None if it matches."""
    return _compare(expected, actual, "", [0])


def closest_mismatch(
    expected: KubernetesObject, objects: Iterable[KubernetesObject]
) -> tuple[KubernetesObject, FieldMismatch] | None:
    """Return the object that matches best and its first difference, None if there is none.

    An object with the expected name ranks higher than any other.
    """
    name = metadata(expected).get("name")
    best: tuple[tuple[bool, int], KubernetesObject, FieldMismatch] | None = None
    for obj in objects:
        failed = first_mismatch(expected, obj)
        if failed is None:
            continue
        named = name is None or matches(str(name), text_field(metadata(obj), "name"))
        rank = (named, failed.depth)
        if best is None or rank > best[0]:
            best = (rank, obj, failed)
    return (best[1], best[2]) if best and best[0][0] else None


def pattern_key(pattern: KubernetesObject) -> ObjectKey:
    """Return the key of an expected object; its fields can contain wildcards."""
    fields = [text_field(pattern, name) for name in ("apiVersion", "kind")]
    fields += [text_field(metadata(pattern), name) for name in ("namespace", "name")]
    return ObjectKey(*fields)


def _compare(expected: Json, actual: Json, path: str, fitting: list[int]) -> FieldMismatch | None:
    if expected is None:
        return None if actual is None else _wrong(path, f"is {_shown(actual)}", fitting)
    if actual is None:
        return _wrong(path, "is missing", fitting)
    if expected.__class__ is dict:
        if actual.__class__ is not dict:
            return _wrong(path, f"is {_shown(actual)}, not a mapping", fitting)
        for name, value in expected.items():
            failed = _compare(value, actual.get(name), f"{path}.{name}".lstrip("."), fitting)
            if failed is not None:
                return failed
        return None
    if expected.__class__ is list:
        return _compare_lists(expected, actual, path, fitting)
    both = {expected.__class__, actual.__class__}
    same = (len(both) == 1 or both <= _NUMBERS) and bool(expected == actual)
    if expected.__class__ is str:
        same = actual.__class__ is str and matches(expected, actual)
    if not same:
        return _wrong(path, f"is {_shown(actual)}, not {_shown(expected)}", fitting)
    fitting[0] += 1
    return None


def _compare_lists(
    expected: list[Json], actual: Json, path: str, fitting: list[int]
) -> FieldMismatch | None:
    if actual.__class__ is not list:
        return _wrong(path, f"is {_shown(actual)}, not a list", fitting)
    if not expected and actual:
        return _wrong(path, "is not empty", fitting)
    for index, value in enumerate(expected):
        if any(first_mismatch(value, one) is None for one in actual):
            fitting[0] += 1
            continue
        place = f"{path}[{index}]"
        if len(actual) == 1:
            return _compare(value, actual[0], place, fitting)
        return _wrong(place, f"matches none of {len(actual)} items", fitting)
    return None


def _wrong(path: str, reason: str, fitting: list[int]) -> FieldMismatch:
    return FieldMismatch(path or "the object", reason, fitting[0])


def _shown(value: object) -> str:
    if value.__class__ is dict or value.__class__ is list:
        return "a mapping" if value.__class__ is dict else "a list"
    if value.__class__ is bool:
        return "true" if value else "false"
    text = " ".join(str(value).split())
    return f"`{text if len(text) <= _LONGEST else text[: _LONGEST - 1] + '…'}`"


class Expectations:
    """The expectations of one run: steps open them, the end of the run closes them."""

    def __init__(self, sim: SimulationContext) -> None:
        self._sim = sim
        self._every: list[_Watched | Expectation] = []
        self._open: list[_Watched] = []
        sim.store.watch(self._observe)

    def open(self, entries: Iterable[Expected]) -> None:
        """Start to check expectations of objects."""
        for entry in entries:
            watched = _Watched(entry, self._sim)
            self._every.append(watched)
            self._open.append(watched)
            watched.check_stored()

    def settle(self, text: str, location: Location, *, met: bool, why: str) -> None:
        """Record the result of an expectation of an answer."""
        self._every.append(Expectation(text, met, self._sim.clock.elapsed, why, location))

    def miss(self, entries: Iterable[Expected], why: str) -> None:
        """Record that expectations could not be checked."""
        for entry in entries:
            self.settle(described(entry), entry.location, met=False, why=why)

    @property
    def latest(self) -> float:
        """The latest deadline of the expectations, in seconds."""
        deadlines = [one.deadline for one in self._every if isinstance(one, _Watched)]
        return max((one for one in deadlines if one is not None), default=0.0)

    def close(self, *, cut: bool = False) -> tuple[Expectation, ...]:
        """Return the results of all expectations, in the order in which they were opened.

        If the run was cut, expectations that depend on its end are not met.
        """
        every = self._every
        return tuple(one.close(cut=cut) if isinstance(one, _Watched) else one for one in every)

    def _observe(self, change: StoreChange) -> None:
        for one in self._open:
            one.observe(change)
        self._open = [one for one in self._open if one.settled is None]


class _Watched:
    """An expectation of objects."""

    def __init__(self, entry: Expected, sim: SimulationContext) -> None:
        self._entry = entry
        self._sim = sim
        self._key = pattern_key(entry.wanted)
        self.settled: Expectation | None = None
        """The final result; None while it is still open."""
        self._was_there = False
        now = sim.clock.elapsed
        self.deadline = None if entry.within is None else now + entry.within

    def check_stored(self) -> None:
        """Check the expectation against stored objects, and against those already deleted."""
        if self._entry.demand is Demand.GONE:
            every = (change.subject for change in self._sim.store.changes)
            self._was_there = bool(self._fitting(every))
        for obj in self._there():
            self._see(obj)
        self._see_absence()

    def observe(self, change: StoreChange) -> None:
        """Check the expectation against a write."""
        if self.settled is None and self._concerns(change.subject):
            self._see(self._as_requested(change.new) if change.new is not None else None)
            self._see_absence()

    def close(self, *, cut: bool) -> Expectation:
        """Return the result at the end of the run, or where it was cut."""
        if self.settled is None and cut and not self._late():
            return self._result("the run was stopped before it ended")
        return self.settled or self._at_end()

    def _result(
        self, why: str = "", *, met: bool = False, time: float | None = None
    ) -> Expectation:
        """Return a result at a time [default: now]."""
        time = self._sim.clock.elapsed if time is None else time
        return Expectation(described(self._entry), met, time, why, self._entry.location)

    def _see(self, obj: KubernetesObject | None) -> None:
        """Check the expectation against one object."""
        if self.settled is not None or obj is None or self._late():
            return
        if first_mismatch(self._entry.wanted, obj) is not None:
            return
        self._was_there = True
        if self._entry.demand is Demand.EVENTUALLY:
            self.settled = self._result(met=True)
        elif self._entry.demand is Demand.NEVER:
            self.settled = self._result(f"{_name(object_key(obj))} matches")

    def _see_absence(self) -> None:
        """Settle that an object is deleted; without a time limit only the end of the run counts."""
        limited = self._entry.demand is Demand.GONE and self.deadline is not None
        if not limited or not self._was_there or self.settled is not None or self._late():
            return
        if not self._fitting(self._sim.store.every()):
            self.settled = self._result(met=True)

    def _late(self) -> bool:
        return self.deadline is not None and self._sim.clock.elapsed > self.deadline

    def _at_end(self) -> Expectation:
        check, end = self._entry.demand, self.deadline
        if check is Demand.NEVER:
            return self._result(met=True, time=end)
        fitting = self._fitting(self._sim.store.every())
        if check is Demand.GONE:
            remaining = f"{_name(object_key(fitting[0]))} still exists" if fitting else ""
            met = not fitting and end is None
            why = "it still existed at that time" if self._was_there else "it never existed"
            return self._result(remaining or ("" if met else why), met=met, time=end)
        if check is Demand.FINALLY and fitting:
            return self._result(met=True, time=end)
        closest = closest_mismatch(self._entry.wanted, self._there())
        if fitting:
            why = "it only matched later"
        elif closest is not None:
            why = f"{_name(object_key(closest[0]))}: {closest[1]}"
        else:
            why = f"there is no {_name(self._key)}"
        return self._result(why, time=end)

    def _fitting(self, objects: Iterable[KubernetesObject]) -> list[KubernetesObject]:
        versions = (self._as_requested(obj) for obj in objects if self._concerns(obj))
        return [obj for obj in versions if first_mismatch(self._entry.wanted, obj) is None]

    def _there(self) -> list[KubernetesObject]:
        """Return the stored objects of the expected kind, with the expected apiVersion."""
        every = self._sim.store.every()
        return [self._as_requested(obj) for obj in every if self._concerns(obj)]

    def _as_requested(self, obj: KubernetesObject) -> KubernetesObject:
        return {**obj, "apiVersion": self._key.api_version or obj["apiVersion"]}

    def _concerns(self, obj: KubernetesObject) -> bool:
        key = object_key(obj)
        same_group = key.group == self._key.group or not self._key.api_version
        return key.kind == self._key.kind and same_group


def described(entry: Expected) -> str:
    """Describe an expectation in one line."""
    if entry.demand in OF_REQUESTS:
        return f"{entry.demand}: {' '.join(entry.wanted.split())}"
    within = ""
    if entry.within is not None:
        within = f" within {format_duration(round(entry.within * SECOND))}"
    fields = sorted(set(entry.wanted) - {"apiVersion", "kind", "metadata"})
    meta = sorted(set(metadata(entry.wanted)) - {"name", "namespace"})
    further = ", ".join([*(f"metadata.{name}" for name in meta), *fields])
    with_ = f" with {further}" if further else ""
    return f"{entry.demand}{within}: {_name(pattern_key(entry.wanted))}{with_}"


def _name(key: ObjectKey) -> str:
    place = "/".join(filter(None, (key.namespace, key.name)))
    return f"{key.kind} {place}".strip()


_ACTOR = "user"
_ATTEMPTS = 5
"""How often a request without a resourceVersion is sent if it conflicts with other writes."""

_Build = Callable[[], ApiRequest | ApiError]
_Answered = Callable[[ApiRequest | None, ApiResponse], None]


class UserSteps:
    """Run the steps; each begins some time after the previous one was answered."""

    def __init__(
        self, kyverno: Kyverno, expectations: Expectations, settings: ScenarioSettings
    ) -> None:
        self._kyverno = kyverno
        self._sim = kyverno.sim
        self._expectations = expectations
        self._pace = settings.pace
        self._storage = WEBHOOK + dict(settings.latency).get("storage", 0.0)
        self.finished = False
        self.unplayed: tuple[ScenarioStep, ...] = ()

    def play(self, steps: Sequence[ScenarioStep]) -> None:
        """Schedule the first step; the others follow."""
        waiting, self.unplayed = iter(steps), tuple(steps)
        self._sim.scheduler.after(0, _ACTOR, lambda: self._begin(waiting))

    def _begin(self, waiting: Iterator[ScenarioStep]) -> None:
        step = next(waiting, None)
        if step is None:
            self.finished = True
            return
        later = self._sim.scheduler.after
        if step.verb is Verb.WAIT:
            self._open(step)
            later(step.seconds, _ACTOR, lambda: self._begin(waiting), timer=True, fresh=True)
        elif step.verb is None or step.verb is Verb.RESTART:
            if step.verb is Verb.RESTART:
                RESTARTS[step.controller](self._kyverno)
            self._open(step)
            later(0, _ACTOR, lambda: self._begin(waiting))
        else:
            sim, user = self._sim, step.user or ADMIN
            # Requests are built when they are sent.
            builds: list[_Build] = [partial(_patching, step, user, sim)] if step.target else []
            objects = [placed(document.data, sim) for document in step.objects]
            verb = step.verb or Verb.CREATE
            builds += [partial(_request, verb, obj, user, sim) for obj in objects]
            if not builds:
                self._expectations.miss(_of_answers(step), "its step sends no request")
            self._send_each(step, iter(builds), waiting)

    def _open(self, step: ScenarioStep) -> None:
        """Open the expectations of a step of objects, after its requests were answered."""
        self._expectations.open(one for one in step.expected if one.demand not in OF_REQUESTS)
        self.unplayed = self.unplayed[1:]

    def _send_each(
        self, step: ScenarioStep, builds: Iterator[_Build], waiting: Iterator[ScenarioStep]
    ) -> None:
        build = next(builds, None)
        if build is None:
            self._open(step)
            after = self._sim.scheduler.after
            after(self._pace, _ACTOR, lambda: self._begin(waiting), fresh=True)
            return

        def answered(request: ApiRequest | None, response: ApiResponse) -> None:
            self._check_answer(step, request, response)
            self._send_each(step, builds, waiting)

        self._send(build, answered, _ATTEMPTS)

    def _send(self, build: _Build, answered: _Answered, attempts: int) -> None:
        def admit() -> None:
            request = build()
            if isinstance(request, ApiError):
                answered(None, ApiResponse(error=request))
                return
            admitted = self._sim.server.admit(request)
            if isinstance(admitted, Admitted):
                self._sim.scheduler.after(self._storage, _ACTOR, lambda: store(request, admitted))
            else:
                answered(request, admitted)

        def store(request: ApiRequest, admitted: Admitted) -> None:
            response = self._sim.server.persist(admitted)
            error = response.error
            if error is not None and error.reason == "Conflict" and attempts > 1:
                self._send(build, answered, attempts - 1)
            else:
                answered(request, response)

        # A retry depends on the outcome of the previous attempt.
        self._sim.scheduler.after(WEBHOOK, _ACTOR, admit, fresh=attempts == _ATTEMPTS)

    def _check_answer(
        self, step: ScenarioStep, request: ApiRequest | None, response: ApiResponse
    ) -> None:
        """Record whether a request was answered as its step expects."""
        error = response.error
        expected = _of_answers(step)
        for entry in expected:
            denied = entry.demand is Demand.DENIED
            texts = [error.message] if denied and error else () if denied else response.warnings
            # Line breaks do not count.
            text = " ".join(entry.wanted.split())
            met = any(text in " ".join(given.split()) for given in texts)
            other = "the request was admitted" if denied else "there were no warnings"
            why = "" if met else "; ".join(texts) or other
            self._expectations.settle(described(entry), entry.location, met=met, why=why)
        lenient = step.lenient and error is not None and error.why is FailureCause.DENIED
        if error is None or lenient or any(one.demand is Demand.DENIED for one in expected):
            return
        unknown = error.reason == "NoKindMatch"
        hint = "; create its CustomResourceDefinition first (--object)" if unknown else ""
        text, why = f"admitted: {_described(step, request)}", f"{error.message}{hint}"
        self._expectations.settle(text, step.location, met=False, why=why)


def _of_answers(step: ScenarioStep) -> list[Expected]:
    return [one for one in step.expected if one.demand in OF_REQUESTS]


def placed(obj: KubernetesObject, sim: SimulationContext) -> KubernetesObject:
    """Return an object in its namespace [default: default].

    Objects of cluster-scoped kinds have none, even if they name one.
    """
    key = object_key(obj)
    if not sim.store.is_namespaced(key.api_version, key.kind):
        return with_metadata(obj, {"namespace": None}) if key.namespace else obj
    return obj if key.namespace else with_metadata(obj, {"namespace": "default"})


def _request(
    verb: Verb, obj: KubernetesObject, user: UserInfo, sim: SimulationContext
) -> ApiRequest:
    """Return the request of a step for an object; `apply` creates or patches it."""
    key = object_key(obj)
    if verb is Verb.DELETE:
        return ApiRequest(Operation.DELETE, key, user)
    now = sim.store.get(*key) if verb is Verb.APPLY and key.name else None
    if now is not None:
        return ApiRequest(Operation.UPDATE, key, user, merge_patch(now, obj), patch="apply")
    operation = Operation.UPDATE if verb is Verb.UPDATE else Operation.CREATE
    return ApiRequest(operation, key, user, obj)


def _patching(step: ScenarioStep, user: UserInfo, sim: SimulationContext) -> ApiRequest | ApiError:
    target, patch = step.target, step.patch
    assert target is not None  # noqa: S101 — a step that patches has a target
    assert patch is not None  # noqa: S101 — and a patch
    meta = {"name": target.name, **({"namespace": target.namespace} if target.namespace else {})}
    named = {"apiVersion": target.api_version, "kind": target.kind, "metadata": meta}
    key = object_key(placed(named, sim))
    now = sim.store.get(*key)
    apply = merge_patch if patch.form == "merge" else apply_json_patch
    try:
        changed = now if now is None else apply(now, patch.body)
    except PatchError as error:
        return invalid(key, error.message)
    return ApiRequest(Operation.UPDATE, key, user, changed, patch.subresource, patch=patch.form)


def _described(step: ScenarioStep, request: ApiRequest | None) -> str:
    key = step.target or (request.key if request else None)
    if key is None:
        return str(step.verb)
    base = text_field(metadata(request.object), "generateName") if request else ""
    return f"{step.verb} {_name(key._replace(name=key.name or base))}"


_LONGEST_SETUP = 30.0
_PASSING_KINDS = frozenset(
    {"ClusterEphemeralReport", "EphemeralReport", "Event", "Lease", "UpdateRequest"}
)


def play(
    scenario: Scenario,
    readers: Readers,
    choose: Choose = earliest,
    begun: Callable[[ObjectStore], None] | None = None,
    *,
    tracer: SimulationTracer | None = None,
) -> Simulation:
    """Run a scenario and return what happened.

    `choose` picks the next step where several may run; `begun` is called with the store before the
    first step; `tracer` records evaluations for `--explain`. Policies and setup objects that the
    cluster rejects are reported in `diagnostics`; the others are used.
    """
    settings = scenario.settings
    own = SimulationSettings(
        model=Model(settings.model),
        release=settings.release,
        installation=settings.installation or HELM,
        exceptions=settings.exceptions,
        seed=settings.seed,
        workloads=settings.workloads,
        delays=settings.latency,
        kubelet=settings.kubelet,
        budget=settings.budget,
        has_budget_option=True,
    )
    cluster = open_cluster(readers, own, settings.start or START, choose, tracer=tracer)
    sim = cluster.sim
    sim.scheduler.settle(_LONGEST_SETUP)
    admissions: list[Admission] = []
    cluster.kyverno.admission.listeners.append(admissions.append)
    installed = frozenset(text_field(metadata(obj), "uid") for obj in sim.store.every())

    def count_scanned(responses: Iterable[PolicyResponse]) -> None:
        for one in responses:
            if text_field(metadata(one.object), "uid") not in installed:
                sim.timeline.count_results(object_key(one.object), *result_counts([one]))

    cluster.kyverno.reports.listeners.append(count_scanned)
    refused = tuple(_set_up(scenario, cluster))
    if begun is not None:
        begun(sim.store)
    expectations = Expectations(sim)
    expectations.open(scenario.expected)
    steps = UserSteps(cluster.kyverno, expectations, settings)
    steps.play(scenario.steps)
    cut = _run(steps, sim, scenario, expectations)
    if tracer is not None:
        tracer.finish()  # evaluations for hazards are not part of the scenario
    documents = _policy_documents(scenario)
    events, results = tuple(sim.timeline.events), sim.timeline.results
    skipped = sim.timeline.skipped
    facts = facts_of(cluster.kyverno, events, documents, tuple(admissions), cut)
    return Simulation(
        scenario.name,
        events,
        _lasting(sim, installed),
        find_hazards(facts),
        expectations.close(cut=cut is not None),
        seconds=sim.clock.elapsed,
        model=settings.model,
        release=settings.release.name,
        installation=sim.settings.installation.name,
        description=scenario.description,
        diagnostics=refused,
        cut=cut,
        results=results,
        skipped=skipped,
    )


def _run(
    steps: UserSteps, sim: SimulationContext, scenario: Scenario, expectations: Expectations
) -> Cut | None:
    """Run the steps and what follows; return why the run was cut, None if it was not."""
    settings = scenario.settings
    replica_limit = ReplicaLimit(sim.timeline)
    stall_detector = StallDetector(sim.timeline, sim.scheduler)

    def exhausted() -> bool:
        many = len(sim.timeline.events) >= settings.max_events
        return many or replica_limit.is_exceeded() or stall_detector.is_stalled()

    # A scenario is cut after 30 days plus the waits of its steps.
    longest = 30 * 24 * 3600.0 + sum(step.seconds for step in scenario.steps)
    sim.scheduler.run_until(lambda: steps.finished or exhausted(), longest)
    if steps.finished:
        end = max(sim.clock.elapsed + settings.horizon, expectations.latest)
        sim.scheduler.run_until(exhausted, end - sim.clock.elapsed)
    by_events = True
    if not exhausted():
        if steps.finished:
            return None
        reached = f"{format_duration(round(sim.clock.elapsed * SECOND))} of virtual time"
    elif replica_limit.excess:
        reached, by_events = replica_limit.excess, False
    elif stall_detector.is_stalled():
        reached, by_events = f"{MOST_STEPS:,} steps without a change", False
    else:
        reached = f"{settings.max_events} events"
    for step in steps.unplayed:
        expectations.miss(step.expected, "its step was not run: the run was stopped before it")
    return Cut(reached, tuple(step.location for step in steps.unplayed), by_events=by_events)


def _set_up(scenario: Scenario, cluster: SimulatedCluster) -> Iterator[Diagnostic]:
    """Create the objects that exist before the first step; yield those that were rejected."""
    sim, brought = cluster.sim, [one.data for step in scenario.steps for one in step.objects]
    for name in _missing_namespaces(scenario, brought, sim):
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        sim.client(UserInfo("cluster", groups=ADMIN.groups)).create(namespace)
    # Definitions first: objects of their kinds may come in any order.
    first = {"CustomResourceDefinition", "Namespace"}
    client = sim.client(UserInfo("setup", groups=ADMIN.groups))
    for document in sorted(
        scenario.objects, key=lambda one: object_key(one.data).kind not in first
    ):
        response = client.create(placed(document.data, sim))
        if response.error is not None and response.error.reason != "AlreadyExists":
            yield _refusal(document, response.error.message)
    sim.scheduler.settle(_LONGEST_SETUP)
    for document in (*scenario.exceptions, *scenario.policies):
        response = sim.client(ADMIN).create(placed(document.data, sim))
        if response.error is not None:
            hint, place = "", ("v1", "Namespace", "", object_key(document.data).namespace)
            if any(object_key(one) == place for one in brought):
                hint = "; its Namespace is created after the policies: pass it with --object to"
                hint += " create it first"
            yield _refusal(document, response.error.message + hint)
    keys = [object_key(placed(one.data, sim)) for one in scenario.policies]
    sim.scheduler.run_until(lambda: all(_is_stated(key, sim) for key in keys), _LONGEST_SETUP)
    # Until the policy cache has seen the last condition, too.
    sim.scheduler.advance(NOTICE)


_UNKNOWN_KIND: Final = re.compile(r"GVR for kinds? ([^\s,]+)")


def _refusal(document: Document, message: str) -> Diagnostic:
    key = object_key(document.data)
    text = f"the cluster rejected {key.kind} `{key.name}`: {' '.join(message.split())}"
    unknown = _UNKNOWN_KIND.search(message)
    if unknown:
        text += (
            f"; the cluster does not serve {unknown[1]}: check its group and version, or create "
            "its CustomResourceDefinition before, with --object"
        )
    return error_in(document, "KV052", text)


def _is_stated(key: ObjectKey, sim: SimulationContext) -> bool:
    """Return whether a policy has its status, or is of a kind without one."""
    obj = sim.store.get(*key)
    if obj is None or not (key[:2] in POLICY_KINDS or is_webhook_policy(key)):
        return True
    status = obj.get("status") or {}
    return bool(status.get("conditions") or status.get("conditionStatus"))


def _policy_documents(scenario: Scenario) -> dict[str, Document]:
    """Return the documents of policies by key, including those that steps create."""
    brought = (one for step in scenario.steps for one in step.objects)
    documents: dict[str, Document] = {}
    for document in (*scenario.policies, *brought):
        key = object_key(document.data)
        if key.group in {RULES_GROUP, CEL_GROUP}:
            named = key.kind in {"Policy", "CleanupPolicy"} or key.kind.startswith("Namespaced")
            documents[f"{key.namespace or 'default'}/{key.name}" if named else key.name] = document
    return documents


def _missing_namespaces(
    scenario: Scenario, brought: list[KubernetesObject], sim: SimulationContext
) -> list[str]:
    """Return the namespaces that objects use but nothing creates, in order."""
    given = (*scenario.objects, *scenario.policies, *scenario.exceptions)
    keys = [object_key(one) for one in (*(one.data for one in given), *brought)]
    made = {key.name for key in keys if key.kind == "Namespace"}
    made |= {object_key(one).name for one in sim.store.list("v1", "Namespace", "")}
    placed_keys = (key for key in keys if sim.store.is_namespaced(key.api_version, key.kind))
    named = dict.fromkeys(key.namespace for key in placed_keys if key.namespace)
    return [name for name in named if name not in made]


def _lasting(sim: SimulationContext, installed: frozenset[str]) -> tuple[KubernetesObject, ...]:
    """Return the objects that the run created, or that it changed because of a user or policy."""
    changed = {
        event.object
        for event in sim.timeline.events
        if event.outcome == "done" and (event.actor == "user" or event.policies)
    }
    objects = []
    for obj in sim.store.every():
        key = object_key(obj)
        passing = key.kind in _PASSING_KINDS or (key.kind, key.name) in OF_EVERY_NAMESPACE
        was_brought = not passing and text_field(metadata(obj), "uid") not in installed
        if key in changed or was_brought:
            objects.append(obj)
    return tuple(objects)
