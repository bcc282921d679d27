"""The index: which rules can an object of this kind touch at all?"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeAlias

from kyvsim.compile.compiled import CompiledPolicy, CompiledRule
from kyvsim.compile.plan import Plan
from kyvsim.compile.turn import Turn
from kyvsim.model.budget import Meter
from kyvsim.model.result import Phase, Stage

_PLANNED_AFTER: Final = 8
"""So many objects are evaluated without a plan: as many as making one costs."""
_MOST_KINDS: Final = 256

_PlanKey: TypeAlias = tuple[Stage, tuple[str, str]]


class KindTurns:
    """The turns for one kind of object, and the plans that are made for them."""

    __slots__ = ("_met", "_plans", "stages")

    def __init__(self, stages: Mapping[Stage, tuple[Turn, ...]]) -> None:
        self.stages = stages
        """The turns of each stage; those that run nothing are not there."""
        self._met: dict[_PlanKey, int] = {}
        self._plans: dict[_PlanKey, Plan] = {}

    def plan(
        self, stage: Stage, kind: tuple[str, str], make: Callable[[], Plan | None]
    ) -> Plan | None:
        """Return the plan of a stage for objects of an API version and kind, or None.

        It is made once there are enough of them.
        """
        key = stage, kind
        plan = self._plans.get(key)
        if plan is not None or len(self._met) >= _MOST_KINDS:
            return plan
        met = self._met[key] = self._met.get(key, 0) + 1
        if met > _PLANNED_AFTER and (plan := make()):
            self._plans[key] = plan
        return plan


class PolicySet:
    """Compiled policies in the order in which they were given, indexed by kind when asked."""

    __slots__ = ("_by_kind", "_meter", "_named", "_otherwise", "policies")

    def __init__(self, policies: tuple[CompiledPolicy, ...], meter: Meter | None = None) -> None:
        self.policies = policies
        self._meter = meter
        self._named = frozenset(kind for policy in policies for kind in _kinds_of(policy))
        self._by_kind: dict[str, KindTurns] = {}
        self._otherwise = KindTurns(_turns(policies, ""))

    @property
    def mutates(self) -> bool:
        """Whether a policy has mutate rules: objects may not be stored as they are given."""
        return any(
            rule.stage.phase is Phase.MUTATE
            for policy in self.policies
            for rule in (*policy.plain, *policy.written)
        )

    def begin_resource(self) -> None:
        """Count the steps of another resource from here on."""
        if self._meter is not None:
            self._meter.begin_resource()

    def turns(self, stage: Stage, kind: str) -> tuple[Turn, ...]:
        """Return what a stage runs on an object of a kind; rules still decide if they match."""
        return self.of_kind(kind).stages.get(stage, ())

    def of_kind(self, kind: str) -> KindTurns:
        """Return the same for all stages."""
        found = self._by_kind.get(kind)
        if found is None:
            if kind not in self._named:
                return self._otherwise
            found = self._by_kind[kind] = KindTurns(_turns(self.policies, kind))
        return found


def index_policies(policies: Iterable[CompiledPolicy], meter: Meter | None = None) -> PolicySet:
    """Return the policies with an index by kind, and what counts their steps."""
    return PolicySet(tuple(policies), meter)


def _kinds_of(policy: CompiledPolicy) -> set[str]:
    named = {kind for rule in policy.plain for kind in rule.kinds or ()}
    return named if policy.derivation is None else named | policy.derivation.kinds


def _turns(policies: tuple[CompiledPolicy, ...], kind: str) -> dict[Stage, tuple[Turn, ...]]:
    found: dict[Stage, list[Turn]] = {}
    for policy in policies:
        by_stage: dict[Stage, list[CompiledRule]] = {}
        for rule in policy.of_kind(kind):
            by_stage.setdefault(rule.stage, []).append(rule)
        for stage, rules in by_stage.items():
            found.setdefault(stage, []).append(Turn(policy, tuple(rules)))
    return {stage: tuple(turns) for stage, turns in found.items()}
