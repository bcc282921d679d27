"""`equal` and `examples`: comparison of two policy sets by cases, and example objects for rules."""

import json
import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import cache, partial
from typing import NamedTuple

from kyvsim.api.inputs import ApplyInputs, ReadInputs, given_world, objects_of, read_inputs
from kyvsim.api.processes import shared_by_processes
from kyvsim.engine.compile import CompileOptions, PolicySet
from kyvsim.engine.explain import Recorder, explanation_of
from kyvsim.engine.world import GivenObjects
from kyvsim.equivalence.cases import STRANGER, Case, Space, manifests, space_of, with_option_types
from kyvsim.equivalence.edits import is_pattern
from kyvsim.equivalence.objects import missing_targets
from kyvsim.equivalence.policy_runner import CaseWorld, PolicyPair, PolicyRunner, StepCounter
from kyvsim.equivalence.search import Search
from kyvsim.equivalence.verdict import DecisionText, VerdictContext, actions, evidence_of, examples
from kyvsim.kubernetes.discovery import crd_kinds
from kyvsim.kubernetes.objects import KubernetesObject
from kyvsim.languages import compile_policies, references_of
from kyvsim.languages.classic.field_references import exception_references
from kyvsim.load.files import Source
from kyvsim.model.comparison import (
    Answer,
    Evidence,
    ExampleObject,
    Examples,
    Limit,
    MissingExample,
    SearchBudget,
    SideReached,
)
from kyvsim.model.coverage import Ratio
from kyvsim.model.diagnostic import Diagnostic, has_errors, listed
from kyvsim.model.explanation import RuleExplanation
from kyvsim.model.field_reference import Subject
from kyvsim.model.policy import Binding, Policy
from kyvsim.model.ports import still_system
from kyvsim.model.release import NEWEST, Release
from kyvsim.model.request import UserInfo
from kyvsim.model.result import RuleStatus
from kyvsim.model.source import Document, Location
from kyvsim.report.decisions import decision, rule_name
from kyvsim.report.object_text import whole_numbers
from kyvsim.schema.merge_types import type_finder

_REFUSING = frozenset({RuleStatus.FAIL, RuleStatus.ERROR})
_FEW = 2
"""Up to this many differences are minimised faster by one process."""


class ComparisonSetup(NamedTuple):
    """The context shared by both policy sets."""

    options: CompileOptions
    given: tuple[KubernetesObject, ...]
    case_world: CaseWorld
    user: UserInfo
    """The user of requests if policies do not depend on it."""
    targets: tuple[KubernetesObject, ...] = ()
    """Synthesised objects for rules that change existing ones."""
    conditions: frozenset[Limit] = frozenset()
    """Limits that were stated in advance: differences due to these do not count."""

    def space(self, policies: Iterable[Policy]) -> Space:
        """Return the space of cases for the given policies."""
        references = [
            reference
            for policy in policies
            for reference in references_of(policy, self.options.system)
        ]
        references += [
            reference
            for exception in self.options.exceptions
            for reference in exception_references(exception)
        ]
        now = self.options.system.clock.now()
        return space_of(references, self.options.kinds, now)._replace(user=self.user)

    def compiled(self, policies: tuple[Policy, ...]) -> PolicySet:
        """Return policies compiled without tracing."""
        return compile_policies(policies, self.options)[0]

    def pair(self, old: tuple[Policy, ...], new: tuple[Policy, ...], space: Space) -> PolicyPair:
        """Return both sides, with coverage counts of their policies, for cases of a space."""
        return self._pair(self._followed(old), self._followed(new), space)

    def quick_pair(self, old: PolicySet, new: PolicySet, space: Space) -> PolicyPair:
        """Return both sides without tracing."""
        before, after = (PolicyRunner(side, self.case_world) for side in (old, new))
        return self._pair(before, after, space)

    def _pair(self, old: PolicyRunner, new: PolicyRunner, space: Space) -> PolicyPair:
        find = with_option_types(type_finder(self.options.kinds))
        written = (value for values in space.places.values() for value in values)
        patterns = frozenset(one for one in written if one.__class__ is str and is_pattern(one))
        return PolicyPair(old, new, self.case_world, find, self.conditions, patterns)

    def _followed(self, policies: tuple[Policy, ...]) -> PolicyRunner:
        marks = StepCounter()
        compiled = compile_policies(policies, self.options._replace(tracer=marks))[0]
        has_lookups = bool(self.space(policies).lookups)
        return PolicyRunner(compiled, self.case_world, marks, has_lookups=has_lookups)


def comparison_setup(
    shared: ReadInputs,
    now: datetime | None,
    policies: Sequence[Policy] = (),
    release: Release = NEWEST,
) -> ComparisonSetup:
    """Return the shared context, with the objects that rules of `policies` would mutate."""
    given = tuple(whole_numbers(document) for document in objects_of(shared.resources))
    others = objects_of((*shared.resources, *shared.targets, *shared.shared_data))
    targets = objects_of(shared.targets)
    world = given_world(GivenObjects(()), shared.values, shared.context, targets)
    exceptions = shared.exceptions
    options = CompileOptions(
        # JMESPath truncates times to seconds, CEL does not: this difference does not matter.
        still_system(now or datetime.now(UTC).replace(microsecond=0), release),
        exceptions.rules,
        cel_exceptions=exceptions.policies,
        kinds=crd_kinds((*shared.definitions, *given)),
    )
    missing = tuple(missing_targets(policies, others, options.kinds))
    stores = any(rule.facts.spares_triggers for policy in policies for rule in policy.rules)
    case_world = CaseWorld(
        world,
        [*others, *missing],
        shared.definitions,
        stores=stores,
        binds=frozenset(place for policy in policies for place in _role_places(policy, options)),
    )
    return ComparisonSetup(options, given, case_world, shared.user or STRANGER, missing)


def _role_places(policy: Policy, options: CompileOptions) -> Iterator[str]:
    """Yield the namespaces of roles that a policy reads, "" for any."""
    for reference in references_of(policy, options.system):
        if reference.about is Subject.REQUEST and reference.path[1:] in {
            ("roles",),
            ("clusterRoles",),
        }:
            yield ""
            texts = (value for value in reference.values if value.__class__ is str)
            yield from (text.partition(":")[0] for text in texts if ":" in text)


def decision_text(policies: tuple[Policy, ...], setup: ComparisonSetup) -> DecisionText:
    """Return a function that explains a case: it evaluates the policies with a tracer."""
    recorder = Recorder()

    @cache
    def side() -> PolicyRunner:
        options = setup.options._replace(tracer=recorder)
        return PolicyRunner(compile_policies(policies, options)[0], setup.case_world)

    def decided(case: Case) -> tuple[str, Location | None]:
        response = side().respond(case)
        whole = explanation_of(response, recorder.taken(), side().policies)

        def rank(rule: RuleExplanation) -> int:
            if any(result.status in _REFUSING for result in rule.results):
                return 0
            return 1 if rule.results else 2 if rule.applied else 3

        rule = min(whole.rules, key=rank, default=None)
        if rule is None:
            return "no rule was evaluated", None
        reason = decision(rule, whole)
        return f"{rule_name(rule)}: {reason.text}", reason.place

    return decided


class EqualInputs(NamedTuple):
    """The inputs of `kyvsim equal`."""

    old: tuple[str | Source, ...]
    new: tuple[str | Source, ...]
    shared: ApplyInputs
    budget: SearchBudget = SearchBudget()
    jobs: int = 1
    """The number of processes that minimise cases; 0 for one per CPU if it is worth it."""
    needs_cases: bool = False
    """Whether to try cases even if both sides are identical."""
    conditions: frozenset[Limit] = frozenset()


class Comparison(NamedTuple):
    """The result of a comparison."""

    evidence: Evidence | None
    """None if a policy set could not be used."""
    diagnostics: tuple[Diagnostic, ...]
    tried: tuple[Case, ...] = ()

    def manifests(self) -> tuple[list[KubernetesObject], int]:
        """Return the tried cases as manifests for tests, and the number of unconvertible ones."""
        return manifests(self.tried)


def compare(inputs: EqualInputs, stdin: bytes | None = None) -> Comparison:
    """Return the evidence on whether two policy sets behave the same.

    `stdin` is read for the path `-`. Without evidence if a policy or manifest could not be used.
    """
    shared = read_inputs(inputs.shared, stdin)
    read = [read_inputs(ApplyInputs(policies=paths), stdin) for paths in (inputs.old, inputs.new)]
    diagnostics = [*shared.diagnostics, *(entry for side in read for entry in side.diagnostics)]
    both = [policy for side in read for policy in side.policies]
    setup = comparison_setup(shared, inputs.shared.now, both, inputs.shared.release)
    setup = setup._replace(conditions=inputs.conditions)
    compiled = [compile_policies(side.policies, setup.options) for side in read]
    diagnostics += [entry for _, found in compiled for entry in found]
    if has_errors(diagnostics):
        return Comparison(None, tuple(dict.fromkeys(diagnostics)))
    old, new = (side.policies for side in read)
    unlike = _unlike_beside(*read)
    is_identical = not unlike and _contents(old) == _contents(new)
    if is_identical and not inputs.needs_cases:
        return Comparison(_identical(old, new), tuple(dict.fromkeys(diagnostics)))
    space = setup.space((*old, *new))
    pair = setup.pair(old, new, space)
    search = Search(pair, space, setup.options.kinds, inputs.budget, time.process_time)
    tried = search.run(setup.given)
    before, after = (policies for policies, _ in compiled)
    quick = setup.quick_pair(before, after, space)
    context = VerdictContext(pair, quick, decision_text(old, setup), decision_text(new, setup))
    share = partial(shared_by_processes, jobs=inputs.jobs, few=_FEW, first=0)
    evidence = evidence_of(tried, space, context, share)
    if is_identical:
        # Parts that the cases did not reach are the same on both sides.
        evidence = evidence._replace(answer=Answer.EQUAL, reasons=(), identical=True)
    if unlike:
        kinds = listed(unlike)
        reason = f"objects of kind {kinds} differ between old and new, and are not compared"
        answer = Answer.NOT_COVERED if evidence.answer is Answer.EQUAL else evidence.answer
        evidence = evidence._replace(answer=answer, reasons=(*evidence.reasons, reason))
    return Comparison(evidence, tuple(dict.fromkeys(diagnostics)), tried.cases)


def _contents(policies: Iterable[Policy | Document | Binding]) -> list[str]:
    """Return the sorted contents of policies, without file names and comments."""
    documents = (policy if isinstance(policy, Document) else policy.document for policy in policies)
    return sorted(json.dumps(document.data, sort_keys=True, default=str) for document in documents)


def _unlike_beside(old: ReadInputs, new: ReadInputs) -> list[str]:
    """Return the kinds of bindings and shared data that differ.

    Cases are evaluated without these, so equal policies would not prove anything.
    """
    before, after = ({*_contents((*side.bindings, *side.shared_data))} for side in (old, new))
    return sorted({json.loads(text)["kind"] for text in before ^ after})


def _identical(old: Sequence[Policy], new: Sequence[Policy]) -> Evidence:
    """Return the evidence for two identical policy sets, without cases."""
    before, after = (
        SideReached(tuple(f"{policy.kind} {policy.key}" for policy in policies), 0, Ratio(0, 0), ())
        for policies in (old, new)
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


_PATIENCE = 300
"""Number of consecutive cases without new results after which the search ends."""


def make_examples(
    inputs: ApplyInputs, budget: SearchBudget, stdin: bytes | None = None
) -> Examples:
    """Return examples of all outcomes of the rules, policy by policy.

    `budget` limits the search for one policy; `stdin` is read for the path `-`. There are no
    examples if a policy or manifest could not be used.
    """
    read = read_inputs(inputs, stdin)
    setup = comparison_setup(read, inputs.now, read.policies, inputs.release)
    diagnostics = (*read.diagnostics, *compile_policies(read.policies, setup.options)[1])
    if has_errors(diagnostics):
        return Examples((), (), diagnostics)
    budget = budget._replace(compares=False, patience=_PATIENCE)
    example_objects: list[ExampleObject] = []
    missing: list[MissingExample] = []
    for policy in read.policies:
        space = setup.space((policy,))
        pair = setup.pair((policy,), (), space)
        search = Search(pair, space, setup.options.kinds, budget, time.process_time)
        tried = search.run(setup.given)
        expected = tuple(actions(pair.old.points()))
        quick = setup.quick_pair(setup.compiled((policy,)), setup.compiled(()), space)
        own, lacking = examples(expected, tried, quick)
        example_objects += own
        missing += lacking
    return Examples(tuple(example_objects), tuple(missing), diagnostics, setup.targets)
