"""`equal`: two sets of policies → cases of what they mention → the same or not."""

import time
from datetime import UTC, datetime

from kyvsim.api.explain import explanation_of
from kyvsim.api.explain_record import Recorder
from kyvsim.api.inputs import ApplyInputs, ReadInputs, objects_of, read_inputs
from kyvsim.api.system import still_system
from kyvsim.compile import CompileOptions
from kyvsim.engine import GivenObjects, World
from kyvsim.evidence.case import STRANGER, Case
from kyvsim.evidence.pair import Pair
from kyvsim.evidence.search import Budget, Search
from kyvsim.evidence.side import Marks, Side, Surroundings
from kyvsim.evidence.space import Space, space_of
from kyvsim.evidence.verdict import Bench, Why, evidence_of
from kyvsim.expr import System
from kyvsim.kube.discovery import KindTable, crd_kinds
from kyvsim.kube.objects import Json
from kyvsim.languages import compile_policies, mentions_of
from kyvsim.light.named_tuple import NamedTuple
from kyvsim.load.files import Source
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.evidence import Evidence
from kyvsim.model.explanation import ObjectExplanation, RuleExplanation
from kyvsim.model.policy import Policy
from kyvsim.model.result import RuleStatus
from kyvsim.model.source import Location
from kyvsim.patch.schema_types import type_finder
from kyvsim.report.explain_words import decision, rule_name
from kyvsim.report.json_text import whole_numbers
from kyvsim.suite.coverage import Tally

_REFUSING = frozenset({RuleStatus.FAIL, RuleStatus.ERROR})


class EqualInputs(NamedTuple):
    """What `kyvsim equal` is given."""

    old: tuple[str | Source, ...]
    new: tuple[str | Source, ...]
    shared: ApplyInputs
    """Resources, values, users, exceptions: whatever both sides are asked with."""
    cases: int = 20000
    """After how many cases to stop at the latest."""
    seconds: float = 8
    """After which time."""


class Comparison(NamedTuple):
    """What came of it."""

    evidence: Evidence | None
    """None where a side could not be used."""
    diagnostics: tuple[Diagnostic, ...]
    tried: tuple[Case, ...] = ()
    """The cases that reached something new, for tests that others can run."""


class _Reading(NamedTuple):
    """What both sides share, read."""

    inputs: ReadInputs
    system: System
    kinds: KindTable
    given: tuple[Json, ...]
    surroundings: Surroundings


def compare(inputs: EqualInputs, stdin: bytes | None = None) -> Comparison:
    """Return whether two sets of policies do the same, as far as cases show it.

    `stdin` holds the bytes that the path `-` stands for. Where a policy or a manifest cannot be
    used there is no evidence: it would be about something else.
    """
    shared = read_inputs(inputs.shared, stdin)
    read = [read_inputs(ApplyInputs(policies=one), stdin) for one in (inputs.old, inputs.new)]
    said = [*shared.diagnostics, *(entry for one in read for entry in one.diagnostics)]
    reading = _reading(shared, inputs)
    compiled = [compile_policies(one.policies, _options(reading)) for one in read]
    said += [entry for _, told in compiled for entry in told]
    if any(one.severity is Severity.ERROR for one in said):
        return Comparison(None, tuple(dict.fromkeys(said)))
    sides = [one.policies for one in read]
    space = _space([policy for some in sides for policy in some], reading)
    find = type_finder(reading.kinds)
    old, new = (_side(some, reading) for some in sides)
    pair = Pair(old, new, reading.surroundings, find)
    budget = Budget(inputs.cases, inputs.seconds, time.monotonic)
    tried = Search(pair, space, budget).run(reading.given, reading.kinds)
    old, new = (Side(found, reading.surroundings) for found, _ in compiled)
    quick = Pair(old, new, reading.surroundings, find)
    bench = Bench(pair, quick, *(_why(some, reading) for some in sides))
    evidence = evidence_of(tried, space, bench)
    return Comparison(evidence, tuple(dict.fromkeys(said)), tried.cases)


def _reading(shared: ReadInputs, inputs: EqualInputs) -> _Reading:
    system = still_system(inputs.shared.now or datetime.now(UTC))
    given = tuple(whole_numbers(one) for one in objects_of(shared.resources))
    others = objects_of((*shared.resources, *shared.targets, *shared.shared_data))
    world = World(
        GivenObjects(()),
        shared.values,
        context=GivenObjects(shared.context.resources) if shared.context.resources else None,
        images=shared.context.images,
        targets=objects_of(shared.targets),
    )
    return _Reading(
        inputs=shared,
        system=system,
        kinds=crd_kinds((*shared.definitions, *given)),
        given=given,
        surroundings=Surroundings(world, others, shared.definitions),
    )


def _options(reading: _Reading) -> CompileOptions:
    exceptions = reading.inputs.exceptions
    return CompileOptions(
        reading.system,
        exceptions.rules,
        cel_exceptions=exceptions.policies,
        kinds=reading.kinds,
    )


def _side(policies: tuple[Policy, ...], reading: _Reading) -> Side:
    marks, tally = Marks(), Tally()
    options = _options(reading)._replace(listener=tally.listen, follower=marks)
    compiled = compile_policies(policies, options)[0]
    asks = bool(_space(list(policies), reading).asked)
    return Side(compiled, reading.surroundings, marks, tally, asks=asks)


def _space(policies: list[Policy], reading: _Reading) -> Space:
    mentions = [one for policy in policies for one in mentions_of(policy, reading.system)]
    space = space_of(mentions, reading.kinds)
    return space._replace(user=reading.inputs.user or STRANGER)


def _why(policies: tuple[Policy, ...], reading: _Reading) -> Why:
    """Return what says what decided in a case: the policies compiled once more, to be followed."""
    recorder = Recorder()
    options = _options(reading)._replace(follower=recorder)
    compiled = compile_policies(policies, options)[0]
    side = Side(compiled, reading.surroundings)

    def why(case: Case) -> tuple[str, Location | None]:
        response = side.respond(reading.surroundings.request(case), case.namespace_labels)
        whole = explanation_of(response, recorder.taken(), compiled)
        rule = _decisive(whole)
        if rule is None:
            return "no rule was asked", None
        decided = decision(rule, whole)
        return f"{rule_name(rule)}: {decided.text}", decided.place

    return why


def _decisive(whole: ObjectExplanation) -> RuleExplanation | None:
    """Return the rule that refused, else one that had something to say, else any."""

    def rank(rule: RuleExplanation) -> int:
        if any(one.status in _REFUSING for one in rule.results):
            return 0
        return 1 if rule.results else 2 if rule.applied else 3

    return min(whole.rules, key=rank, default=None)
