"""Two sets of policies made ready to be asked the same, and who says what decided in a case."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from kyvsim.api.explain import explanation_of
from kyvsim.api.explain_record import Recorder
from kyvsim.api.inputs import ReadInputs, objects_of
from kyvsim.api.system import still_system
from kyvsim.engine.compile import CompileOptions
from kyvsim.engine.given_objects import GivenObjects
from kyvsim.engine.world import World
from kyvsim.equivalence.case import STRANGER, Case
from kyvsim.equivalence.existing import missing_targets
from kyvsim.equivalence.pair import Pair
from kyvsim.equivalence.side import Marks, Side, Surroundings
from kyvsim.equivalence.space import Space, space_of
from kyvsim.equivalence.subresources import with_option_types
from kyvsim.equivalence.values import is_pattern
from kyvsim.equivalence.verdict import Why
from kyvsim.kubernetes.discovery import crd_kinds
from kyvsim.kubernetes.objects import Json
from kyvsim.languages import compile_policies, references_of, references_of_exception
from kyvsim.model.evidence import Limit
from kyvsim.model.explanation import ObjectExplanation, RuleExplanation
from kyvsim.model.policy import About, Policy
from kyvsim.model.request import UserInfo
from kyvsim.model.result import RuleStatus
from kyvsim.model.source import Location
from kyvsim.patch.structured_merge import type_finder
from kyvsim.report.explain_words import decision, rule_name
from kyvsim.report.object_text import whole_numbers
from kyvsim.suite.coverage import PointCounter

_REFUSING = frozenset({RuleStatus.FAIL, RuleStatus.ERROR})


class Ground(NamedTuple):
    """What both sides share."""

    options: CompileOptions
    given: tuple[Json, ...]
    """Objects to try, too."""
    surroundings: Surroundings
    user: UserInfo
    """Who sends requests, where it does not matter."""
    targets: tuple[Json, ...] = ()
    """Objects that are there for rules that change existing ones, since none were given."""
    conditions: frozenset[Limit] = frozenset()
    """What is known to hold, so that differences for want of it do not count."""

    def space(self, policies: Iterable[Policy]) -> Space:
        """Return what there is to vary for some policies."""
        found = [one for policy in policies for one in references_of(policy, self.options.system)]
        found += [one for some in self.options.exceptions for one in references_of_exception(some)]
        now = self.options.system.clock.now()
        return space_of(found, self.options.kinds, now)._replace(user=self.user)

    def pair(self, old: tuple[Policy, ...], new: tuple[Policy, ...]) -> Pair:
        """Return both sides, which count what is reached in their policies."""
        return self._pair(self._followed(old), self._followed(new), self._patterns((*old, *new)))

    def quick_pair(self, old: tuple[Policy, ...], new: tuple[Policy, ...]) -> Pair:
        """Return both sides, which tell nobody of what they do."""
        before, after = (
            Side(compile_policies(one, self.options)[0], self.surroundings) for one in (old, new)
        )
        return self._pair(before, after, self._patterns((*old, *new)))

    def _pair(self, old: Side, new: Side, patterns: frozenset[str]) -> Pair:
        find = with_option_types(type_finder(self.options.kinds))
        return Pair(old, new, self.surroundings, find, self.conditions, patterns)

    def _patterns(self, policies: tuple[Policy, ...]) -> frozenset[str]:
        """Return the texts with operators that policies write for places in objects."""
        written = (value for some in self.space(policies).places.values() for value in some)
        return frozenset(one for one in written if one.__class__ is str and is_pattern(one))

    def _followed(self, policies: tuple[Policy, ...]) -> Side:
        marks, tally = Marks(), PointCounter()
        options = self.options._replace(coverage_sink=tally.listen, tracer=marks)
        compiled = compile_policies(policies, options)[0]
        asks = bool(self.space(policies).asked)
        return Side(compiled, self.surroundings, marks, tally, asks=asks)


def ground_of(shared: ReadInputs, now: datetime | None, policies: Sequence[Policy] = ()) -> Ground:
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
    surroundings = Surroundings(
        world,
        [*others, *targets],
        shared.definitions,
        stores=stores,
        binds=frozenset(place for one in policies for place in _role_places(one, options)),
    )
    return Ground(options, given, surroundings, shared.user or STRANGER, targets)


def _role_places(policy: Policy, options: CompileOptions) -> Iterator[str]:
    """Yield the namespaces in which a policy asks for roles, "" where it does so at all."""
    for one in references_of(policy, options.system):
        if one.about is About.REQUEST and one.way[1:] in {("roles",), ("clusterRoles",)}:
            yield ""
            texts = (value for value in one.values if value.__class__ is str)
            yield from (text.partition(":")[0] for text in texts if ":" in text)


def why(policies: tuple[Policy, ...], ground: Ground) -> Why:
    """Return what says what decided in a case: the policies compiled once more, to be followed."""
    recorder = Recorder()
    compiled = compile_policies(policies, ground.options._replace(tracer=recorder))[0]
    side = Side(compiled, ground.surroundings)

    def decided(case: Case) -> tuple[str, Location | None]:
        response = side.respond(ground.surroundings.request(case), case)
        whole = explanation_of(response, recorder.taken(), compiled)
        rule = _decisive(whole)
        if rule is None:
            return "no rule was asked", None
        found = decision(rule, whole)
        return f"{rule_name(rule)}: {found.text}", found.place

    return decided


def _decisive(whole: ObjectExplanation) -> RuleExplanation | None:
    """Return the rule that refused, else one that had something to say, else any."""

    def rank(rule: RuleExplanation) -> int:
        if any(one.status in _REFUSING for one in rule.results):
            return 0
        return 1 if rule.results else 2 if rule.applied else 3

    return min(whole.rules, key=rank, default=None)
