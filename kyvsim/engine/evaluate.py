"""A request through all stages: the one path that every command takes."""

from collections.abc import Iterable

from kyvsim.compile import OpenTurn, PolicySet, Turn
from kyvsim.engine.phases import STAGES
from kyvsim.engine.planned import prospects
from kyvsim.engine.policy import faulted, open_for, reopened, run_turn, within_request
from kyvsim.engine.rule import RuleInput
from kyvsim.engine.world import World
from kyvsim.kube.objects import Json, object_key, text_field
from kyvsim.model.request import AdmissionRequest
from kyvsim.model.result import EngineResponse, PassingPolicies, Phase, PolicyResponse, Stage


def evaluate(
    policies: PolicySet,
    request: AdmissionRequest,
    world: World,
    stages: Iterable[Stage] = STAGES,
    *,
    given: RuleInput | None = None,
) -> EngineResponse:
    """Return what the policies say about a request, and the object as they leave it.

    A pure function: the same arguments give the same response. `given` is what `open_request`
    returns for this very request, where the caller evaluates several sets of policies on it.
    """
    policies.begin_resource()
    answers: list[PolicyResponse | PassingPolicies] = []
    current = request
    of_kind = policies.of_kind(_kind_of(request))
    for stage in filter(of_kind.stages.__contains__, stages):
        source, given = (request, None) if stage.phase is Phase.DELETE else (current, given)
        begun = source
        for prospect in prospects(of_kind, stage, source, world):
            if not isinstance(prospect, OpenTurn):
                answers.append(prospect)
                continue
            given = _opened(given, source, world, prospect.turn)
            if given is None:
                continue
            seen = given
            if stage is Stage.CEL_MUTATE and source is not begun:
                seen = within_request(given, begun, world)
            response = _asked(prospect, stage.phase, seen, world, subject=source.subject)
            if response.results or response.silent:
                answers.append(response)
            if response.changed:
                source = current = current._replace(object=response.object)
            if stage is Stage.CEL_MUTATE and world.targets:
                world, given = _with_targets_after(world, response), None
    return EngineResponse(request.subject, current.object, tuple(answers), request=request)


def _asked(
    prospect: OpenTurn, phase: Phase, given: RuleInput, world: World, *, subject: Json
) -> PolicyResponse:
    turn, settled, recall = prospect
    try:
        response = run_turn(turn, phase, given, world, settled=settled)
    except Exception as error:  # noqa: BLE001 — INVARIANT: a policy's fault is its error here
        return faulted(turn, phase, subject, error)
    if recall and not response.silent:
        return response._replace(results=recall.keep(given.object, response.results))
    return response


def _kind_of(request: AdmissionRequest) -> str:
    return request.parent_kind[2] if request.parent_kind else text_field(request.subject, "kind")


def _with_targets_after(world: World, response: PolicyResponse) -> World:
    """Return a world whose targets are as a policy left them: the next one changes them further."""
    after = {
        object_key(one.object): one.object
        for result in response.results
        for one in result.targets
        if one.changed
    }
    return world._replace(targets=[after.get(object_key(one), one) for one in world.targets])


def _opened(
    given: RuleInput | None, request: AdmissionRequest, world: World, turn: Turn
) -> RuleInput | None:
    """Return what the rules of a turn are evaluated on; None where no object is left.

    Given values differ from policy to policy; without them one opening serves all, until the object
    is another one.
    """
    if given is None or world.values:
        return open_for(turn.policy.policy, request, world)
    return given if given.request is request else reopened(given, request, world)
