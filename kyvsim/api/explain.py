"""`explain` and `simulate --explain`: how rules came to their results on an object."""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.api.apply import (
    Compiled,
    compiled_for,
    counted_responses,
    explaining,
    responses_of,
    run_of,
    whole_sample,
)
from kyvsim.api.inputs import ApplyInputs, ReadInputs, objects_of, read_inputs
from kyvsim.api.mismatches import KIND_CRITERIA
from kyvsim.engine.compile import PolicySet, index_policies
from kyvsim.engine.explain import Recorder, explanation_of, with_places
from kyvsim.kubernetes.objects import KubernetesObject, ObjectKey, object_key
from kyvsim.model.diagnostic import Diagnostic, likely
from kyvsim.model.explanation import (
    ObjectExplanation,
    RuleExplanation,
    StepKind,
    TracedRule,
    deciding,
)
from kyvsim.model.policy import Policy, Rule
from kyvsim.model.result import EngineResponse, RuleStatus, Stage
from kyvsim.model.simulation import (
    EvaluationRecord,
    Scenario,
    Simulation,
    TimelineEvent,
    Unaffected,
)
from kyvsim.model.source import Document
from kyvsim.report.decisions import decision, rule_name
from kyvsim.report.run import ResultCounts, Run
from kyvsim.simulator.tracer import SimulationTracer, TracedEvaluation


class ExplainTarget(NamedTuple):
    """The rule and object to explain; all by default."""

    rule: str = ""
    """The name of a written or autogen rule, a policy, or POLICY/RULE."""
    object: str = ""
    """`NAME`, `KIND/NAME` or `NAMESPACE/KIND/NAME`."""


class NotFoundError(Exception):
    """No rule or object has the requested name."""

    def __init__(self, message: str, diagnostics: tuple[Diagnostic, ...]) -> None:
        """Store the diagnostics of the inputs, which may explain it."""
        super().__init__(message)
        self.diagnostics = diagnostics


class Explaining(NamedTuple):
    """A run, and lazy explanations of its objects."""

    run: Run
    objects: Iterator[ObjectExplanation]


def explained_run(explanations: Explaining) -> Run:
    """Return the run with its responses; `explained` explains the last one."""
    last: list[ObjectExplanation] = []

    def responses() -> Iterator[EngineResponse]:
        for obj in explanations.objects:
            last[:] = [obj]
            yield obj.response

    def explained(response: EngineResponse) -> ObjectExplanation | None:
        return next((explanation for explanation in last if explanation.response is response), None)

    return explanations.run._replace(responses=responses(), explained=explained)


def open_explanation(
    inputs: ApplyInputs, target: ExplainTarget, stdin: bytes | None = None
) -> Explaining:
    """Return the explanations of the results of `inputs`, lazily.

    `stdin` is read for the path `-`. Problems with inputs are diagnostics of the run. Raises
    NotFoundError if no rule or object has the requested name.
    """
    read = read_inputs(inputs, stdin)
    recorder = Recorder()
    compiled = compiled_for(inputs, read, recorder)
    run = run_of(compiled, inputs, read, whole_sample(read, compiled))
    missing = _missing(target, compiled, read)
    if missing:
        raise NotFoundError(missing, run.diagnostics)
    result_counts = ResultCounts(audit_warn=inputs.audit_warn)
    responses = iter(()) if read.unusable else responses_of(compiled.policies, read, inputs)
    objects = _explained(counted_responses(responses, result_counts), compiled, recorder, target)
    return Explaining(
        run._replace(result_counts=result_counts, explain=explaining(inputs, read)), objects
    )


def _explained(
    responses: Iterator[EngineResponse],
    compiled: Compiled,
    recorder: Recorder,
    target: ExplainTarget,
) -> Iterator[ObjectExplanation]:
    for response in responses:
        traced = recorder.taken()
        if not _names_object(target.object, response.trigger):
            continue
        whole = explanation_of(response, traced, compiled.policies)
        shown = tuple(
            rule for rule in whole.rules if _names_rule(target.rule, rule.policy, rule.rule)
        )
        yield with_places(whole._replace(rules=shown))


def _missing(target: ExplainTarget, compiled: Compiled, read: ReadInputs) -> str:
    rules = [
        (policy.policy, rule.rule) for policy in compiled.policies.policies for rule in policy.every
    ]
    if target.rule and not any(_names_rule(target.rule, *pair) for pair in rules):
        names = {name for pair in rules for name in _rule_names(*pair)}
        hint = likely(target.rule, filter(None, names))
        return f"no policy or rule is named `{target.rule}`{hint}"
    objects = objects_of(read.resources)
    if target.object and not any(_names_object(target.object, obj) for obj in objects):
        names = {name for obj in objects for name in object_names(object_key(obj))}
        hint = likely(target.object, names)
        return f"no object is named `{target.object}`{hint}"
    return ""


def _names_rule(name: str, policy: Policy, rule: Rule) -> bool:
    return not name or name in _rule_names(policy, rule)


def _rule_names(policy: Policy, rule: Rule) -> Iterator[str]:
    """Yield the names that select a rule: its own, that of its source rule, and its policy's."""
    written = (own.name for own in policy.rules if own.path == rule.path)
    for name in {rule.name, *written}:
        if name:
            yield name
            yield f"{policy.key}/{name}"
    yield policy.key
    yield policy.name


def _names_object(name: str, obj: object) -> bool:
    return not name or name in object_names(object_key(obj))


def object_names(key: ObjectKey) -> tuple[str, ...]:
    """Return the names that select an object: `web`, `Pod/web`, `shop/Pod/web`, `shop/web`."""
    short = f"{key.kind}/{key.name}"
    return key.name, short, f"{key.namespace}/{short}", f"{key.namespace}/{key.name}"


# `simulate --explain`: evaluations of policies on an object over time.

_Written = Mapping[tuple[str, str, str], tuple[Document, ...]]


def tracer_for(name: str) -> SimulationTracer:
    """Return a tracer of the evaluations for objects with a name."""
    return SimulationTracer(lambda key: name in object_names(key))


def with_inquiries(
    simulation: Simulation, tracer: SimulationTracer, name: str, scenario: Scenario
) -> Simulation:
    """Return a simulation with the evaluations for the objects with a name.

    Raises NotFoundError if there was no such object.
    """
    keys = {event.object for event in simulation.events}
    keys.update(evaluation.subject for evaluation in tracer.evaluations)
    keys.update(map(object_key, simulation.objects))
    names = {text for key in keys for text in object_names(key)}
    if name not in names:
        hint = likely(name, names)
        raise NotFoundError(f"no object is named `{name}`{hint}", simulation.diagnostics)
    return simulation._replace(explained=name, inquiries=_records(tracer, scenario))


def _records(tracer: SimulationTracer, scenario: Scenario) -> tuple[EvaluationRecord, ...]:
    written = _documents(scenario)
    return tuple(_record(evaluation, written) for evaluation in tracer.evaluations)


_MOST_OBJECTS = 5
"""The number of objects without an effect that are explained; a run with more is not small."""
_MOST_RULES = 3
_MOST_EVENTS = 500
"""Longer runs are not repeated for explanations."""
_USER_CRITERIA = frozenset({"subjects", "roles", "clusterRoles"})
_CHANGES = frozenset({"create", "update", "apply"})
_ENDED = frozenset(
    {StepKind.CRITERION, StepKind.CONDITION, StepKind.NOT_EVALUATED, StepKind.CONCERN}
    | {StepKind.EXPRESSION, StepKind.LOOP}
)


def with_unaffected(
    simulation: Simulation,
    scenario: Scenario,
    replay: Callable[[SimulationTracer], object],
) -> Simulation:
    """Return a simulation that says why policies did nothing to objects whose kind they match.

    `replay` runs it again with a tracer. That is only done for a small run with such objects.
    """
    keys = _without_effect(simulation)
    if not keys or len(simulation.events) > _MOST_EVENTS:
        return simulation
    tracer = SimulationTracer(lambda key: key in keys)
    replay(tracer)
    found: dict[ObjectKey, list[Unaffected]] = {key: [] for key in keys}
    for record in _records(tracer, scenario):
        key = object_key(record.explained.response.trigger)
        if record.occasion and key in found:
            rules = (rule for rule in record.explained.rules if _did_nothing(rule))
            reasons = [_unaffected(key, rule, record.explained) for rule in rules]
            # Most rules do not match later updates of a status, which say nothing about the rest.
            found[key] = reasons or found[key]
            if any(one.results and not _did_nothing(one) for one in record.explained.rules):
                del found[key]
    shown = (one for reasons in found.values() for one in reasons[:_MOST_RULES])
    return simulation._replace(unaffected=tuple(shown))


def _without_effect(simulation: Simulation) -> list[ObjectKey]:
    """Return the first objects that users wrote and that no policy affected."""
    affected: set[ObjectKey] = set()
    for event in simulation.events:
        at: TimelineEvent | None = event
        while at is not None and (event.policies or event.unevaluated or event.failure_reasons):
            affected.add(at.object)
            at = None if at.cause is None else simulation.events[at.cause]
    written = dict.fromkeys(
        event.object
        for event in simulation.events
        if event.actor == "user" and event.action in _CHANGES and event.outcome == "done"
    )
    return [key for key in written if key not in affected][:_MOST_OBJECTS]


def _did_nothing(rule: RuleExplanation) -> bool:
    """Return whether a rule for the kind of an object did not match, or was skipped or not run."""
    path = deciding(rule.steps)
    if rule.results:
        return all(one.status is RuleStatus.SKIP for one in rule.results)
    return bool(path) and path[-1].kind in _ENDED and path[-1].name not in KIND_CRITERIA


def _unaffected(key: ObjectKey, rule: RuleExplanation, found: ObjectExplanation) -> Unaffected:
    decided = decision(rule, found)
    path = deciding(rule.steps)
    is_about_users = bool(path) and path[-1].name in _USER_CRITERIA
    remedy = "; pass --as USER, in scenarios `as: {name: USER}` in a step" if is_about_users else ""
    is_not_evaluated = bool(path) and path[-1].kind is StepKind.NOT_EVALUATED
    text = path[-1].note if is_not_evaluated else f"{decided.text}{remedy}"
    return Unaffected(key, rule_name(rule), text, decided.place or rule.place)


def document_finder(scenario: Scenario) -> Callable[[KubernetesObject], Document | None]:
    """Return a function that returns the document of an object in a cluster, or None."""
    written = _documents(scenario)
    return lambda obj: _document_of(obj, written)


def _documents(scenario: Scenario) -> _Written:
    by_name: dict[tuple[str, str, str], tuple[Document, ...]] = {}
    brought = (document for step in scenario.steps for document in step.objects)
    given = (*scenario.policies, *scenario.exceptions, *scenario.objects, *brought)
    for document in given:
        name = _name(object_key(document.data))
        by_name[name] = (*by_name.get(name, ()), document)
    return MappingProxyType(by_name)


def _name(key: ObjectKey) -> tuple[str, str, str]:
    return key.kind, "" if key.namespace == "default" else key.namespace, key.name


def _document_of(obj: KubernetesObject, written: _Written) -> Document | None:
    """Return the document of an object; of several versions, the one with the same `spec`."""
    versions = written.get(_name(object_key(obj)), ())
    same = (version for version in versions if version.data.get("spec") == obj.get("spec"))
    return next(same, versions[0] if len(versions) == 1 else None)


def _record(evaluations: TracedEvaluation, written: _Written) -> EvaluationRecord:
    key, trigger = evaluations.subject, evaluations.object
    if trigger is None:
        meta = {"name": key.name, **({"namespace": key.namespace} if key.namespace else {})}
        trigger = {"apiVersion": key.api_version, "kind": key.kind, "metadata": meta}
    response = EngineResponse(
        trigger, evaluations.object, evaluations.responses, _document_of(trigger, written)
    )
    policies = evaluations.policies or _NO_POLICIES
    by_rule: dict[tuple[Rule, Stage], TracedRule] = {}
    for traced in evaluations.rules:
        first = by_rule.setdefault((traced.run.rule, traced.run.stage), traced)
        if first is not traced and all(
            step.kind is StepKind.NOT_EVALUATED for step in traced.steps
        ):
            whole = first._replace(steps=(*first.steps, *traced.steps))
            by_rule[traced.run.rule, traced.run.stage] = whole
    once = tuple(by_rule.values())
    explained = with_places(explanation_of(response, once, policies))
    return EvaluationRecord(
        time=evaluations.time,
        actor=evaluations.actor,
        occasion=evaluations.occasion,
        event=evaluations.event,
        explained=explained,
        unheard=evaluations.unheard,
        waiting=evaluations.waiting,
    )


_NO_POLICIES: PolicySet = index_policies(())
