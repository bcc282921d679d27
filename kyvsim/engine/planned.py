"""What is shown of an object before any rule is evaluated.

Plans know creations of whole objects, without values that were given for them.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from kyvsim.compile import KindTurns, OpenTurn, Plan, Prospect, Turn
from kyvsim.engine.policy import open_request
from kyvsim.engine.world import World
from kyvsim.kube.objects import Json, text_field
from kyvsim.model.request import AdmissionRequest, Operation
from kyvsim.model.result import Phase, PolicyResponse, RuleResult, Stage

_REPLACED: Final = frozenset({"object", "operation"})
"""Fields of a request that proofs look at."""


def prospects(
    of_kind: KindTurns, stage: Stage, request: AdmissionRequest, world: World
) -> Iterable[Prospect]:
    """Return the turns of a stage that concern a request, with what is known of each before."""
    turns = of_kind.stages[stage]
    if request.object is None:
        from kyvsim.engine.deletion import acting_on_deletion  # noqa: PLC0415 — seldom asked for

        return _unknown(acting_on_deletion(turns, stage))
    if stage.phase is not Phase.VALIDATE or world.values or not _is_plain(request):
        return _unknown(turns)

    def make() -> Plan | None:
        given = open_request(request, world, "")
        return Plan(turns, given.facts, given.scope) if given else None

    obj = request.object
    kind = text_field(obj, "apiVersion"), text_field(obj, "kind")
    plan = of_kind.plan(stage, kind, make)
    return _unknown(turns) if plan is None else plan.prospects(obj)


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
        for prospect in prospects(of_kind, stage, request, world)
        if not isinstance(prospect, OpenTurn)
        for policy, results in prospect
    }
    turns = {id(turn): id(turn.policy.policy) for turn in of_kind.stages[stage]} if found else {}
    return {turn: found[policy] for turn, policy in turns.items() if policy in found}


def passing(turn: Turn, phase: Phase, obj: Json, results: tuple[RuleResult, ...]) -> PolicyResponse:
    """Return the answer of a policy all of whose rules pass."""
    return PolicyResponse(turn.policy.policy, phase, obj, results)


def _unknown(turns: Iterable[Turn]) -> Iterable[Prospect]:
    return map(OpenTurn, turns)


def _is_plain(request: AdmissionRequest) -> bool:
    """Return whether a request creates an object, and says nothing else that rules can ask for."""
    return (
        request.operation is Operation.CREATE
        and request.object.__class__ is dict
        and not request.subresource
        and request.parent_kind is None
        and (request.details is None or _REPLACED.isdisjoint(request.details))
    )
