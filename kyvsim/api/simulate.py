"""`simulate`: scenarios on a simulated cluster, in one order of steps or several."""

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager
from datetime import datetime
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple, TypeVar

from kyvsim.api.explain import tracer_for, with_inquiries, written_in
from kyvsim.api.inputs import name_of
from kyvsim.api.processes import process_pool
from kyvsim.api.system import own_system, processors
from kyvsim.engine.compile import CompileOptions
from kyvsim.kubernetes.discovery import KindTable, crd_kinds, split_api_version
from kyvsim.kubernetes.objects import Json, ObjectKey, metadata, object_key, text_field
from kyvsim.languages import READERS, compile_policies
from kyvsim.load.documents import STRICT, read_documents
from kyvsim.load.exceptions import load_exceptions
from kyvsim.load.files import Source
from kyvsim.load.folders import USUAL, Walking
from kyvsim.load.policy import is_exception, load_bindings, load_policies
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
from kyvsim.model.diagnostic import Diagnostic, Severity, without_left_out
from kyvsim.model.exceptions import CelException, PolicyException
from kyvsim.model.policy import Policy, PolicyReaders
from kyvsim.model.ports import SIMULATED, Budget
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

# Simulated clusters, with policies and exceptions read as files would be.

SIMULATED_READERS: PolicyReaders = MappingProxyType(
    {
        (group, kind): read
        for (group, kind), read in READERS.items()
        if group == RULES_GROUP or kind in CEL_KINDS
    }
)
"""What reads the policies that a simulated cluster heeds."""

_Found = TypeVar("_Found")


def readers(written: Callable[[Json], Document | None] = lambda _: None) -> Readers:
    """Return what reads the policies and exceptions of a simulated cluster.

    `written` finds the document that an object was made of, where its places are to be told.
    """

    def document(obj: Json) -> Document:
        own = written(obj)
        if own is not None:
            return own._replace(data=obj)
        return Document(obj, "", 0, lambda _: Location(""))

    def policy(obj: Json) -> tuple[Policy | None, tuple[Diagnostic, ...]]:
        # What controllers say of a policy is no part of what its author wrote.
        spec = {name: value for name, value in obj.items() if name != "status"}
        found, remarks = load_policies([document(spec)], SIMULATED_READERS)
        return (found[0] if found else None), remarks

    def exception(obj: Json) -> tuple[PolicyException | None, tuple[Diagnostic, ...]]:
        found, remarks = load_exceptions([document(obj)])
        return next(iter(found.rules), None), remarks

    def cel_exception(obj: Json) -> tuple[CelException | None, tuple[Diagnostic, ...]]:
        found, remarks = load_exceptions([document(obj)])
        return next(iter(found.policies), None), remarks

    return Readers(policy, _once(exception), _once(cel_exception))


def _once(read: Callable[[Json], _Found]) -> Callable[[Json], _Found]:
    """Return what reads each object once: any change of exceptions asks for all of them."""
    known: dict[ObjectKey, tuple[Json, _Found]] = {}

    def remembered(obj: Json) -> _Found:
        key = object_key(obj)
        if key not in known or known[key][0] is not obj:
            known[key] = obj, read(obj)
        return known[key][1]

    return remembered


# A scenario in other orders of its steps, played by several processes ahead of time.
#
# Which order is to be tried next is known when the one before was played. Mostly it is one that
# waited already: those are begun meanwhile. One that nobody asks for in the end was played in
# vain.

_AHEAD = 2
"""So many orders are begun for each process, that none waits for the others."""


@contextmanager
def player(scenario: Scenario, jobs: int) -> Iterator[Player]:
    """Give what plays a scenario in an order, by so many processes."""
    if jobs == 1:
        yield lambda directions, _: played(scenario, directions)
        return
    with ExitStack() as closed:
        yield _Ahead(scenario, jobs, closed).play


def played(scenario: Scenario, directions: Directions) -> Played:
    """Return what becomes of a scenario in an order of its steps."""
    reading = _reading()
    return play_directed(
        lambda directed: play(scenario, reading, directed.choose, directed.watch), directions
    )


@lru_cache(maxsize=1)
def _reading() -> Readers:
    """Return what reads policies, the same for all that a process plays."""
    return readers()


class _Ahead:
    """Plays orders before they are asked for; here, once one of its processes was killed."""

    def __init__(self, scenario: Scenario, jobs: int, closed: ExitStack) -> None:
        self._scenario = scenario
        self._jobs = jobs
        self._closed = closed
        self._pool: ProcessPoolExecutor | None = None
        self._begun: dict[Directions, Future[Played]] = {}
        self._broken = False

    def play(self, directions: Directions, likely: Callable[[int], Iterable[Directions]]) -> Played:
        """Return what becomes of an order; have those played meanwhile that come after it."""
        following = () if self._broken else tuple(likely(_AHEAD * self._jobs))
        try:
            for one in (directions, *following) if following else ():
                if one not in self._begun:
                    if self._pool is None:
                        self._pool = self._closed.enter_context(process_pool(self._jobs))
                    self._begun[one] = self._pool.submit(played, self._scenario, one)
            if directions in self._begun:
                return self._begun.pop(directions).result()
        except BrokenProcessPool:
            self._broken = True
            self._begun.clear()
        return played(self._scenario, directions)


# `simulate`: policies, resources or a scenario → a simulated cluster → what becomes of them.
#
# Codes: KV051 inputs beside a scenario, KV052 an object that the cluster refuses before it
# begins.

_FILE_READERS: PolicyReaders = MappingProxyType(
    {
        **SIMULATED_READERS,
        **{name: read for name, read in READERS.items() if name[0] == NATIVE_GROUP},
    }
)
"""What reads policies in files: those of Kyverno, and the API server's own."""
Watched = Callable[[Iterator[Order]], Iterator[Order]]
"""Passes orders of steps on as they are tried, and may show how far that is."""


class SimulateInputs(NamedTuple):
    """What `kyvsim simulate` is given; paths are files, folders, globs or `-`.

    Where a Source can stand it is a text at hand. What is None is not said: a scenario's own
    settings count then, or the usual ones.
    """

    paths: tuple[str | Source, ...]
    """Policies, or one scenario."""
    resources: tuple[str | Source, ...] = ()
    exceptions: tuple[str | Source, ...] = ()
    objects: tuple[str, ...] = ()
    """What is there before the policies."""
    user: str = ""
    groups: tuple[str, ...] = ()
    model: str | None = None
    seed: int | None = None
    start: datetime | None = None
    horizon: float | None = None
    max_events: int | None = None
    budget: Budget = SIMULATED
    """What policies may take whenever they are asked."""
    install: str | None = None
    """`helm`, `ci`, or a file of values for Kyverno's chart."""
    interleavings: int | None = 1
    """How many orders of steps to try at most; None for all that can make a difference."""
    jobs: int = 0
    """How many processes play other orders of steps; 0 for as many as there are processors."""
    walking: Walking = USUAL
    """How folders are walked."""
    compared: tuple[str, ...] = ()
    """What is played once more in place of `paths`, all else being equal."""
    explain: str = ""
    """The object of which it is to be told why policies said what: one order of steps only."""


class Simulated(NamedTuple):
    """How it went."""

    simulation: Simulation | None
    """None where some input could not be used."""
    diagnostics: tuple[Diagnostic, ...]
    fail_on: str = ""
    """The level of hazards that the scenario counts as failures, "" where it does not say."""
    left_out: tuple[Diagnostic, ...] = ()
    """What was left out of folders: where, and what it is."""
    files: frozenset[str] = frozenset()
    """The files that were played: those of a scenario are known when it was read."""


def scenario_json_schema() -> Json:
    """Return the JSON Schema of scenario files."""
    return json_schema(scenario_schemas()[SCENARIO], "kyvsim scenario")


def simulate(
    inputs: SimulateInputs, stdin: bytes | None = None, watched: Watched = iter
) -> Simulated:
    """Return what becomes of policies and resources, or of a scenario, on a simulated cluster.

    `stdin` holds the bytes that the path `-` stands for. Nothing is played where some input cannot
    be read. A policy that Kyverno refuses is refused in the cluster too, and the others work.
    Raises NotFoundError where no object has the name that is to be explained.
    """
    done = _simulated(inputs, stdin, watched)
    if not inputs.compared:
        return done
    other = _simulated(inputs._replace(paths=inputs.compared), stdin, iter)
    simulation = done.simulation and done.simulation._replace(compared=other.simulation)
    # Most inputs are those of both runs, and so is what is to be said of them.
    told = tuple(dict.fromkeys((*done.diagnostics, *other.diagnostics)))
    left_out = tuple(dict.fromkeys((*done.left_out, *other.left_out)))
    files = done.files | other.files
    return done._replace(simulation=simulation, diagnostics=told, left_out=left_out, files=files)


def _simulated(inputs: SimulateInputs, stdin: bytes | None, watched: Watched) -> Simulated:
    documents, remarks = read_documents(inputs.paths, stdin, STRICT, inputs.walking)
    scenarios = [one for one in documents if is_scenario(one.data)]
    if scenarios:
        scenario, told = _named_scenario(inputs, documents, scenarios)
    else:
        scenario, told = _plain_scenario(inputs, documents, stdin)
    told, left_out = without_left_out((*remarks, *told))
    if scenario is not None:
        settings, problems = _settings(inputs, scenario.settings)
        told = (*told, *problems)
        scenario = scenario._replace(settings=settings)
    if scenario is None or _has_error(told):
        return Simulated(None, told, left_out=left_out)
    kinds = crd_kinds(one.data for one in scenario.objects)
    unsound = {one.locate(()): _refused(one, kinds) for one in scenario.policies}
    _, excepted = load_exceptions(scenario.exceptions)
    told = (*told, *(one for some in unsound.values() for one in some), *excepted)
    told = (*told, *_uncounted(scenario))
    kept = (one for one in scenario.policies if _is_policy(one.data))
    exceptions = (one for one in scenario.exceptions if _is_of_kyverno(one.data))
    sound = scenario._replace(policies=tuple(kept), exceptions=tuple(exceptions))
    limit = inputs.interleavings
    if inputs.explain:
        tracer = tracer_for(inputs.explain)
        simulation = play(sound, readers(written_in(sound)), tracer=tracer)
        simulation = with_inquiries(simulation, tracer, inputs.explain, sound)
    elif limit == 1:
        simulation = play(sound, readers())
    else:
        with player(sound, inputs.jobs or processors()) as play_order:
            orders = explore(play_order, limit, sound.settings.seed)
            simulation = with_interleavings(interleavings_of(watched(orders)))
    # What a look at the file has told says more of a refusal than the cluster does.
    known = {place for place, remarks in unsound.items() if _has_error(remarks)}
    told = (*told, *(one for one in simulation.diagnostics if one.location not in known))
    steps = (one for step in scenario.steps for one in step.objects)
    given = (*scenario.objects, *scenario.policies, *scenario.exceptions, *steps)
    files = frozenset(one.file for one in given)
    return Simulated(simulation, told, scenario.fail_on, left_out, files)


def _named_scenario(
    inputs: SimulateInputs, documents: tuple[Document, ...], scenarios: list[Document]
) -> tuple[Scenario | None, tuple[Diagnostic, ...]]:
    if any(isinstance(path, Source) for path in inputs.paths):
        text = "a scenario needs files, which cannot be read here: use `kyvsim simulate`"
        return None, (Diagnostic("KV051", Severity.ERROR, text, scenarios[0].locate(())),)
    others = [one for one in documents if one not in scenarios]
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
        ScenarioStep(Verb.CREATE, one.locate(()), objects=(one,), user=user, lenient=True)
        for one in resources
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
    """Return a scenario's settings, in place of which those of options count."""
    installation, problems = own.installation, tuple[Diagnostic, ...]()
    if inputs.install is not None:
        installation, problems = load_installation(inputs.install)
    settings = own._replace(
        installation=installation,
        model=own.model if inputs.model is None else inputs.model,
        seed=own.seed if inputs.seed is None else inputs.seed,
        start=own.start if inputs.start is None else inputs.start,
        horizon=own.horizon if inputs.horizon is None else inputs.horizon,
        max_events=own.max_events if inputs.max_events is None else inputs.max_events,
        budget=inputs.budget,
    )
    return settings, problems


def _refused(document: Document, kinds: KindTable) -> tuple[Diagnostic, ...]:
    """Return what is wrong with a policy that is there from the start, with custom `kinds`.

    An exception among the policies is put into the cluster as they are, and judged there.
    """
    if is_exception(document.data):
        return ()
    policies, remarks = load_policies([document], _FILE_READERS)
    remarks = (*remarks, *load_bindings([document])[1])
    options = CompileOptions(own_system(), simulated=True, kinds=kinds)
    _, refused = compile_policies(policies, options)
    return (*remarks, *refused)


def _uncounted(scenario: Scenario) -> tuple[Diagnostic, ...]:
    """Return that exceptions are given which do not count in the installation."""
    settings = scenario.settings
    installation = settings.installation or HELM
    counts = bool(installation.exceptions_namespace)
    if counts if settings.exceptions is None else settings.exceptions:
        return ()
    brought = (one for step in scenario.steps for one in step.objects)
    given = (*scenario.exceptions, *scenario.policies, *scenario.objects, *brought)
    exceptions = [one for one in given if is_exception(one.data)]
    if not exceptions:
        return ()
    text = (
        f"PolicyExceptions have no effect in the installation `{installation.name}`: values with "
        '`features: {policyExceptions: {enabled: true, namespace: "*"}}` (--install FILE) let them'
    )
    place = exceptions[0].locate(())
    return (Diagnostic("KV055", Severity.WARNING, text, place),)


def _is_policy(obj: Json) -> bool:
    """Return whether a document says that it is of Kyverno's, or an API server's own policy."""
    group, kind = split_api_version(text_field(obj, "apiVersion"))[0], text_field(obj, "kind")
    own = group == NATIVE_GROUP and kind in native_kinds()
    return (own and bool(text_field(metadata(obj), "name"))) or _is_of_kyverno(obj)


def _is_of_kyverno(obj: Json) -> bool:
    group = split_api_version(text_field(obj, "apiVersion"))[0]
    return group.endswith("kyverno.io") and bool(text_field(metadata(obj), "name"))


def _has_error(told: tuple[Diagnostic, ...]) -> bool:
    return any(one.severity is Severity.ERROR for one in told)
