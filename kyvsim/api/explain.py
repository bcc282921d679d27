"""`explain`: the engine's run of `apply`, followed step by step."""

from collections.abc import Iterator, Mapping
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
from kyvsim.api.explain_places import with_places
from kyvsim.api.explain_record import Recorder, explained_rules
from kyvsim.api.inputs import ApplyInputs, ReadInputs, objects_of, read_inputs
from kyvsim.engine.compile import CompiledPolicy, CompiledRule, PolicySet
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
from kyvsim.model.result import EngineResponse
from kyvsim.report.run import ResultCounts, Run


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
        for rule in _written_rules(policy).values():
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


def _written_rules(policy: CompiledPolicy) -> Mapping[tuple[object, object], CompiledRule]:
    """Return the first form of each rule in each stage: as it is written, if it is compiled."""
    found: dict[tuple[object, object], CompiledRule] = {}
    for rule in policy.every:
        found.setdefault((rule.rule.path, rule.stage), rule)
    return found


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
        note = "an earlier rule of the policy applied, and it applies one rule only"
    elif is_gone:
        note = "the object is deleted, and the rule does nothing then"
    else:
        note = "the stage did not come to it: there was no object for it"
    return asked._replace(note=note)


def _missing(asked: ExplainTarget, compiled: Compiled, read: ReadInputs) -> str:
    """Return what is said of a rule or an object that is not there, or ""."""
    rules = [(one.policy, rule.rule) for one in compiled.policies.policies for rule in one.every]
    if asked.rule and not any(_names_rule(asked.rule, *one) for one in rules):
        names = {name for one in rules for name in _rule_names(*one)}
        hint = likely(asked.rule, filter(None, names))
        return f"no policy or rule is called `{asked.rule}`{hint}"
    objects = objects_of(read.resources)
    if asked.object and not any(_names_object(asked.object, one) for one in objects):
        names = {name for one in objects for name in object_names(object_key(one))}
        hint = likely(asked.object, names)
        return f"no object is called `{asked.object}`{hint}"
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
