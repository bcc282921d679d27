"""`simulate`: scenarios on a simulated cluster, in one or several interleavings."""

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from datetime import datetime
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple, TypeVar

from kyvsim.api.explain import (
    document_finder,
    tracer_for,
    with_inquiries,
    with_unaffected,
)
from kyvsim.api.inputs import name_of
from kyvsim.api.process_pool import ProcessLostError, ProcessPool
from kyvsim.api.system import own_system, processors
from kyvsim.engine.compile import CompileOptions
from kyvsim.kubernetes.discovery import KindTable, crd_kinds, split_api_version
from kyvsim.kubernetes.objects import (
    Json,
    KubernetesObject,
    ObjectKey,
    metadata,
    object_key,
    text_field,
)
from kyvsim.languages import READERS, compile_policies, read_binding
from kyvsim.load.documents import STRICT, read_documents
from kyvsim.load.files import Source
from kyvsim.load.folders import USUAL, Walking
from kyvsim.load.policy import is_exception, load_bindings, load_exceptions, load_policies
from kyvsim.load.resources import EXCEPTIONS, POLICIES, load_objects, partition_by_kind, unreviewed
from kyvsim.load.scenario import (
    SCENARIO,
    is_scenario,
    load_installation,
    load_scenario,
    scenario_schemas,
)
from kyvsim.load.structure import json_schema
from kyvsim.load.values import named_user
from kyvsim.model.diagnostic import Diagnostic, Severity, has_errors, without_left_out
from kyvsim.model.policy import CelException, Policy, PolicyException, PolicyReaders
from kyvsim.model.ports import SIMULATED, Budget
from kyvsim.model.release import Release
from kyvsim.model.simulation import HELM, Scenario, ScenarioSettings, ScenarioStep, Simulation, Verb
from kyvsim.model.source import Document, Location
from kyvsim.schema.kinds import NATIVE_GROUP, RULES_GROUP, native_kinds
from kyvsim.simulator.context import Readers
from kyvsim.simulator.exploration import (
    Directions,
    Order,
    Played,
    Player,
    explore,
    interleavings_of,
    play_directed,
    with_interleavings,
)
from kyvsim.simulator.policies import CEL_KINDS
from kyvsim.simulator.scenario import play

SIMULATED_READERS: PolicyReaders = MappingProxyType(
    {
        (group, kind): read
        for (group, kind), read in READERS.items()
        if group == RULES_GROUP or kind in CEL_KINDS
    }
)
"""The readers of policies that a simulated cluster evaluates."""

_Found = TypeVar("_Found")


def readers(written: Callable[[KubernetesObject], Document | None] = lambda _: None) -> Readers:
    """Return the readers of policies and exceptions of a simulated cluster.

    `written` returns the document of an object, for positions.
    """

    def document(obj: KubernetesObject) -> Document:
        own = written(obj)
        if own is not None:
            return own._replace(data=obj)
        return Document(obj, "", 0, lambda _: Location(""))

    def policy(obj: KubernetesObject) -> tuple[Policy | None, tuple[Diagnostic, ...]]:
        # The status is written by controllers, so it is not part of the policy.
        spec = {name: value for name, value in obj.items() if name != "status"}
        policies, remarks = load_policies([document(spec)], SIMULATED_READERS)
        return (policies[0] if policies else None), remarks

    def exception(obj: KubernetesObject) -> tuple[PolicyException | None, tuple[Diagnostic, ...]]:
        exceptions, remarks = load_exceptions([document(obj)])
        return next(iter(exceptions.rules), None), remarks

    def cel_exception(obj: KubernetesObject) -> tuple[CelException | None, tuple[Diagnostic, ...]]:
        exceptions, remarks = load_exceptions([document(obj)])
        return next(iter(exceptions.policies), None), remarks

    return Readers(policy, _once(exception), _once(cel_exception))


def _once(read: Callable[[KubernetesObject], _Found]) -> Callable[[KubernetesObject], _Found]:
    """Return a reader with a cache: when one exception changes, all are read again."""
    known: dict[ObjectKey, tuple[KubernetesObject, _Found]] = {}

    def remembered(obj: KubernetesObject) -> _Found:
        key = object_key(obj)
        if key not in known or known[key][0] is not obj:
            known[key] = obj, read(obj)
        return known[key][1]

    return remembered


# Other interleavings, run by several processes. The next one depends on the result of the one
# before, and is usually one that is already known: those are started ahead of time, some in vain.

_AHEAD = 2


@contextmanager
def player(scenario: Scenario, jobs: int) -> Iterator[Player]:
    """Provide a function that runs a scenario in a given interleaving, with `jobs` processes."""
    if jobs == 1:
        yield lambda directions, _: played(scenario, directions)
        return
    with ExitStack() as closed:
        yield _Ahead(scenario, jobs, closed).play


def played(scenario: Scenario, directions: Directions) -> Played:
    """Return the result of a scenario in an interleaving."""
    reading = _reading()
    return play_directed(
        lambda directed: play(scenario, reading, directed.choose, directed.watch), directions
    )


@lru_cache(maxsize=1)
def _reading() -> Readers:
    """Return the readers of this process."""
    return readers()


class _Ahead:
    """Runs interleavings ahead of time; in this process if one of the others was killed."""

    def __init__(self, scenario: Scenario, jobs: int, closed: ExitStack) -> None:
        self._scenario = scenario
        self._jobs = jobs
        self._closed = closed
        self._pool: ProcessPool | None = None
        self._begun: dict[Directions, Future[Played]] = {}
        self._broken = False

    def play(self, directions: Directions, likely: Callable[[int], Iterable[Directions]]) -> Played:
        """Return the result of an interleaving, and start the likely next ones."""
        following = () if self._broken else tuple(likely(_AHEAD * self._jobs))
        try:
            for order in (directions, *following) if following else ():
                if order not in self._begun:
                    if self._pool is None:
                        self._pool = self._closed.enter_context(ProcessPool(self._jobs))
                    self._begun[order] = self._pool.submit(played, self._scenario, order)
            if directions in self._begun:
                return self._begun.pop(directions).result()
        except ProcessLostError:
            self._broken = True
            self._begun.clear()
        return played(self._scenario, directions)


# Codes: KV051 inputs in addition to a scenario, KV052 an initial object that the cluster rejects.

_FILE_READERS: PolicyReaders = MappingProxyType(
    {
        **SIMULATED_READERS,
        **{name: read for name, read in READERS.items() if name[0] == NATIVE_GROUP},
    }
)
"""The readers of policies in files: Kyverno's, and those of the API server."""
Watched = Callable[[Iterator[Order]], Iterator[Order]]
"""Yields interleavings as they are tried, and may show the progress."""


class SimulateInputs(NamedTuple):
    """The inputs of `kyvsim simulate`; paths are files, folders, globs or `-`.

    A Source is a text instead of a path. None means the scenario's own settings or the defaults.
    """

    paths: tuple[str | Source, ...]
    resources: tuple[str | Source, ...] = ()
    exceptions: tuple[str | Source, ...] = ()
    objects: tuple[str | Source, ...] = ()
    user: str = ""
    groups: tuple[str, ...] = ()
    model: str | None = None
    release: Release | None = None
    seed: int | None = None
    start: datetime | None = None
    horizon: float | None = None
    max_events: int | None = None
    budget: Budget = SIMULATED
    install: str | None = None
    interleavings: int | None = 1
    """Maximum number of interleavings; None for all that may differ."""
    jobs: int = 0
    """Number of processes for other interleavings; 0 for one per processor."""
    walking: Walking = USUAL
    compared: tuple[str, ...] = ()
    explain: str = ""


class Simulated(NamedTuple):
    """The result of `simulate`."""

    simulation: Simulation | None
    diagnostics: tuple[Diagnostic, ...]
    fail_on: str = ""
    """The lowest level of hazards that count as failures; "" if the scenario does not set one."""
    left_out: tuple[Diagnostic, ...] = ()
    files: frozenset[str] = frozenset()
    """The files of the run, including those that a scenario refers to."""


def scenario_json_schema() -> Json:
    """Return the JSON Schema of scenario files."""
    return json_schema(scenario_schemas()[SCENARIO], "kyvsim scenario")


def simulate(
    inputs: SimulateInputs, stdin: bytes | None = None, watched: Watched = iter
) -> Simulated:
    """Return the simulation of policies and resources, or of a scenario.

    `stdin` is read for the path `-`. Nothing is run if an input cannot be read. A policy that
    Kyverno rejects is also rejected in the cluster. Raises NotFoundError if the object to explain
    does not exist.
    """
    done = _simulated(inputs, stdin, watched)
    if not inputs.compared:
        return done
    other = _simulated(inputs._replace(paths=inputs.compared), stdin, iter)
    simulation = done.simulation and done.simulation._replace(compared=other.simulation)
    # Both runs share most inputs and their diagnostics.
    diagnostics = tuple(dict.fromkeys((*done.diagnostics, *other.diagnostics)))
    left_out = tuple(dict.fromkeys((*done.left_out, *other.left_out)))
    files = done.files | other.files
    return done._replace(
        simulation=simulation, diagnostics=diagnostics, left_out=left_out, files=files
    )


def _simulated(inputs: SimulateInputs, stdin: bytes | None, watched: Watched) -> Simulated:
    documents, remarks = read_documents(inputs.paths, stdin, STRICT, inputs.walking)
    scenarios = [document for document in documents if is_scenario(document.data)]
    if scenarios:
        scenario, diagnostics = _named_scenario(inputs, documents, scenarios)
    else:
        scenario, diagnostics = _plain_scenario(inputs, documents, stdin)
    diagnostics, left_out = without_left_out((*remarks, *diagnostics))
    if scenario is not None:
        settings, problems = _settings(inputs, scenario.settings)
        diagnostics = (*diagnostics, *problems)
        scenario = scenario._replace(settings=settings)
    if scenario is None or has_errors(diagnostics):
        return Simulated(None, diagnostics, left_out=left_out)
    kinds = crd_kinds(document.data for document in scenario.objects)
    unsound = {
        policy.locate(()): _refused(policy, kinds, scenario.settings.release)
        for policy in scenario.policies
    }
    _, excepted = load_exceptions(scenario.exceptions)
    of_policies = (problem for problems in unsound.values() for problem in problems)
    diagnostics = (*diagnostics, *of_policies, *excepted, *_uncounted(scenario))
    kept = (policy for policy in scenario.policies if _is_policy(policy.data))
    exceptions = (exception for exception in scenario.exceptions if _is_of_kyverno(exception.data))
    sound = scenario._replace(policies=tuple(kept), exceptions=tuple(exceptions))
    limit = inputs.interleavings
    if inputs.explain:
        tracer = tracer_for(inputs.explain)
        simulation = play(sound, readers(document_finder(sound)), tracer=tracer)
        simulation = with_inquiries(simulation, tracer, inputs.explain, sound)
    elif limit == 1:
        simulation = play(sound, readers())
        found = readers(document_finder(sound))
        simulation = with_unaffected(
            simulation, sound, lambda tracer: play(sound, found, tracer=tracer)
        )
    else:
        with player(sound, inputs.jobs or processors()) as play_order:
            orders = explore(play_order, limit, sound.settings.seed)
            simulation = with_interleavings(interleavings_of(watched(orders)))
    # Diagnostics of the files are more detailed than those of the cluster.
    known = {place for place, remarks in unsound.items() if has_errors(remarks)}
    diagnostics += tuple(one for one in simulation.diagnostics if one.location not in known)
    steps = (document for step in scenario.steps for document in step.objects)
    given = (*scenario.objects, *scenario.policies, *scenario.exceptions, *steps)
    files = frozenset(document.file for document in given)
    return Simulated(simulation, diagnostics, scenario.fail_on, left_out, files)


def _named_scenario(
    inputs: SimulateInputs, documents: tuple[Document, ...], scenarios: list[Document]
) -> tuple[Scenario | None, tuple[Diagnostic, ...]]:
    if any(isinstance(path, Source) for path in inputs.paths):
        text = "a scenario needs files, which cannot be read here: use `kyvsim simulate`"
        return None, (Diagnostic("KV051", Severity.ERROR, text, scenarios[0].locate(())),)
    others = [document for document in documents if document not in scenarios]
    if others or len(scenarios) > 1:
        other = (others or scenarios[1:])[0]
        text = "a scenario cannot be combined with policies: it lists its own"
        return None, (Diagnostic("KV051", Severity.ERROR, text, other.locate(())),)
    beside = (*inputs.resources, *inputs.exceptions, *inputs.objects)
    if beside:
        path = beside[0]
        text = "a scenario cannot be combined with objects or exceptions: it lists its own"
        return None, (Diagnostic("KV051", Severity.ERROR, text, Location(name_of(path))),)
    return load_scenario(scenarios[0])


def _plain_scenario(
    inputs: SimulateInputs, documents: tuple[Document, ...], stdin: bytes | None
) -> tuple[Scenario, tuple[Diagnostic, ...]]:
    walking = inputs.walking
    policies, aside = partition_by_kind(documents, POLICIES)
    resources, remarks = load_objects(inputs.resources, stdin, walking=walking)
    objects, missing = load_objects(inputs.objects, stdin, walking=walking)
    written, further = read_documents(inputs.exceptions, stdin, STRICT, walking)
    exceptions, others = partition_by_kind(written, EXCEPTIONS)
    user = named_user(inputs.user, inputs.groups) if inputs.user else None
    steps = tuple(
        ScenarioStep(Verb.CREATE, document.locate(()), objects=(document,), user=user, lenient=True)
        for document in resources
    )
    name = " ".join(os.path.basename(os.path.normpath(name_of(path))) for path in inputs.paths)
    scenario = Scenario(
        name, objects=objects, policies=policies, exceptions=exceptions, steps=steps
    )
    reviews = unreviewed((*resources, *objects))
    return scenario, (*aside, *remarks, *missing, *further, *others, *reviews)


def _settings(
    inputs: SimulateInputs, own: ScenarioSettings
) -> tuple[ScenarioSettings, tuple[Diagnostic, ...]]:
    """Return a scenario's settings, overridden by options."""
    installation, problems = own.installation, tuple[Diagnostic, ...]()
    if inputs.install is not None:
        installation, problems = load_installation(inputs.install)
    names = ("model", "release", "seed", "start", "horizon", "max_events")
    given = {name: getattr(inputs, name) for name in names if getattr(inputs, name) is not None}
    return own._replace(installation=installation, budget=inputs.budget, **given), problems


def _refused(document: Document, kinds: KindTable, release: Release) -> tuple[Diagnostic, ...]:
    """Return the diagnostics of an initial policy, with custom `kinds`.

    An exception among the policies is checked by the cluster.
    """
    if is_exception(document.data):
        return ()
    policies, remarks = load_policies([document], _FILE_READERS)
    remarks = (*remarks, *load_bindings([document], read_binding)[1])
    options = CompileOptions(own_system(release=release), simulated=True, kinds=kinds)
    _, refused = compile_policies(policies, options)
    return (*remarks, *refused)


def _uncounted(scenario: Scenario) -> tuple[Diagnostic, ...]:
    """Return a warning if there are exceptions that the installation ignores."""
    settings = scenario.settings
    installation = settings.installation or HELM
    counts = bool(installation.exceptions_namespace)
    if counts if settings.exceptions is None else settings.exceptions:
        return ()
    brought = (document for step in scenario.steps for document in step.objects)
    given = (*scenario.exceptions, *scenario.policies, *scenario.objects, *brought)
    exceptions = [document for document in given if is_exception(document.data)]
    if not exceptions:
        return ()
    text = (
        f"PolicyExceptions have no effect in the installation `{installation.name}`: values with "
        '`features: {policyExceptions: {enabled: true, namespace: "*"}}` (--install FILE) let them'
    )
    place = exceptions[0].locate(())
    return (Diagnostic("KV055", Severity.WARNING, text, place),)


def _is_policy(obj: object) -> bool:
    """Return whether a document is a named policy of Kyverno or the API server."""
    group, kind = split_api_version(text_field(obj, "apiVersion"))[0], text_field(obj, "kind")
    own = group == NATIVE_GROUP and kind in native_kinds()
    return (own and bool(text_field(metadata(obj), "name"))) or _is_of_kyverno(obj)


def _is_of_kyverno(obj: object) -> bool:
    group = split_api_version(text_field(obj, "apiVersion"))[0]
    return group.endswith("kyverno.io") and bool(text_field(metadata(obj), "name"))
