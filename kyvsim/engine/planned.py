"""What is shown of an object before any rule is evaluated.

Plans know creations of whole objects, without values that were given for them.
"""

from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias

from kyvsim.compile import KindTurns, Plan, Turn
from kyvsim.engine.policy import open_request
from kyvsim.engine.world import World
from kyvsim.kube.objects import Json, text_field
from kyvsim.model.request import AdmissionRequest, Operation
from kyvsim.model.result import Passes, Phase, PolicyResponse, Stage

_REPLACED: Final = frozenset({"object", "operation"})
"""Fields of a request that proofs look at."""

Prospect: TypeAlias = tuple[tuple[Turn, bool], Passes | None]
"""A turn and whether it is settled that its rules apply; the results if they are shown."""


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
    return _unknown(turns) if plan is None else zip(plan.turns, plan.results(obj), strict=True)


def shown_passes(
    of_kind: KindTurns, stage: Stage, request: AdmissionRequest, world: World
) -> Mapping[int, Passes]:
    """Return the results of those turns of a stage that are shown to pass, by the id of each.

    It is for who asks turns by itself: a turn of which rules are left out is another one.
    """
    if stage not in of_kind.stages:
        return {}
    found = {
        id(turn.policy): shown
        for (turn, _), shown in prospects(of_kind, stage, request, world)
        if shown is not None
    }
    turns = of_kind.stages[stage] if found else ()
    return {id(turn): found[id(turn.policy)] for turn in turns if id(turn.policy) in found}


def passing(turn: Turn, phase: Phase, obj: Json, results: Passes) -> PolicyResponse:
    """Return the answer of a policy all of whose rules pass; made often, so from all its fields."""
    return PolicyResponse._make((turn.policy.policy, phase, obj, results, False, ()))


def _unknown(turns: Iterable[Turn]) -> Iterable[Prospect]:
    return (((turn, False), None) for turn in turns)


def _is_plain(request: AdmissionRequest) -> bool:
    """Return whether a request creates an object, and says nothing else that rules can ask for."""
    return (
        request.operation is Operation.CREATE
        and request.object.__class__ is dict
        and not request.subresource
        and request.parent_kind is None
        and (request.details is None or _REPLACED.isdisjoint(request.details))
    )
