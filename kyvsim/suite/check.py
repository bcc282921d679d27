"""Check the rows of a manifest: strictly, or like Kyverno's CLI."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from kyvsim.engine.compile import CompiledRule
from kyvsim.engine.policy import open_for
from kyvsim.kubernetes.objects import KubernetesObject, ObjectKey, object_key
from kyvsim.model.policy import Policy
from kyvsim.model.result import Phase, PolicyResponse, RuleResult, RuleStatus
from kyvsim.model.suite import ExpectedRow, RowOutcome
from kyvsim.suite.compare import (
    Files,
    ResultObject,
    RowContext,
    RowVerdict,
    compare_result,
    compare_status,
    generated_name,
    means_rule,
    outcome,
    shown_key,
)
from kyvsim.suite.row_targets import (
    RowIndex,
    TargetPolicy,
    missing_target,
    row_index,
    target_policies,
    target_resources,
)
from kyvsim.suite.run import ResourceAnswers, SuiteInputs, leads_to_payload

NO_MATCH = "no match"
EXCLUDED = "excluded"
NOTHING_TO_CHECK = "nothing to check"
PRECONDITION = "precondition"
EXCEPTION = "exception"
NOTHING_TO_CHANGE = "nothing to change"
ANCHOR = "anchor"
OTHER = "other"

_SKIPS = (
    ("preconditions not met", PRECONDITION),
    ("rule is skipped due to policy exception", EXCEPTION),
    ("no patches applied", NOTHING_TO_CHANGE),
    ("0 elements processed", NOTHING_TO_CHECK),
    ("anchor mismatch", ANCHOR),
)
"""Parts of upstream's messages for skips, and the kind of skip."""
_CONDITIONS = frozenset({"skip", "match conditions aren't met"})
"""The whole messages for unmet match conditions."""


def silence_reason(policy: Policy, rules: Iterable[CompiledRule], answers: ResourceAnswers) -> str:
    """Return why rules of a policy have no result for a resource.

    A matching rule has none if there is nothing to check (an empty list, a deletion).
    """
    opened = open_for(policy, answers.request, answers.world)
    if opened is None:
        return NOTHING_TO_CHECK
    excluded = False
    for rule in rules:
        if rule.matches_again(opened.facts):
            return NOTHING_TO_CHECK
        if rule.included is not None and not excluded:
            excluded = rule.included()(opened.facts)
    return EXCLUDED if excluded else NO_MATCH


def kind_of_skip(result: RuleResult) -> str:
    """Return the kind of a skipped result."""
    if result.message in _CONDITIONS:
        return PRECONDITION
    reason = result.message or result.own
    return next((kind for text, kind in _SKIPS if text in reason), OTHER)


# The strict interpretation of rows: targets that do not exist, or were not evaluated, fail.
#
# INVARIANT: every row yields at least one outcome, and a pass was compared with a result. A row
# that expects a skip also passes if the rule does not apply to the resource; its outcome shows it.

_SKIP = RuleStatus.SKIP.value
_UNRUN = "Never ran"
_SILENCE: Mapping[str, str] = {
    NO_MATCH: "the rule does not match this resource",
    EXCLUDED: "the rule's exclude block excludes this resource",
    NOTHING_TO_CHECK: "the rule matches this resource, but found nothing in it to check",
}


def check_row(row: ExpectedRow, index: RowIndex, context: RowContext) -> Iterator[RowOutcome]:
    """Yield the outcomes of a row, one for each of its rules and resources."""
    targets = target_policies(row, index)
    if not targets:
        verdict = missing_target(row, index, {**context.unread, **context.refused})
        yield outcome(row, row.rule, ", ".join(row.resources or ()), verdict)
        return
    if row.operation and all(
        rule.stage.phase is Phase.DELETE for target in targets for rule in target.rules
    ):
        text = "policies that delete objects run on a schedule, not on requests: remove"
        text += " `operation` from the row"
        verdict = RowVerdict(False, _UNRUN, text)
        yield outcome(row, row.rule, ", ".join(row.resources or ()), verdict)
        return
    keys, unknown = target_resources(row, index)
    outcomes = [checked for key in keys for checked in _on_resource(row, key, targets, context)]
    outcomes += [outcome(row, row.rule, name, verdict) for name, verdict in unknown]
    yield from outcomes
    if not outcomes:
        text = f"it ran on none of {len(keys)} resources" if keys else "no resources"
        yield outcome(row, row.rule, "", RowVerdict(False, _UNRUN, text))
    if len(row.generated) < 2 or row.result != RuleStatus.PASS.value:
        return
    triggers = context.observed.triggers[row.operation]
    made = {
        object_key(obj)
        for key in keys
        for answer in _answers(row, triggers.get(key), targets)
        for obj in answer[1].generated
    }
    for file in row.generated:
        expected = context.files[file]
        if not isinstance(expected, str) and made.isdisjoint(map(object_key, expected)):
            text = f"nothing in `{file}` was generated"
            yield outcome(row, row.rule, "", RowVerdict(False, "Nothing generated", text))


def _on_resource(
    row: ExpectedRow, key: ObjectKey, targets: Sequence[TargetPolicy], context: RowContext
) -> list[RowOutcome]:
    """Return the outcomes for one resource; none if the row names no resources and selects others.

    A resource that is also a target has outcomes for both.
    """
    answers = context.observed.triggers[row.operation].get(key)
    outcomes = []
    for answer in _answers(row, answers, targets):
        for name, verdict in _verdicts(row, answer, context):
            checked = _outcome(row, name or shown_key(key), answer[1], verdict)
            if answers and checked.failed:
                checked = checked._replace(reasons=context.reasons(answers, *answer))
            outcomes.append(checked)
    policies = {target_policy.compiled.policy for target_policy in targets}
    for target in context.observed.targets.get(key, ()):
        policy, result = target.response.policy, target.result
        if policy in policies and means_rule(row, policy, result.rule.name):
            left = ResultObject(policy, result, target.object)
            verdict = compare_result(row, left, context.files)
            outcomes.append(_outcome(row, shown_key(key), result, verdict))
    if outcomes:
        return outcomes
    return _without_result(row, key, answers, targets, context)


def _without_result(
    row: ExpectedRow,
    key: ObjectKey,
    answers: ResourceAnswers | None,
    targets: Sequence[TargetPolicy],
    context: RowContext,
) -> list[RowOutcome]:
    """Return the outcome for a resource without a result, or none."""
    kinds = []
    if answers is not None:
        names = dict.fromkeys(target.compiled.policy.name for target in targets)
        texts = [text for name in names for text in answers.unchecked.get(name, ())]
        if texts:
            unchecked = RowVerdict(False, _UNRUN, f"not checked: {'; '.join(texts)}")
            return [outcome(row, row.rule, shown_key(key), unchecked)]
        kinds = [silence_reason(one.compiled.policy, one.rules, answers) for one in targets]
    kind = next((kind for kind in (NOTHING_TO_CHECK, EXCLUDED) if kind in kinds), NO_MATCH)
    if row.result == _SKIP:
        shown = outcome(row, row.rule, shown_key(key), RowVerdict(True, "Ok", _SILENCE[kind]))
        return [shown._replace(skip=kind)]
    if row.resources is None and not row.specs:
        return []
    silent = outcome(row, row.rule, shown_key(key), RowVerdict(False, _UNRUN, _SILENCE[kind]))
    if answers is None or kind == NOTHING_TO_CHECK:
        return [silent]
    reasons = (
        reason
        for one in targets
        for reason in context.mismatches(
            answers, one.compiled.policy, [rule.rule for rule in one.rules]
        )
    )
    return [silent._replace(reasons=tuple(reasons))]


def _answers(
    row: ExpectedRow, answers: ResourceAnswers | None, targets: Sequence[TargetPolicy]
) -> Iterator[tuple[PolicyResponse, RuleResult]]:
    """Yield the results that a row selects, with their responses."""
    if answers is None:
        return
    for policy in (target.compiled.policy for target in targets):
        for response in answers.responses.get(policy.name, ()):
            if response.policy is policy:
                for result in response.results:
                    if means_rule(row, policy, result.rule.name):
                        yield response, result


def _outcome(
    row: ExpectedRow, resource: str, result: RuleResult, verdict: RowVerdict
) -> RowOutcome:
    row_outcome = outcome(row, result.rule.name, resource, verdict)
    skipped = verdict.passed and result.status is RuleStatus.SKIP
    return row_outcome._replace(skip=kind_of_skip(result)) if skipped else row_outcome


def _verdicts(
    row: ExpectedRow, answer: tuple[PolicyResponse, RuleResult], context: RowContext
) -> Iterator[tuple[str, RowVerdict]]:
    """Yield the verdict on each object of a result; with the name of a generated object."""
    (response, result), policy = answer, answer[0].policy
    for obj in result.generated:
        made = ResultObject(policy, result, obj)
        yield generated_name(obj), compare_result(row, made, context.files)
    if result.generated:
        return
    if result.phase is Phase.GENERATE:
        verdict = compare_status(row, policy, result)
        if row.generated and verdict.passed and result.status is RuleStatus.PASS:
            reason = result.note or "no object was generated"
            verdict = RowVerdict(False, "Nothing generated", reason)
        yield "", verdict
        return
    if not row.patched and not any(row.generated):
        yield "", compare_status(row, policy, result)  # as for most rows: there is no file
        return
    # A rule on existing objects does not change its trigger: its changed targets count.
    objects = [target.object for target in result.targets] if row.patched else []
    left = [ResultObject(policy, result, obj) for obj in objects or [response.object]]
    verdicts = [compare_result(row, obj, context.files) for obj in left]
    compared = [verdict for verdict in verdicts if not verdict.missing]
    goldens = tuple(golden for verdict in compared or verdicts for golden in verdict.goldens)
    if compared:
        first = next((verdict for verdict in compared if not verdict.passed), compared[0])
        verdict = first._replace(goldens=goldens)
    elif result.status is RuleStatus.PASS:
        verdict = verdicts[0]._replace(goldens=goldens)
    else:
        # Without a mutation, a file of patched objects does not need the object.
        verdict = compare_status(row, policy, result)
    yield "", verdict


def check_rows(
    rows: tuple[ExpectedRow, ...], inputs: SuiteInputs, context: RowContext, *, lenient: bool
) -> Iterator[tuple[ExpectedRow, RowOutcome]]:
    """Yield each expected row with each of its outcomes, in order."""
    index = row_index(inputs)
    for row in rows:
        outcomes = check_row_leniently(row, context) if lenient else check_row(row, index, context)
        for result in outcomes:
            yield row, result


# The interpretation of rows in Kyverno's CLI (`--lenient`), row for row.
#
# Rows without a result are treated as in upstream: a resource without a result of any rule
# passes as excluded, unknown names select all resources. Source of the rules: upstream
# cmd/cli/kubectl-kyverno/commands/test/output.go

_GENERATE = Phase.GENERATE


def check_row_leniently(row: ExpectedRow, context: RowContext) -> Iterator[RowOutcome]:
    """Yield the outcomes of a row, one for each of its rules and resources."""
    triggers = context.observed.triggers[row.operation]
    for key in candidates(row, (*context.observed.targets, *triggers)):
        rows, dropped = _of_trigger(row, key, triggers.get(key), context.files)
        for target in context.observed.targets.get(key, ()):
            left = ResultObject(target.response.policy, target.result, target.object)
            verdict = compare_result(row, left, context.files)
            rows.append(outcome(row, target.result.rule.name, shown_key(key), verdict))
        yield from rows
        if not rows and not dropped:
            invalid = context.refused.get(row.policy.rpartition("/")[2])
            shown = ("Fail", "Not found", "Not found")
            if invalid is not None:
                shown = ("Skip", "Invalid Policy", invalid)
            yield RowOutcome(row.policy, row.rule, shown_key(key), *shown)


def candidates(row: ExpectedRow, every: Sequence[ObjectKey]) -> Sequence[ObjectKey]:
    """Return the resources that a row selects: all, if it names none that exists."""
    if row.resources is None:
        return every
    named = [
        key
        for name in row.resources
        for key in every
        if leads_to_payload(name, key)
        or name == key.name
        or name.split("/") == [key.namespace, key.name]
    ]
    for spec in row.specs:
        parts = (spec.api_version, spec.namespace, spec.name)
        named += (key for key in every if (key.api_version, key.namespace, key.name) == parts)
    return named or every


def _of_trigger(
    row: ExpectedRow, key: ObjectKey, answers: ResourceAnswers | None, files: Files
) -> tuple[list[RowOutcome], bool]:
    """Return the rows for a resource, and whether one was dropped because its object is missing."""
    rows: list[RowOutcome] = []
    dropped = False
    policy = row.policy.rpartition("/")[2]
    for response in answers.responses.get(policy, ()) if answers else ():
        meant = (one for one in response.results if means_rule(row, response.policy, one.rule.name))
        for result in meant:
            tolerated = not row.fails_on_missing and result.phase is not _GENERATE
            for name, verdict in _lenient_verdicts(row, response, result, files):
                if verdict.missing and tolerated:
                    dropped = True
                else:
                    rows.append(outcome(row, result.rule.name, name or shown_key(key), verdict))
        if not rows and not dropped:
            excluded = ("Pass", "Excluded", "Excluded")
            rows.append(RowOutcome(row.policy, row.rule, shown_key(key), *excluded))
    return rows, dropped


def _lenient_verdicts(
    row: ExpectedRow, response: PolicyResponse, result: RuleResult, files: Files
) -> Iterator[tuple[str, RowVerdict]]:
    """Yield the verdict on each object of a result; with the name of a generated object."""
    policy = response.policy
    # If one rule of the policy cannot generate its objects, those of the others are lost as well.
    hindered = response.phase is _GENERATE and any(result.hindered for result in response.results)
    generated = () if hindered else result.generated
    if result.phase is not _GENERATE:
        yield "", compare_result(row, ResultObject(policy, result, left_object(response)), files)
    elif not generated:
        yield "", compare_status(row, policy, result)
    for obj in generated:
        yield generated_name(obj), compare_result(row, ResultObject(policy, result, obj), files)


def left_object(response: PolicyResponse) -> KubernetesObject:
    """Return the object after a response: empty if a mutate rule without targets had an error."""
    is_mutation = response.phase is Phase.MUTATE and response.policy.facts.has_rules
    own = (result for result in response.results if not result.rule.facts.targets)
    failed = is_mutation and any(result.status is RuleStatus.ERROR for result in own)
    return {} if failed else response.object
