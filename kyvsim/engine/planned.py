"""What is known of an object before any rule is evaluated: shown by a plan, or seen before.

Plans know creations of whole objects, without values that were given for them.
"""

from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias

from kyvsim.compile import KindTurns, OpenTurn, Prospect, Recalled, Turn
from kyvsim.compile.plan import Plan
from kyvsim.engine.deletion import acting_on_deletion
from kyvsim.engine.policy import open_request
from kyvsim.engine.world import World
from kyvsim.kube.objects import Json, text_field
from kyvsim.model.request import AdmissionRequest, Operation
from kyvsim.model.result import (
    PassingPolicies,
    Phase,
    PolicyResponse,
    RuleResult,
    Stage,
)

_REPLACED: Final = frozenset({"object", "operation"})
"""Fields of a request that proofs look at."""

Known: TypeAlias = PassingPolicies | PolicyResponse


def prospects(
    of_kind: KindTurns, stage: Stage, request: AdmissionRequest, world: World
) -> Iterable[Known | OpenTurn]:
    """Return what is known of the turns of a stage that concern a request, and those left open."""
    turns = of_kind.stages[stage]
    if request.object is None:
        return map(OpenTurn, acting_on_deletion(turns, stage))
    if stage.phase is not Phase.VALIDATE or world.values or not _is_plain(request):
        return map(OpenTurn, turns)

    def make() -> "Plan | None":
        given = open_request(request, world, "")
        return Plan(turns, given.facts, given.scope) if given else None

    obj = request.object
    kind = text_field(obj, "apiVersion"), text_field(obj, "kind")
    plan = of_kind.plan(stage, kind, make)
    if plan is None:
        return map(OpenTurn, turns)
    phase, found = stage.phase, plan.prospects(obj)
    return [known for one in found if (known := _known(one, phase, obj))]


def _known(prospect: Prospect, phase: Phase, obj: Json) -> Known | OpenTurn | None:
    """Return what is known of a turn; None where that is that it has nothing to say."""
    if isinstance(prospect, OpenTurn):
        return prospect
    if isinstance(prospect, Recalled):
        policy, results = prospect
        return PolicyResponse(policy, phase, obj, results) if results else None
    return PassingPolicies(prospect, phase, obj)


def shown_passes(
    of_kind: KindTurns, stage: Stage, request: AdmissionRequest, world: World
) -> Mapping[int, tuple[RuleResult, ...]]:
    """Return the results of those turns of a stage that are shown to pass, by the id of each.

    It is for who asks turns by itself: a turn of which rules are left out is another one.
    """
    if stage not in of_kind.stages:
        return {}
    found = {
        id(policy): results
        for one in prospects(of_kind, stage, request, world)
        if isinstance(one, PassingPolicies)
        for policy, results in one.passes
    }
    turns = {id(turn): id(turn.policy.policy) for turn in of_kind.stages[stage]} if found else {}
    return {turn: found[policy] for turn, policy in turns.items() if policy in found}


def passing(turn: Turn, phase: Phase, obj: Json, results: tuple[RuleResult, ...]) -> PolicyResponse:
    """Return the answer of a policy all of whose rules pass."""
    return PolicyResponse(turn.policy.policy, phase, obj, results)


def _is_plain(request: AdmissionRequest) -> bool:
    """Return whether a request creates an object, and says nothing else that rules can ask for."""
    return (
        request.operation is Operation.CREATE
        and request.object.__class__ is dict
        and not request.subresource
        and request.parent_kind is None
        and (request.details is None or _REPLACED.isdisjoint(request.details))
    )
