"""`explain`: the engine's run of `apply`, followed step by step."""

from collections.abc import Iterable, Iterator, Mapping

from kyvsim.api.apply import Compiled, Sample, compiled_for, responses_of, run_of
from kyvsim.api.explain_places import with_places
from kyvsim.api.explain_record import Recorder, Told
from kyvsim.api.inputs import ApplyInputs, ReadInputs, objects_of, read_inputs
from kyvsim.compile import CompiledPolicy, CompiledRule
from kyvsim.kube.objects import Json, object_key, text_field
from kyvsim.light.named_tuple import NamedTuple
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.explanation import (
    ObjectExplanation,
    RuleExplanation,
    RuleRun,
    Step,
    StepKind,
    Value,
)
from kyvsim.model.policy import Policy, Rule
from kyvsim.model.result import EngineResponse, RuleResult
from kyvsim.model.wording import likely
from kyvsim.report.course import Course
from kyvsim.report.run import Run


class Asked(NamedTuple):
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


def open_explanation(inputs: ApplyInputs, asked: Asked, stdin: bytes | None = None) -> Explaining:
    """Return how the policies of `inputs` come to what they say of its resources, lazily.

    `stdin` holds the bytes that the path `-` stands for. Problems with inputs are diagnostics of
    the run. Raises NotFoundError where no rule or no object has the name that is asked for.
    """
    read = read_inputs(inputs, stdin)
    recorder = Recorder()
    compiled = compiled_for(inputs, read, recorder)
    given = objects_of(read.resources)
    run = run_of(compiled, inputs, read, Sample(given, len(given)))
    missing = _missing(asked, compiled, read)
    if missing:
        raise NotFoundError(missing, run.diagnostics)
    course = Course(audit_warn=inputs.audit_warn)
    found = iter(()) if read.unusable else responses_of(compiled.policies, read, inputs)
    objects = _explained(course.watching(found), compiled, recorder, asked)
    return Explaining(run._replace(course=course), objects)


def _explained(
    responses: Iterator[EngineResponse], compiled: Compiled, recorder: Recorder, asked: Asked
) -> Iterator[ObjectExplanation]:
    for response in responses:
        told = recorder.taken()
        if not _names_object(asked.object, response.trigger):
            continue
        rules = [*_evaluated(told, response), *_never_asked(told, response, compiled)]
        shown = tuple(one for one in rules if _names_rule(asked.rule, one.policy, one.rule))
        yield with_places(ObjectExplanation(response, shown))


def _evaluated(told: tuple[Told, ...], response: EngineResponse) -> Iterator[RuleExplanation]:
    """Yield the rules that were evaluated; a second time was about the object before."""
    again: dict[tuple[int, int, object], Told] = {}
    firsts: list[Told] = []
    for one in told:
        key = (id(one.run.policy), id(one.run.rule), one.run.stage)
        if any(_is_same(one.run, first.run) for first in firsts):
            again[key] = one
        else:
            firsts.append(one)
    for run, steps in firsts:
        before = again.get((id(run.policy), id(run.rule), run.stage))
        yield RuleExplanation(
            policy=run.policy,
            rule=run.rule,
            stage=run.stage,
            results=tuple(_results(run, response)),
            steps=steps,
            place=run.policy.document.locate(run.rule.path),
            before=before.steps if before else (),
        )


def _is_same(one: RuleRun, other: RuleRun) -> bool:
    return one.rule is other.rule and one.stage is other.stage


def _results(run: RuleRun, response: EngineResponse) -> Iterator[RuleResult]:
    """Yield what a rule said in its turn; a result may have been given another name."""
    for answer in response.responses:
        if answer.policy is run.policy and answer.phase is run.stage.phase:
            yield from (one for one in answer.results if one.rule.is_renamed(run.rule))


def _never_asked(
    told: tuple[Told, ...], response: EngineResponse, compiled: Compiled
) -> Iterator[RuleExplanation]:
    """Yield the rules that no stage came to, and why; once for all forms of what is written."""
    kind = text_field(response.trigger, "kind")
    asked = {(id(one.run.policy), one.run.rule.path, one.run.stage) for one in told}
    for policy in compiled.policies.policies:
        for rule in _written_rules(policy).values():
            if (id(policy.policy), rule.rule.path, rule.stage) in asked:
                continue
            yield RuleExplanation(
                policy=policy.policy,
                rule=rule.rule,
                stage=rule.stage,
                results=(),
                steps=(_index(policy, rule, kind),),
                place=policy.policy.document.locate(rule.rule.path),
            )


def _written_rules(policy: CompiledPolicy) -> Mapping[tuple[object, object], CompiledRule]:
    """Return the first form of each rule in each stage: as it is written, if it is compiled."""
    found: dict[tuple[object, object], CompiledRule] = {}
    for rule in (*policy.rules, *policy.validating_others):
        found.setdefault((rule.rule.path, rule.stage), rule)
    return found


def _index(policy: CompiledPolicy, rule: CompiledRule, kind: str) -> Step:
    """Return why no stage came to a rule for an object of a kind."""
    every = [
        one
        for one in (*policy.rules, *policy.validating_others, *_derived(policy))
        if one.rule.path == rule.rule.path and one.stage is rule.stage
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
    else:
        note = "the stage did not come to it: there was no object for it"
    return asked._replace(note=note)


def _derived(policy: CompiledPolicy) -> Iterable[CompiledRule]:
    return (rule for rules in policy.validating.values() for rule in rules)


def _missing(asked: Asked, compiled: Compiled, read: ReadInputs) -> str:
    """Return what is said of a rule or an object that is not there, or ""."""
    rules = [
        (one.policy, rule.rule)
        for one in compiled.policies.policies
        for rule in (*one.rules, *one.validating_others, *_derived(one))
    ]
    if asked.rule and not any(_names_rule(asked.rule, *one) for one in rules):
        names = {name for one in rules for name in _rule_names(*one)}
        hint = likely(asked.rule, filter(None, names))
        return f"no policy or rule is called `{asked.rule}`{hint}"
    objects = objects_of(read.resources)
    if asked.object and not any(_names_object(asked.object, one) for one in objects):
        names = {name for one in objects for name in _object_names(one)}
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
    return not asked or asked in _object_names(obj)


def _object_names(obj: Json) -> tuple[str, ...]:
    key = object_key(obj)
    short = f"{key.kind}/{key.name}"
    return key.name, short, f"{key.namespace}/{short}", f"{key.namespace}/{key.name}"
