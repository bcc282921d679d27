"""Explanations of reported failures: the policy is evaluated again with a tracer."""

from typing import TypeAlias

from kyvsim.engine.compile import CompileOptions, PolicySet
from kyvsim.engine.evaluate import STAGES
from kyvsim.engine.explain import Placing, Recorder, explain, object_states
from kyvsim.engine.policy import RuleInput, open_request
from kyvsim.engine.world import World
from kyvsim.kubernetes.objects import KubernetesObject, Path
from kyvsim.languages import compile_policies
from kyvsim.model.policy import Policy, Rule
from kyvsim.model.request import AdmissionRequest, Payload
from kyvsim.model.result import EngineResponse, Phase, RuleResult, RuleStatus
from kyvsim.report.diagnostics import Explain, FailureExplanation, reasons_of
from kyvsim.report.results import Row

_Opened: TypeAlias = tuple[AdmissionRequest, World, RuleInput | None]
"""A request, its world, and the input of rules if all policies share it."""


def compile_explain(
    options: CompileOptions, world: World, payloads: tuple[Payload, ...]
) -> Explain:
    """Return a function that explains results of a run in a world, with payloads.

    `options` are those of its policies. Only shown results are explained, so a run that passes
    costs nothing.
    """
    return _RowExplainer(options, world, payloads).explain


class _RowExplainer:
    """Explains rows of one run, and caches data shared by several rows."""

    def __init__(
        self, options: CompileOptions, world: World, payloads: tuple[Payload, ...]
    ) -> None:
        self._recorder = Recorder()
        self._options = options._replace(tracer=self._recorder)
        self._world = world
        self._payloads = payloads
        self._compiled: dict[
            tuple[Policy, Path | None, bool], list[tuple[Rule | None, PolicySet]]
        ] = {}
        self._opened: tuple[EngineResponse, KubernetesObject | None, _Opened] | None = None
        """The last response and object with its request, which failures of one object share."""
        self._placing = Placing(None, ())
        """A cache of the positions in an object."""

    def explain(self, response: EngineResponse, row: Row) -> tuple[FailureExplanation, ...]:
        """Return why a row failed; () if unknown, because it does not fail again."""
        policies, result = self._policies(row), row.result
        if response.request is None:
            about = (one for one in self._payloads if one.document is response.document)
            payload = next(about, None)
            if payload is None:
                return ()
            found = explain(policies, self._recorder, payload, result, self._world)
        else:
            request, world, given = self._open(response, response.request, row)
            phases = {
                answer.phase
                for answer in response.responses
                if answer.policy is row.policy
                and any(_is_same(one, result) for one in answer.results)
            }
            stages = [stage for stage in STAGES if stage.phase in phases]
            found = explain(policies, self._recorder, request, result, world, stages, given=given)
        if found is None:
            return ()
        states = object_states(found.response)
        if not self._placing.is_about(response.document, states):
            self._placing = Placing(response.document, states)
        return reasons_of(found.rules[0], result, self._placing.way)

    def _policies(self, row: Row) -> PolicySet:
        """Return the policies to evaluate for a row, compiled on demand.

        This is a single validate rule, or for other types its policy, whose rules depend on earlier
        mutations. If the rule failed, only its body is evaluated, since it must have matched.
        """
        only = row.result.rule if row.result.phase is Phase.VALIDATE else None
        failed = row.result.status is RuleStatus.FAIL
        key = (row.policy, only.path if only else None, failed)
        forms = self._compiled.setdefault(key, [])
        for form, policies in forms:
            # A renamed rule is created for results with another name.
            if form is only or (form and only and form.is_renamed(only)):
                return policies
        options = self._options._replace(only=only, settled=failed and only is not None)
        policies, _ = compile_policies((row.policy,), options)
        forms.append((only, policies))
        return policies

    def _open(self, response: EngineResponse, request: AdmissionRequest, row: Row) -> _Opened:
        """Return the request of a response, with the object that the rule of a row evaluated."""
        last = self._opened
        if last is not None and last[0] is response and last[1] is row.resource:
            return last[2]
        if request.object is not None:
            request = request._replace(object=row.resource)
        arriving = response.document.data if response.document else None
        world = self._world._replace(arriving=arriving)
        # Values differ from policy to policy.
        given = None if world.values else open_request(request, world, "")
        self._opened = response, row.resource, (request, world, given)
        return request, world, given


def _is_same(one: RuleResult, other: RuleResult) -> bool:
    return one.rule is other.rule and one.status is other.status and one.path == other.path
