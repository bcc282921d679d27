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
from kyvsim.api.explain_rows import Recorder, explained_rules, with_places
from kyvsim.api.inputs import ApplyInputs, ReadInputs, objects_of, read_inputs
from kyvsim.engine.compile import CompiledPolicy, CompiledRule, PolicySet, index_policies
from kyvsim.kubernetes.objects import Json, ObjectKey, object_key, text_field
from kyvsim.model.diagnostic import Diagnostic, likely
from kyvsim.model.explanation import (
    ObjectExplanation,
    RuleExplanation,
    Step,
    StepKind,
    TracedRule,
    Value,
)
from kyvsim.model.policy import Policy, Rule
from kyvsim.model.result import EngineResponse, Stage
from kyvsim.model.simulation import EvaluationRecord, Scenario, Simulation
from kyvsim.model.source import Document
from kyvsim.report.run import ResultCounts, Run
from kyvsim.simulator.tracer import SimulationTracer, TracedEvaluation

# `explain`: the engine's run of `apply`, followed step by step.


class ExplainTarget(NamedTuple):
    """What is to be explained; everything by default."""

    rule: str = ""
    """The name of a rule, as it is written or derived, of a policy, or POLICY/RULE."""
    object: str = ""
    """`NAME`, `KIND/NAME` or `NAMESPACE/KIND/NAME`."""


class NotFoundError(Exception):
    """A rule or an object that is to be explained, and is not there."""

    def __init__(self, message: str, diagnostics: tuple[Diagnostic, ...]) -> None:
        """Take what is wrong with the inputs, too: it may have been refused."""
        super().__init__(message)
        self.diagnostics = diagnostics


class Explaining(NamedTuple):
    """A run, and the explanations of its objects as they are asked for."""

    run: Run
    """Its responses are read with the explanations."""
    objects: Iterator[ObjectExplanation]


def explained_run(found: Explaining) -> Run:
    """Return the run with its responses; `explained` tells of the one that was read last."""
    last: list[ObjectExplanation] = []

    def responses() -> Iterator[EngineResponse]:
        for one in found.objects:
            last[:] = [one]
            yield one.response

    def explained(response: EngineResponse) -> ObjectExplanation | None:
        return next((one for one in last if one.response is response), None)

    return found.run._replace(responses=responses(), explained=explained)


def open_explanation(
    inputs: ApplyInputs, asked: ExplainTarget, stdin: bytes | None = None
) -> Explaining:
    """Return how the policies of `inputs` come to what they say of its resources, lazily.

    `stdin` holds the bytes that the path `-` stands for. Problems with inputs are diagnostics of
    the run. Raises NotFoundError where no rule or no object has the name that is asked for.
    """
    read = read_inputs(inputs, stdin)
    recorder = Recorder()
    compiled = compiled_for(inputs, read, recorder)
    run = run_of(compiled, inputs, read, whole_sample(read, compiled))
    missing = _missing(asked, compiled, read)
    if missing:
        raise NotFoundError(missing, run.diagnostics)
    result_counts = ResultCounts(audit_warn=inputs.audit_warn)
    found = iter(()) if read.unusable else responses_of(compiled.policies, read, inputs)
    objects = _explained(counted_responses(found, result_counts), compiled, recorder, asked)
    return Explaining(
        run._replace(result_counts=result_counts, explain=explaining(inputs, read)), objects
    )


def _explained(
    responses: Iterator[EngineResponse],
    compiled: Compiled,
    recorder: Recorder,
    asked: ExplainTarget,
) -> Iterator[ObjectExplanation]:
    for response in responses:
        told = recorder.taken()
        if not _names_object(asked.object, response.trigger):
            continue
        whole = explanation_of(response, told, compiled.policies)
        shown = tuple(one for one in whole.rules if _names_rule(asked.rule, one.policy, one.rule))
        yield with_places(whole._replace(rules=shown))


def explanation_of(
    response: EngineResponse, told: tuple[TracedRule, ...], policies: PolicySet
) -> ObjectExplanation:
    """Return how policies came to a response, of what they told while they were evaluated."""
    rules = (*explained_rules(told, response), *_never_evaluated(told, response, policies))
    return ObjectExplanation(response, rules)


def _never_evaluated(
    told: tuple[TracedRule, ...], response: EngineResponse, policies: PolicySet
) -> Iterator[RuleExplanation]:
    """Yield the rules that no stage came to, and why; once for all forms of what is written."""
    kind = text_field(response.trigger, "kind")
    asked = {(one.run.policy, one.run.rule.path, one.run.stage) for one in told}
    for policy in policies.policies:
        # The first form of each rule in each stage: as it is written, if it is compiled.
        first: dict[tuple[object, object], CompiledRule] = {}
        for rule in policy.every:
            first.setdefault((rule.rule.path, rule.stage), rule)
        for rule in first.values():
            if (policy.policy, rule.rule.path, rule.stage) in asked:
                continue
            yield RuleExplanation(
                policy=policy.policy,
                rule=rule.rule,
                stage=rule.stage,
                results=(),
                steps=(_index(policy, rule, kind, is_gone=response.object is None),),
                place=policy.policy.document.locate(rule.rule.path),
            )


def _index(policy: CompiledPolicy, rule: CompiledRule, kind: str, *, is_gone: bool) -> Step:
    """Return why no stage came to a rule for an object of a kind."""
    every = [
        one for one in policy.every if one.rule.path == rule.rule.path and one.stage is rule.stage
    ]
    kinds = sorted({name for one in every for name in one.kinds or ()})
    asked = Step(
        StepKind.INDEX,
        "kinds",
        answer=False,
        wanted=Value(kinds),
        found=Value(kind),
        place=policy.policy.document.locate((*rule.rule.path, "match")),
        path=("kind",),
        rooted=True,
    )
    if all(one.kinds is not None and kind not in one.kinds for one in every):
        return asked
    if policy.policy.applies_one_rule:
        note = "an earlier rule of the policy applied, and the policy applies only one rule"
    elif is_gone:
        note = "the object is deleted, and the rule ignores deletions"
    else:
        note = "not evaluated in this stage: there was no object for it"
    return asked._replace(note=note)


def _missing(asked: ExplainTarget, compiled: Compiled, read: ReadInputs) -> str:
    rules = [(one.policy, rule.rule) for one in compiled.policies.policies for rule in one.every]
    if asked.rule and not any(_names_rule(asked.rule, *one) for one in rules):
        names = {name for one in rules for name in _rule_names(*one)}
        hint = likely(asked.rule, filter(None, names))
        return f"no policy or rule is named `{asked.rule}`{hint}"
    objects = objects_of(read.resources)
    if asked.object and not any(_names_object(asked.object, one) for one in objects):
        names = {name for one in objects for name in object_names(object_key(one))}
        hint = likely(asked.object, names)
        return f"no object is named `{asked.object}`{hint}"
    return ""


def _names_rule(asked: str, policy: Policy, rule: Rule) -> bool:
    return not asked or asked in _rule_names(policy, rule)


def _rule_names(policy: Policy, rule: Rule) -> Iterator[str]:
    """Yield what a rule is called: by its own name, the written one's, and its policy's."""
    written = (one.name for one in policy.rules if one.path == rule.path)
    for name in {rule.name, *written}:
        if name:
            yield name
            yield f"{policy.key}/{name}"
    yield policy.key
    yield policy.name


def _names_object(asked: str, obj: Json) -> bool:
    return not asked or asked in object_names(object_key(obj))


def object_names(key: ObjectKey) -> tuple[str, ...]:
    """Return what an object may be called: `web`, `Pod/web`, `shop/Pod/web`, `shop/web`."""
    short = f"{key.kind}/{key.name}"
    return key.name, short, f"{key.namespace}/{short}", f"{key.namespace}/{key.name}"


# `simulate --explain`: who asked policies about an object, when, and how they came to answers.

_Written = Mapping[tuple[str, str, str], tuple[Document, ...]]


def tracer_for(name: str) -> SimulationTracer:
    """Return who follows what policies are asked about objects with a name; see `Wanted`."""
    recorder = Recorder()
    return SimulationTracer(lambda key: name in object_names(key), recorder, recorder.taken)


def with_inquiries(
    simulation: Simulation, tracer: SimulationTracer, name: str, scenario: Scenario
) -> Simulation:
    """Return a simulation with what policies were asked about the object of a name.

    Raises NotFoundError where no object was called so.
    """
    keys = {one.object for one in simulation.events}
    keys.update(one.subject for one in tracer.evaluations)
    keys.update(map(object_key, simulation.objects))
    names = {text for key in keys for text in object_names(key)}
    if name not in names:
        hint = likely(name, names)
        raise NotFoundError(f"no object is named `{name}`{hint}", simulation.diagnostics)
    written = _documents(scenario)
    found = tuple(_inquiry(one, written) for one in tracer.evaluations)
    return simulation._replace(explained=name, inquiries=found)


def written_in(scenario: Scenario) -> Callable[[Json], Document | None]:
    """Return what finds the document that an object of a cluster was made of, if there is one."""
    written = _documents(scenario)
    return lambda obj: _document_of(obj, written)


def _documents(scenario: Scenario) -> _Written:
    found: dict[tuple[str, str, str], tuple[Document, ...]] = {}
    brought = (one for step in scenario.steps for one in step.objects)
    given = (*scenario.policies, *scenario.exceptions, *scenario.objects, *brought)
    for document in given:
        name = _name(object_key(document.data))
        found[name] = (*found.get(name, ()), document)
    return MappingProxyType(found)


def _name(key: ObjectKey) -> tuple[str, str, str]:
    return key.kind, "" if key.namespace == "default" else key.namespace, key.name


def _document_of(obj: Json, written: _Written) -> Document | None:
    """Return the document of an object; of several versions the one that says the same."""
    versions = written.get(_name(object_key(obj)), ())
    same = (one for one in versions if one.data.get("spec") == obj.get("spec"))
    return next(same, versions[0] if len(versions) == 1 else None)


def _inquiry(evaluations: TracedEvaluation, written: _Written) -> EvaluationRecord:
    trigger = _named(evaluations.subject) if evaluations.object is None else evaluations.object
    response = EngineResponse(
        trigger, evaluations.object, evaluations.responses, _document_of(trigger, written)
    )
    policies = evaluations.policies or _NO_POLICIES
    found: dict[tuple[Rule, Stage], TracedRule] = {}
    for one in evaluations.rules:
        first = found.setdefault((one.run.rule, one.run.stage), one)
        if first is not one and all(step.kind is StepKind.UNASKED for step in one.steps):
            whole = first._replace(steps=(*first.steps, *one.steps))
            found[one.run.rule, one.run.stage] = whole
    once = tuple(found.values())
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


def _named(key: ObjectKey) -> Json:
    meta = {"name": key.name, **({"namespace": key.namespace} if key.namespace else {})}
    return {"apiVersion": key.api_version, "kind": key.kind, "metadata": meta}


_NO_POLICIES: PolicySet = index_policies(())
