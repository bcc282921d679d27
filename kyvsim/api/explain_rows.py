"""Single results explained: the policy is evaluated once more, on the object that the rule saw.

The closures are those of `explain`, so the verdict is the engine's. Only what failed is asked, and
only as often as it is shown: a run that passes pays nothing.
"""

from collections.abc import Callable, Iterator
from typing import TypeAlias

from kyvsim.api.explain_places import Placing, object_states
from kyvsim.api.explain_record import Recorder, explained_rules
from kyvsim.engine.compile import CompileOptions, PolicySet
from kyvsim.engine.evaluate import STAGES, evaluate, evaluate_payload
from kyvsim.engine.policy import RuleInput, open_request
from kyvsim.engine.world import World
from kyvsim.kubernetes.objects import Json
from kyvsim.languages import compile_policies
from kyvsim.model.explanation import RuleExplanation
from kyvsim.model.policy import Policy, Rule
from kyvsim.model.request import AdmissionRequest, Payload
from kyvsim.model.result import EngineResponse, Phase, RuleResult, RuleStatus, Stage
from kyvsim.model.source import Path
from kyvsim.report.failure_reasons import Explain, FailureExplanation, reasons_of
from kyvsim.report.results import Row

_Ask: TypeAlias = Callable[[PolicySet, EngineResponse, Row], EngineResponse | None]


def compile_explain(
    options: CompileOptions, world: World, payloads: tuple[Payload, ...]
) -> Explain:
    """Return what explains results of a run in a world, with payloads.

    `options` are those of its policies, but for who listens. What is asked about is compiled when
    it is first asked: a rule that validates, else its policy, whose rules see what others changed.
    Of a rule that failed the body alone is asked: it applied, or it had not failed.
    """
    recorder = Recorder()
    followed = options._replace(coverage_sink=None, tracer=recorder)
    known: dict[tuple[Policy, Path | None, bool], list[tuple[Rule | None, PolicySet]]] = {}
    evaluate_again = _compile_evaluate(world, payloads)

    def compiled(row: Row) -> PolicySet:
        only = row.result.rule if row.result.phase is Phase.VALIDATE else None
        failed = row.result.status is RuleStatus.FAIL
        forms = known.setdefault((row.policy, only.path if only else None, failed), [])
        for form, policies in forms:
            # A result that is told by another name has a rule made for it.
            if form is only or (form and only and form.is_renamed(only)):
                return policies
        alone = followed._replace(only=only, settled=failed and only is not None)
        policies, _ = compile_policies((row.policy,), alone)
        forms.append((only, policies))
        return policies

    placing = Placing(None, ())  # failures of one object share what is worked out about it

    def explain(response: EngineResponse, row: Row) -> tuple[FailureExplanation, ...]:
        nonlocal placing
        policies = compiled(row)
        recorder.taken()
        again = evaluate_again(policies, response, row)
        told = recorder.taken()
        if again is None:
            return ()
        rules = explained_rules(told, again)
        found = next((one for one in rules if _has(one, row)), None)
        if found is None:
            return ()
        states = object_states(again)
        if not placing.is_about(response.document, states):
            placing = Placing(response.document, states)
        return reasons_of(found, row.result, placing.way)

    return explain


def _compile_evaluate(world: World, payloads: tuple[Payload, ...]) -> _Ask:
    """Return what evaluates policies on the object that the rule of a row was evaluated on."""
    opened = _compile_opened(world)

    def evaluate_again(
        policies: PolicySet, response: EngineResponse, row: Row
    ) -> EngineResponse | None:
        if response.request is None:
            payload = next((one for one in payloads if one.document is response.document), None)
            return evaluate_payload(policies, payload, world) if payload else None
        request, around, given = opened(response, row)
        return evaluate(policies, request, around, [*_stages(response, row)], given=given)

    return evaluate_again


_Opened: TypeAlias = tuple[AdmissionRequest, World, RuleInput | None]
"""A request, the world around it, and what rules are evaluated on, if that is the same for all."""


def _compile_opened(world: World) -> Callable[[EngineResponse, Row], _Opened]:
    """Return what opens the request of a response for a row; failures of one object share it."""
    last: tuple[EngineResponse, Json, _Opened] | None = None

    def opened(response: EngineResponse, row: Row) -> _Opened:
        nonlocal last
        if last is not None and last[0] is response and last[1] is row.resource:
            return last[2]
        request = response.request
        if request is None:
            raise ValueError("a payload is no request")
        if request.object is not None:
            request = request._replace(object=row.resource)
        around = world._replace(arriving=response.document.data if response.document else None)
        # Given values differ from policy to policy.
        given = None if world.values else open_request(request, around, "")
        found = request, around, given
        last = response, row.resource, found
        return found

    return opened


def _stages(response: EngineResponse, row: Row) -> Iterator[Stage]:
    """Yield the stages of the phase in which a row came about, which may not be its own."""
    phases = {
        answer.phase
        for answer in response.responses
        if answer.policy is row.policy and any(_is_same(one, row.result) for one in answer.results)
    }
    return (stage for stage in STAGES if stage.phase in phases)


def _is_same(one: RuleResult, other: RuleResult) -> bool:
    return one.rule is other.rule and one.status is other.status and one.path == other.path


def _has(found: RuleExplanation, row: Row) -> bool:
    """Return whether a rule said again what a row says."""
    result = row.result
    return any(
        (one.rule.name, one.rule.path, one.status, one.path)
        == (result.rule.name, result.rule.path, result.status, result.path)
        for one in found.results
    )
