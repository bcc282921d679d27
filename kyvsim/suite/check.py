"""The rows of a manifest, checked: strictly here, or as the reference program does."""

from collections.abc import Iterable, Iterator, Sequence
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.engine.compile import CompiledRule
from kyvsim.engine.policy import open_for
from kyvsim.kubernetes.objects import ObjectKey, object_key
from kyvsim.model.policy import Policy
from kyvsim.model.result import Phase, PolicyResponse, RuleResult, RuleStatus
from kyvsim.model.suite import ExpectedRow, RowOutcome
from kyvsim.suite.compare import (
    ResultObject,
    RowContext,
    RowVerdict,
    generated_name,
    means_rule,
    outcome,
    shown_key,
    weigh,
    weigh_status,
)
from kyvsim.suite.lenient import select_rows
from kyvsim.suite.row_targets import (
    RowIndex,
    TargetPolicy,
    missing_target,
    row_index,
    target_policies,
    target_resources,
)
from kyvsim.suite.run import ResourceAnswers, SuiteInputs

NO_MATCH = "no match"
EXCLUDED = "excluded"
NOTHING_TO_CHECK = "nothing to check"
PRECONDITION = "precondition"
EXCEPTION = "exception"
NOTHING_TO_CHANGE = "nothing to change"
ANCHOR = "anchor"
OTHER = "other"

_SAID = (
    ("preconditions not met", PRECONDITION),
    ("rule is skipped due to policy exception", EXCEPTION),
    ("no patches applied", NOTHING_TO_CHANGE),
    ("0 elements processed", NOTHING_TO_CHECK),
    ("anchor mismatch", ANCHOR),
)
"""What upstream says of a skip, and the kind that it is."""
_CONDITIONS = frozenset({"skip", "match conditions aren't met"})
"""The same of match conditions, as the whole message."""


def why_silent(policy: Policy, rules: Iterable[CompiledRule], answers: ResourceAnswers) -> str:
    """Return why rules of a policy have no result for a resource.

    One that matches had nothing to look at (a loop over no elements, a deletion); one that would
    match without its exclude block excludes.
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
    """Return the kind of a skip that a rule gave itself."""
    if result.message in _CONDITIONS:
        return PRECONDITION
    reason = result.message or result.own
    return next((kind for text, kind in _SAID if text in reason), OTHER)


# The strict reading of rows: what does not exist, or never ran, fails.
#
# INVARIANT: every row gives at least one outcome, and a pass was compared with a result. A row
# that expects a skip also passes where the rule leaves the resource alone; its outcome says so.

_SKIP = RuleStatus.SKIP.value
_UNRUN = "Never ran"
_SILENCE = MappingProxyType(
    {
        NO_MATCH: "the rule does not match this resource",
        EXCLUDED: "the rule's exclude block leaves this resource out",
        NOTHING_TO_CHECK: "the rule matches this resource, but found nothing in it to look at",
    }
)


class _RowAnswer(NamedTuple):
    """A result that a row means, and the response that holds it."""

    response: PolicyResponse
    result: RuleResult


def judge_row(row: ExpectedRow, known: RowIndex, bench: RowContext) -> Iterator[RowOutcome]:
    """Yield what came of a row, once for each rule and resource that it means."""
    meant = target_policies(row, known)
    if not meant:
        verdict = missing_target(row, known, {**bench.unread, **bench.refused})
        yield outcome(row, row.rule, ", ".join(row.resources or ()), verdict)
        return
    if row.operation and _only_delete(meant):
        text = "what deletes is not asked of an operation"
        yield outcome(
            row, row.rule, ", ".join(row.resources or ()), RowVerdict(False, _UNRUN, text)
        )
        return
    keys, unknown = target_resources(row, known)
    found = [one for key in keys for one in _on_resource(row, key, meant, bench)]
    found += [outcome(row, row.rule, name, verdict) for name, verdict in unknown]
    yield from found
    if not found:
        text = f"it ran on none of {len(keys)} resources" if keys else "there are no resources"
        yield outcome(row, row.rule, "", RowVerdict(False, _UNRUN, text))
    yield from _files_without_object(row, keys, meant, bench)


def _only_delete(meant: Iterable[TargetPolicy]) -> bool:
    return all(rule.stage.phase is Phase.DELETE for one in meant for rule in one.rules)


def _on_resource(
    row: ExpectedRow, key: ObjectKey, meant: Sequence[TargetPolicy], bench: RowContext
) -> list[RowOutcome]:
    """Return the outcomes for one resource; none where the row names no resources and means others.

    A resource that is a target as well has outcomes for both.
    """
    answers = bench.observed.triggers[row.operation].get(key)
    outcomes = [
        _with_reasons(
            _outcome(row, name or shown_key(key), answer.result, verdict), answers, answer, bench
        )
        for answer in _answers(row, answers, meant)
        for name, verdict in _verdicts(row, answer, bench)
    ]
    policies = {one.compiled.policy for one in meant}
    for target in bench.observed.targets.get(key, ()):
        policy, result = target.response.policy, target.result
        if policy in policies and means_rule(row, policy, result.rule.name):
            verdict = weigh(row, ResultObject(policy, result, target.object), bench.files)
            outcomes.append(_outcome(row, shown_key(key), result, verdict))
    if outcomes:
        return outcomes
    texts = _unchecked(answers, meant)
    if texts:
        unheard = RowVerdict(False, _UNRUN, f"not checked: {'; '.join(texts)}")
        return [outcome(row, row.rule, shown_key(key), unheard)]
    kind = _silence(answers, meant)
    if row.result == _SKIP:
        shown = outcome(row, row.rule, shown_key(key), RowVerdict(True, "Ok", _SILENCE[kind]))
        return [shown._replace(skip=kind)]
    if row.resources is None and not row.specs:
        return []
    silent = RowVerdict(False, _UNRUN, _SILENCE[kind])
    return [outcome(row, row.rule, shown_key(key), silent)]


def _answers(
    row: ExpectedRow, answers: ResourceAnswers | None, meant: Sequence[TargetPolicy]
) -> Iterator[_RowAnswer]:
    if answers is None:
        return
    for policy in (one.compiled.policy for one in meant):
        for response in answers.responses.get(policy.name, ()):
            if response.policy is policy:
                named = (one for one in response.results if means_rule(row, policy, one.rule.name))
                yield from (_RowAnswer(response, result) for result in named)


def _with_reasons(
    found: RowOutcome, answers: ResourceAnswers | None, answer: _RowAnswer, bench: RowContext
) -> RowOutcome:
    """Return an outcome with how the rule came to its result, where that is not as expected."""
    if answers is None or not found.failed:
        return found
    return found._replace(reasons=bench.reasons(answers, *answer))


def _outcome(
    row: ExpectedRow, resource: str, result: RuleResult, verdict: RowVerdict
) -> RowOutcome:
    found = outcome(row, result.rule.name, resource, verdict)
    skipped = verdict.passed and result.status is RuleStatus.SKIP
    return found._replace(skip=kind_of_skip(result)) if skipped else found


def _verdicts(
    row: ExpectedRow, answer: _RowAnswer, bench: RowContext
) -> Iterator[tuple[str, RowVerdict]]:
    """Yield the verdict on each object that a result left; by name where that is generated."""
    (response, result), policy = answer, answer.response.policy
    for obj in result.generated:
        yield generated_name(obj), weigh(row, ResultObject(policy, result, obj), bench.files)
    if result.generated:
        return
    if result.phase is Phase.GENERATE:
        yield "", _nothing_generated(row, answer)
        return
    if not row.patched and not any(row.generated):
        yield "", weigh_status(row, policy, result)  # as for most rows: there is no file
        return
    # A rule on existing objects leaves its trigger as it is: what it made of its targets counts.
    objects = [target.object for target in result.targets] if row.patched else []
    left = [ResultObject(policy, result, obj) for obj in objects or [response.object]]
    verdicts = [weigh(row, one, bench.files) for one in left]
    yield "", _first_of(row, verdicts, answer)


def _first_of(row: ExpectedRow, verdicts: Sequence[RowVerdict], answer: _RowAnswer) -> RowVerdict:
    """Return the first verdict that is no pass, of those on objects that the file has."""
    compared = [one for one in verdicts if not one.missing]
    goldens = tuple(golden for one in compared or verdicts for golden in one.goldens)
    if compared:
        first = next((one for one in compared if not one.passed), compared[0])
        return first._replace(goldens=goldens)
    if answer.result.status is RuleStatus.PASS:
        return verdicts[0]._replace(goldens=goldens)
    # Without a mutation there is nothing that a file of patched objects needs to have.
    return weigh_status(row, answer.response.policy, answer.result)


def _nothing_generated(row: ExpectedRow, answer: _RowAnswer) -> RowVerdict:
    verdict = weigh_status(row, answer.response.policy, answer.result)
    passed = answer.result.status is RuleStatus.PASS
    if row.generated and verdict.passed and passed:
        return RowVerdict(
            False, "Nothing generated", answer.result.note or "no object was generated"
        )
    return verdict


def _silence(answers: ResourceAnswers | None, meant: Sequence[TargetPolicy]) -> str:
    if answers is None:
        return NO_MATCH
    kinds = [why_silent(one.compiled.policy, one.rules, answers) for one in meant]
    return next((kind for kind in (NOTHING_TO_CHECK, EXCLUDED) if kind in kinds), NO_MATCH)


def _unchecked(answers: ResourceAnswers | None, meant: Sequence[TargetPolicy]) -> tuple[str, ...]:
    """Return what policies could not look at, although they say nothing of it."""
    if answers is None:
        return ()
    names = dict.fromkeys(one.compiled.policy.name for one in meant)
    return tuple(text for name in names for text in answers.unchecked.get(name, ()))


def _files_without_object(
    row: ExpectedRow, keys: Sequence[ObjectKey], meant: Sequence[TargetPolicy], bench: RowContext
) -> Iterator[RowOutcome]:
    """Yield a failure for each of several expected files of which nothing was generated."""
    if len(row.generated) < 2 or row.result != RuleStatus.PASS.value:
        return
    triggers = bench.observed.triggers[row.operation]
    made = {
        object_key(obj)
        for key in keys
        for answer in _answers(row, triggers.get(key), meant)
        for obj in answer.result.generated
    }
    for file in row.generated:
        expected = bench.files[file]
        if not isinstance(expected, str) and made.isdisjoint(map(object_key, expected)):
            text = f"nothing in `{file}` was generated"
            yield outcome(row, row.rule, "", RowVerdict(False, "Nothing generated", text))


def check_rows(
    rows: tuple[ExpectedRow, ...], inputs: SuiteInputs, bench: RowContext, *, lenient: bool
) -> Iterator[tuple[ExpectedRow, RowOutcome]]:
    """Yield each expected row with each of its outcomes, in order."""
    known = row_index(inputs)
    for row in rows:
        found = select_rows(row, bench) if lenient else judge_row(row, known, bench)
        for one in found:
            yield row, one
