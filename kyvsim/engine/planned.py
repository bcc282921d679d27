"""What is shown of an object before any rule is evaluated.

Plans know creations of whole objects, without values that were given for them.
"""

from collections.abc import Iterable
from itertools import repeat
from typing import Final

from kyvsim.compile import KindTurns, Plan
from kyvsim.engine.policy import open_request
from kyvsim.engine.world import World
from kyvsim.kube.objects import text_field
from kyvsim.model.request import AdmissionRequest, Operation
from kyvsim.model.result import Passes, Phase, Stage

_REPLACED: Final = frozenset({"object", "operation"})
"""Fields of a request that proofs look at."""


def shown_results(
    of_kind: KindTurns, stage: Stage, request: AdmissionRequest, world: World
) -> Iterable[Passes | None]:
    """Return the results of each turn that are shown; None where its rules have to be evaluated."""
    turns = of_kind.stages[stage]
    if stage.phase is not Phase.VALIDATE or world.values or not _is_plain(request):
        return repeat(None, len(turns))

    def make() -> Plan | None:
        given = open_request(request, world, "")
        return Plan(turns, given.facts, given.scope) if given else None

    obj = request.object
    kind = text_field(obj, "apiVersion"), text_field(obj, "kind")
    plan = of_kind.plan(stage, kind, make)
    return repeat(None, len(turns)) if plan is None else plan.results(obj)


def _is_plain(request: AdmissionRequest) -> bool:
    """Return whether a request creates an object, and says nothing else that rules can ask for."""
    return (
        request.operation is Operation.CREATE
        and request.object.__class__ is dict
        and not request.subresource
        and request.parent_kind is None
        and (request.details is None or _REPLACED.isdisjoint(request.details))
    )
