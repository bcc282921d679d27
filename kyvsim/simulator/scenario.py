"""A scenario from its beginning to its end, on a cluster of its own."""

from collections.abc import Callable, Iterable

from kyvsim.engine.compile import Model
from kyvsim.kubernetes.discovery import lies_in_namespace, split_api_version
from kyvsim.kubernetes.objects import Json, ObjectKey, metadata, object_key, text_field
from kyvsim.kubernetes.quantities import SECOND, format_duration
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.request import UserInfo
from kyvsim.model.result import PolicyResponse
from kyvsim.model.scenario import Scenario
from kyvsim.model.simulation import Cut, Simulation
from kyvsim.model.source import HELM, Document
from kyvsim.schema.kinds import CEL_GROUP, RULES_GROUP
from kyvsim.simulator.api_server import Store
from kyvsim.simulator.api_server.server import ADMIN
from kyvsim.simulator.cluster import Cluster, open_cluster
from kyvsim.simulator.expectations import Expectations
from kyvsim.simulator.hazards import find_hazards
from kyvsim.simulator.hazards.facts import Facts, first_stored, last_policies
from kyvsim.simulator.inquirer import Inquirer
from kyvsim.simulator.kyverno.admission import Admission
from kyvsim.simulator.kyverno.admission_notes import result_counts
from kyvsim.simulator.kyverno.policies import POLICY_KINDS, is_asked_policy
from kyvsim.simulator.latency import MOST_STEPS, Crowd, Idleness
from kyvsim.simulator.parts import Parts, Readers, Settings
from kyvsim.simulator.time.scheduler import START, Choose, earliest
from kyvsim.simulator.timeline import OF_EVERY_NAMESPACE
from kyvsim.simulator.user import UserSteps, placed

SETUP = UserInfo("setup", groups=ADMIN.groups)
"""Who puts in what is there before the policies."""
_NOBODY = UserInfo("cluster", groups=ADMIN.groups)
"""Who puts in the namespaces that nobody brings."""
_LONGEST_SETUP = 30.0
_LONGEST_STORY = 30 * 24 * 3600.0
"""Besides what its steps wait on purpose; one that takes longer does not come to its end."""
_PASSING_KINDS = frozenset(
    {"ClusterEphemeralReport", "EphemeralReport", "Event", "Lease", "UpdateRequest"}
)


def play(
    scenario: Scenario,
    readers: Readers,
    choose: Choose = earliest,
    begun: Callable[[Store], None] | None = None,
    *,
    inquirer: Inquirer | None = None,
) -> Simulation:
    """Return what becomes of a scenario.

    `choose` says whose step comes next where several may; `begun` is told the store when the first
    step is about to be played; `inquirer` is told who asks policies about objects. What the cluster
    refuses of policies and objects that are to be there is told in `diagnostics`; the others work.
    """
    settings = scenario.settings
    own = Settings(
        model=Model(settings.model),
        installation=settings.installation or HELM,
        exceptions=settings.exceptions,
        seed=settings.seed,
        workloads=settings.workloads,
        delays=settings.latency,
        kubelet=settings.kubelet,
        budget=settings.budget,
        has_budget_option=True,
    )
    cluster = open_cluster(readers, own, settings.start or START, choose, inquirer=inquirer)
    parts = cluster.parts
    parts.scheduler.settle(_LONGEST_SETUP)
    admissions: list[Admission] = []
    cluster.kyverno.admission.listeners.append(admissions.append)
    installed = frozenset(text_field(metadata(obj), "uid") for obj in parts.store.every())

    def count_scanned(found: Iterable[PolicyResponse]) -> None:
        for one in found:
            if text_field(metadata(one.object), "uid") not in installed:
                parts.timeline.count_results(object_key(one.object), *result_counts([one]))

    cluster.kyverno.reports.listeners.append(count_scanned)
    refused = _set_up(scenario, cluster)
    if begun is not None:
        begun(parts.store)
    expectations = Expectations(parts)
    expectations.open(scenario.expected)
    steps = UserSteps(cluster.kyverno, expectations, settings)
    steps.play(scenario.steps)
    cut = _run(steps, parts, scenario, expectations)
    if inquirer is not None:
        inquirer.finish()  # what hazards ask of policies is not part of the story
    policies = {_policy_key(one.data): one for one in _policy_documents(scenario)}
    events = tuple(parts.timeline.events)
    results, skipped = parts.timeline.results, parts.timeline.skipped
    facts = Facts(
        parts=parts,
        kyverno=cluster.kyverno,
        events=events,
        documents=policies,
        admissions=tuple(admissions),
        policies=last_policies(parts),
        stored=first_stored(events),
        cut=cut,
    )
    return Simulation(
        scenario.name,
        events,
        _lasting(parts, installed),
        find_hazards(facts),
        expectations.close(cut=cut is not None),
        seconds=parts.clock.elapsed,
        model=settings.model,
        installation=parts.settings.installation.name,
        description=scenario.description,
        diagnostics=refused,
        cut=cut,
        results=results,
        skipped=skipped,
    )


def _run(
    steps: UserSteps, parts: Parts, scenario: Scenario, expectations: Expectations
) -> Cut | None:
    """Play the steps and what comes of them; return why that was stopped before its end."""
    settings = scenario.settings

    crowd, idleness = Crowd(parts.timeline), Idleness(parts.timeline, parts.scheduler)

    def exhausted() -> bool:
        many = len(parts.timeline.events) >= settings.max_events
        return many or crowd.is_wanted() or idleness.lasts()

    waits = sum(step.seconds for step in scenario.steps)
    parts.scheduler.run_until(lambda: steps.finished or exhausted(), _LONGEST_STORY + waits)
    if steps.finished:
        end = max(parts.clock.elapsed + settings.horizon, expectations.latest)
        parts.scheduler.run_until(exhausted, end - parts.clock.elapsed)
    elif not exhausted():
        spent = format_duration(round(parts.clock.elapsed * SECOND))
        return _cut_at(f"{spent} of virtual time", steps, expectations)
    if crowd.wanted:
        return _cut_at(crowd.wanted, steps, expectations)._replace(by_events=False)
    if idleness.lasts():
        reached = f"{MOST_STEPS:,} steps in which nothing happened"
        return _cut_at(reached, steps, expectations)._replace(by_events=False)
    if exhausted():
        return _cut_at(f"{settings.max_events} events", steps, expectations)
    return None


def _cut_at(reached: str, steps: UserSteps, expectations: Expectations) -> Cut:
    for step in steps.unplayed:
        expectations.miss(step.expected, "its step was not played: the run was stopped before")
    return Cut(reached, tuple(step.location for step in steps.unplayed))


def _set_up(scenario: Scenario, cluster: Cluster) -> tuple[Diagnostic, ...]:
    """Put in what is there before the first step; return what was refused."""
    parts, refused = cluster.parts, []
    namespaces = [_namespace(name) for name in _missing_namespaces(scenario, parts)]
    first, second = parts.client(SETUP), parts.client(ADMIN)
    for namespace in namespaces:
        parts.client(_NOBODY).create(namespace)
    # Definitions first: what they define may stand anywhere.
    for document in sorted(scenario.objects, key=lambda one: not _is_definition(one.data)):
        response = first.create(placed(document.data, parts))
        if response.error is not None and response.error.reason != "AlreadyExists":
            refused.append(_refusal(document, response.error.message))
    parts.scheduler.settle(_LONGEST_SETUP)
    for document in (*scenario.exceptions, *scenario.policies):
        response = second.create(placed(document.data, parts))
        if response.error is not None:
            why = response.error.message + _namespace_comes_later(document.data, scenario)
            refused.append(_refusal(document, why))
    keys = [object_key(placed(one.data, parts)) for one in scenario.policies]
    parts.scheduler.run_until(lambda: all(_acts(key, parts) for key in keys), _LONGEST_SETUP)
    return tuple(refused)


def _namespace_comes_later(obj: Json, scenario: Scenario) -> str:
    """Return what to do where the Namespace of a policy is created after the policies, or ""."""
    wanted = ("v1", "Namespace", "", object_key(obj).namespace)
    brought = (one.data for step in scenario.steps for one in step.objects)
    if not any(object_key(one) == wanted for one in brought):
        return ""
    return "; its Namespace is created after the policies: give it with --object to have it before"


def _refusal(document: Document, message: str) -> Diagnostic:
    key = object_key(document.data)
    text = f"{key.kind} `{key.name}` is refused by the cluster: {' '.join(message.split())}"
    return Diagnostic("KV052", Severity.ERROR, text, document.locate(()))


def _acts(key: ObjectKey, parts: Parts) -> bool:
    """Return whether a policy is ready, or of a kind that has no such state."""
    obj = parts.store.get(*key)
    if obj is None or not (key[:2] in POLICY_KINDS or is_asked_policy(key)):
        return True
    status = obj.get("status") or {}
    return bool(status.get("conditions") or status.get("conditionStatus"))


def _policy_documents(scenario: Scenario) -> list[Document]:
    """Return the documents of policies, those that steps bring included."""
    brought = (one for step in scenario.steps for one in step.objects)
    return [one for one in (*scenario.policies, *brought) if _is_policy(one.data)]


def _is_policy(obj: Json) -> bool:
    return split_api_version(object_key(obj).api_version)[0] in {RULES_GROUP, CEL_GROUP}


def _is_definition(obj: Json) -> bool:
    return object_key(obj).kind in {"CustomResourceDefinition", "Namespace"}


def _policy_key(obj: Json) -> str:
    key = object_key(obj)
    named = key.kind in {"Policy", "CleanupPolicy"} or key.kind.startswith("Namespaced")
    return f"{key.namespace or 'default'}/{key.name}" if named else key.name


def _missing_namespaces(scenario: Scenario, parts: Parts) -> list[str]:
    """Return the namespaces that are named and neither there nor brought, in order."""
    steps = [one.data for step in scenario.steps for one in step.objects]
    given = (*scenario.objects, *scenario.policies, *scenario.exceptions)
    every = [*(one.data for one in given), *steps]
    brought = {object_key(obj).name for obj in every if object_key(obj).kind == "Namespace"}
    named: dict[str, None] = {}
    for obj in every:
        key = object_key(obj)
        group = split_api_version(key.api_version)[0]
        if key.namespace and lies_in_namespace(group, key.kind, parts.store.defined):
            named[key.namespace] = None
    there = parts.store.get
    return [
        name for name in named if name not in brought and there("v1", "Namespace", "", name) is None
    ]


def _namespace(name: str) -> Json:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def _lasting(parts: Parts, installed: frozenset[str]) -> tuple[Json, ...]:
    """Return what is there at the end and was not from the start, or was changed for a reason."""
    changed = {
        event.object
        for event in parts.timeline.events
        if event.outcome == "done" and (event.actor == "user" or event.policies)
    }
    return tuple(
        obj
        for obj in parts.store.every()
        if object_key(obj) in changed or _was_brought(obj, installed)
    )


def _was_brought(obj: Json, installed: frozenset[str]) -> bool:
    key = object_key(obj)
    if key.kind in _PASSING_KINDS or (key.kind, key.name) in OF_EVERY_NAMESPACE:
        return False
    return text_field(metadata(obj), "uid") not in installed
