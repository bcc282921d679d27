"""`equal` and `examples`: two policy sets compared by cases, and cases that show what rules do."""

import json
import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from kyvsim.api.explain import explanation_of
from kyvsim.api.explain_rows import Recorder
from kyvsim.api.inputs import ApplyInputs, ReadInputs, objects_of, read_inputs
from kyvsim.api.system import still_system
from kyvsim.engine.compile import CompileOptions
from kyvsim.engine.world import GivenObjects, World
from kyvsim.equivalence.cases import STRANGER, Case, Space, manifests, space_of, with_option_types
from kyvsim.equivalence.edits import is_pattern
from kyvsim.equivalence.objects import missing_targets
from kyvsim.equivalence.policy_runner import CaseWorld, PolicyPair, PolicyRunner, StepCounter
from kyvsim.equivalence.search import Search, SearchBudget
from kyvsim.equivalence.verdict import DecisionText, VerdictContext, actions, evidence_of, examples
from kyvsim.kubernetes.discovery import crd_kinds
from kyvsim.kubernetes.objects import Json
from kyvsim.languages import compile_policies
from kyvsim.languages.references import references_of as mentions_of
from kyvsim.languages.references import references_of_exception as mentions_of_exception
from kyvsim.load.files import Source
from kyvsim.model.comparison import (
    Answer,
    Evidence,
    ExampleObject,
    Examples,
    Limit,
    MissingExample,
    SideReached,
)
from kyvsim.model.coverage import Ratio
from kyvsim.model.diagnostic import Diagnostic, Severity, listed
from kyvsim.model.explanation import RuleExplanation
from kyvsim.model.field_reference import Subject
from kyvsim.model.policy import Binding, Policy
from kyvsim.model.request import UserInfo
from kyvsim.model.result import RuleStatus
from kyvsim.model.source import Document, Location
from kyvsim.patch.structured_merge import type_finder
from kyvsim.report.explained_rules import decision, rule_name
from kyvsim.report.object_text import whole_numbers
from kyvsim.suite.coverage import PointCounter

# Two sets of policies made ready to be asked the same, and who says what decided in a case.

_REFUSING = frozenset({RuleStatus.FAIL, RuleStatus.ERROR})


class ComparisonSetup(NamedTuple):
    """What both sides share."""

    options: CompileOptions
    given: tuple[Json, ...]
    """Objects to try, too."""
    case_world: CaseWorld
    user: UserInfo
    """Who sends requests, where it does not matter."""
    targets: tuple[Json, ...] = ()
    """Objects that are there for rules that change existing ones, since none were given."""
    conditions: frozenset[Limit] = frozenset()
    """What is known to hold, so that differences for want of it do not count."""

    def space(self, policies: Iterable[Policy]) -> Space:
        """Return what there is to vary for some policies."""
        found = [one for policy in policies for one in mentions_of(policy, self.options.system)]
        found += [one for some in self.options.exceptions for one in mentions_of_exception(some)]
        now = self.options.system.clock.now()
        return space_of(found, self.options.kinds, now)._replace(user=self.user)

    def pair(self, old: tuple[Policy, ...], new: tuple[Policy, ...]) -> PolicyPair:
        """Return both sides, which count what is reached in their policies."""
        return self._pair(self._followed(old), self._followed(new), self._patterns((*old, *new)))

    def quick_pair(self, old: tuple[Policy, ...], new: tuple[Policy, ...]) -> PolicyPair:
        """Return both sides, which tell nobody of what they do."""
        before, after = (
            PolicyRunner(compile_policies(one, self.options)[0], self.case_world)
            for one in (old, new)
        )
        return self._pair(before, after, self._patterns((*old, *new)))

    def _pair(self, old: PolicyRunner, new: PolicyRunner, patterns: frozenset[str]) -> PolicyPair:
        find = with_option_types(type_finder(self.options.kinds))
        return PolicyPair(old, new, self.case_world, find, self.conditions, patterns)

    def _patterns(self, policies: tuple[Policy, ...]) -> frozenset[str]:
        """Return the texts with operators that policies write for places in objects."""
        written = (value for some in self.space(policies).places.values() for value in some)
        return frozenset(one for one in written if one.__class__ is str and is_pattern(one))

    def _followed(self, policies: tuple[Policy, ...]) -> PolicyRunner:
        marks, tally = StepCounter(), PointCounter()
        options = self.options._replace(coverage_sink=tally.listen, tracer=marks)
        compiled = compile_policies(policies, options)[0]
        has_lookups = bool(self.space(policies).lookups)
        return PolicyRunner(compiled, self.case_world, marks, tally, has_lookups=has_lookups)


def comparison_setup(
    shared: ReadInputs, now: datetime | None, policies: Sequence[Policy] = ()
) -> ComparisonSetup:
    """Return what both sides share: what was read, and the time that it is.

    What rules of `policies` for existing objects change is there, too.
    """
    given = tuple(whole_numbers(one) for one in objects_of(shared.resources))
    others = objects_of((*shared.resources, *shared.targets, *shared.shared_data))
    world = World(
        GivenObjects(()),
        shared.values,
        context=GivenObjects(shared.context.resources) if shared.context.resources else None,
        images=shared.context.images,
        targets=objects_of(shared.targets),
    )
    exceptions = shared.exceptions
    options = CompileOptions(
        # JMESPath has times in whole seconds, CEL has the fractions: no difference that matters.
        still_system(now or datetime.now(UTC).replace(microsecond=0)),
        exceptions.rules,
        cel_exceptions=exceptions.policies,
        kinds=crd_kinds((*shared.definitions, *given)),
    )
    targets = tuple(missing_targets(policies, others, options.kinds))
    stores = any(rule.facts.spares_triggers for one in policies for rule in one.rules)
    case_world = CaseWorld(
        world,
        [*others, *targets],
        shared.definitions,
        stores=stores,
        binds=frozenset(place for one in policies for place in _role_places(one, options)),
    )
    return ComparisonSetup(options, given, case_world, shared.user or STRANGER, targets)


def _role_places(policy: Policy, options: CompileOptions) -> Iterator[str]:
    """Yield the namespaces in which a policy asks for roles, "" where it does so at all."""
    for one in mentions_of(policy, options.system):
        if one.about is Subject.REQUEST and one.way[1:] in {("roles",), ("clusterRoles",)}:
            yield ""
            texts = (value for value in one.values if value.__class__ is str)
            yield from (text.partition(":")[0] for text in texts if ":" in text)


def why(policies: tuple[Policy, ...], setup: ComparisonSetup) -> DecisionText:
    """Return what says what decided in a case: the policies compiled once more, to be followed."""
    recorder = Recorder()
    compiled = compile_policies(policies, setup.options._replace(tracer=recorder))[0]
    side = PolicyRunner(compiled, setup.case_world)

    def decided(case: Case) -> tuple[str, Location | None]:
        response = side.respond(setup.case_world.request(case), case)
        whole = explanation_of(response, recorder.taken(), compiled)

        def rank(rule: RuleExplanation) -> int:
            if any(one.status in _REFUSING for one in rule.results):
                return 0
            return 1 if rule.results else 2 if rule.applied else 3

        rule = min(whole.rules, key=rank, default=None)
        if rule is None:
            return "no rule was evaluated", None
        found = decision(rule, whole)
        return f"{rule_name(rule)}: {found.text}", found.place

    return decided


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
    first_only: bool = False
    """Whether one counterexample is enough."""
    needs_cases: bool = False
    """Whether cases are wanted even where both sides are identical."""
    conditions: frozenset[Limit] = frozenset()
    """Limits that were named beforehand, as conditions of a conversion."""


class Comparison(NamedTuple):
    """What came of it."""

    evidence: Evidence | None
    """None where a side could not be used."""
    diagnostics: tuple[Diagnostic, ...]
    tried: tuple[Case, ...] = ()
    """The cases that reached something new."""

    def manifests(self) -> tuple[list[Json], int]:
        """Return the tried cases as manifests for tests, and how many cannot be one."""
        return manifests(self.tried)


def compare(inputs: EqualInputs, stdin: bytes | None = None) -> Comparison:
    """Return whether two sets of policies do the same, as far as cases show it.

    `stdin` holds the bytes that the path `-` stands for. Where a policy or a manifest cannot be
    used there is no evidence: it would be about something else.
    """
    shared = read_inputs(inputs.shared, stdin)
    read = [read_inputs(ApplyInputs(policies=one), stdin) for one in (inputs.old, inputs.new)]
    said = [*shared.diagnostics, *(entry for one in read for entry in one.diagnostics)]
    setup = comparison_setup(
        shared, inputs.shared.now, [one for side in read for one in side.policies]
    )
    setup = setup._replace(conditions=inputs.conditions)
    said += [entry for one in read for entry in compile_policies(one.policies, setup.options)[1]]
    if any(one.severity is Severity.ERROR for one in said):
        return Comparison(None, tuple(dict.fromkeys(said)))
    old, new = (one.policies for one in read)
    unlike = _unlike_beside(*read)
    is_identical = not unlike and _contents(old) == _contents(new)
    if is_identical and not inputs.needs_cases:
        return Comparison(_identical(old, new), tuple(dict.fromkeys(said)))
    space = setup.space((*old, *new))
    pair = setup.pair(old, new)
    budget = SearchBudget(inputs.cases, inputs.seconds, time.process_time, inputs.first_only)
    tried = Search(pair, space, setup.options.kinds, budget).run(setup.given)
    context = VerdictContext(pair, setup.quick_pair(old, new), why(old, setup), why(new, setup))
    evidence = evidence_of(tried, space, context)
    if is_identical:
        # Whatever the cases did not reach is the same on both sides.
        evidence = evidence._replace(answer=Answer.EQUAL, reasons=(), identical=True)
    if unlike:
        kinds = listed(unlike)
        reason = f"objects of kind {kinds} differ between old and new, and are not compared"
        answer = Answer.NOT_COVERED if evidence.answer is Answer.EQUAL else evidence.answer
        evidence = evidence._replace(answer=answer, reasons=(*evidence.reasons, reason))
    return Comparison(evidence, tuple(dict.fromkeys(said)), tried.cases)


def _contents(policies: Iterable[Policy | Document | Binding]) -> list[str]:
    """Return what policies consist of, in an order of its own: files and comments do not count."""
    documents = (one if isinstance(one, Document) else one.document for one in policies)
    return sorted(json.dumps(one.data, sort_keys=True, default=str) for one in documents)


def _unlike_beside(old: ReadInputs, new: ReadInputs) -> list[str]:
    """Return the kinds of objects beside the policies that differ, and decide what policies do.

    Bindings say where an admission policy counts, GlobalContextEntries what a rule reads. Cases are
    evaluated without both: where they differ, equal policies are no evidence.
    """
    before, after = ({*_contents((*one.bindings, *one.shared_data))} for one in (old, new))
    return sorted({json.loads(one)["kind"] for one in before ^ after})


def _identical(old: Sequence[Policy], new: Sequence[Policy]) -> Evidence:
    """Return the evidence on two sides that are identical: nothing has to be tried."""
    before, after = (
        SideReached(tuple(f"{one.kind} {one.key}" for one in some), 0, Ratio(0, 0), ())
        for some in (old, new)
    )
    return Evidence(
        Answer.EQUAL,
        cases=0,
        given=0,
        denied=0,
        counterexamples=(),
        limited=(),
        reasons=(),
        untried=(),
        old=before,
        new=after,
        identical=True,
    )


# `examples`: policies → small objects that pass and fail each rule.

_CASES = 20000
_PATIENCE = 300
"""So many cases in a row without anything new: what is still missing cannot be shown."""


def make_examples(inputs: ApplyInputs, seconds: float, stdin: bytes | None = None) -> Examples:
    """Return objects for all that the rules of some policies do, each policy by itself.

    `seconds` is how long to make cases of one policy; `stdin` holds the bytes that the path `-`
    stands for. Where a policy cannot be used, or a manifest cannot, there are none.
    """
    read = read_inputs(inputs, stdin)
    setup = comparison_setup(read, inputs.now, read.policies)
    said = (*read.diagnostics, *compile_policies(read.policies, setup.options)[1])
    if any(one.severity is Severity.ERROR for one in said):
        return Examples((), (), said)
    found: list[ExampleObject] = []
    missing: list[MissingExample] = []
    for policy in read.policies:
        space = setup.space((policy,))
        pair = setup.pair((policy,), ())
        budget = SearchBudget(
            _CASES, seconds, time.process_time, compares=False, patience=_PATIENCE
        )
        tried = Search(pair, space, setup.options.kinds, budget).run(setup.given)
        wanted = tuple(actions(pair.old.points()))
        own, lacking = examples(wanted, tried, setup.quick_pair((policy,), ()))
        found += own
        missing += lacking
    return Examples(tuple(found), tuple(missing), said, setup.targets)
