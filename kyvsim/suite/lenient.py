"""The reading of rows that the reference program has (`--lenient`), row for row."""

from collections.abc import Iterator, Sequence

from kyvsim.kubernetes.objects import Json, ObjectKey
from kyvsim.model.result import Phase, PolicyResponse, RuleResult, RuleStatus
from kyvsim.model.suite import ExpectedRow, ResourceSpec, RowOutcome
from kyvsim.suite.compare import (
    Files,
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
from kyvsim.suite.run import ResourceAnswers, leads_to_payload

# The reference program's reading of rows (`--lenient`), row for row.
#
# What it does with rows that never ran is kept: a resource that no rule had anything to say of
# passes as excluded, unknown names mean all resources. Source of the rules: upstream
# cmd/cli/kubectl-kyverno/commands/test/output.go

_GENERATE = Phase.GENERATE


def select_rows(row: ExpectedRow, bench: RowContext) -> Iterator[RowOutcome]:
    """Yield what came of a row, once for each rule and resource that it means."""
    triggers = bench.observed.triggers[row.operation]
    for key in candidates(row, (*bench.observed.targets, *triggers)):
        rows, dropped = _of_trigger(row, key, triggers.get(key), bench.files)
        rows += _of_target(row, key, bench)
        if rows:
            yield from rows
        elif not dropped:
            yield _unseen(row, key, bench)


def candidates(row: ExpectedRow, every: Sequence[ObjectKey]) -> Sequence[ObjectKey]:
    """Return those of the resources that a row means: all, where it names none that is there."""
    if row.resources is None:
        return every
    named = [key for name in row.resources for key in every if _is_named(key, name)]
    named += [key for spec in row.specs for key in every if _is_specified(key, spec)]
    return named or every


def _is_named(key: ObjectKey, name: str) -> bool:
    if leads_to_payload(name, key):
        return True
    return name == key.name or name.split("/") == [key.namespace, key.name]


def _is_specified(key: ObjectKey, spec: ResourceSpec) -> bool:
    return (key.api_version, key.namespace, key.name) == (
        spec.api_version,
        spec.namespace,
        spec.name,
    )


def _of_trigger(
    row: ExpectedRow, key: ObjectKey, answers: ResourceAnswers | None, files: Files
) -> tuple[list[RowOutcome], bool]:
    """Return the rows for a resource, and whether one was dropped for want of a counterpart."""
    rows: list[RowOutcome] = []
    dropped = False
    name = row.policy.rpartition("/")[2]
    for response in answers.responses.get(name, ()) if answers else ():
        weighed = tuple(_weighed(row, response, files))
        kept = [(result, name, verdict) for result, name, verdict in weighed if verdict]
        dropped = dropped or len(kept) < len(weighed)
        rows += [
            outcome(row, result.rule.name, name or shown_key(key), verdict)
            for result, name, verdict in kept
        ]
        if not rows and not dropped:
            rows.append(_excluded(row, key))
    return rows, dropped


def _weighed(
    row: ExpectedRow, response: PolicyResponse, files: Files
) -> Iterator[tuple[RuleResult, str, RowVerdict | None]]:
    """Yield the results that a row means with name and verdict; None for one that is dropped."""
    for result in response.results:
        if not means_rule(row, response.policy, result.rule.name):
            continue
        for name, verdict in _verdicts(row, response, result, files):
            tolerated = not row.fails_on_missing and result.phase is not _GENERATE
            yield result, name, None if verdict.missing and tolerated else verdict


def _verdicts(
    row: ExpectedRow, response: PolicyResponse, result: RuleResult, files: Files
) -> Iterator[tuple[str, RowVerdict]]:
    """Yield the verdict on each object that a result left; by name where that is generated."""
    policy = response.policy
    # Where one rule of the policy can't make its objects, those of the others are lost as well.
    generated = () if _hindered(response) else result.generated
    if result.phase is not _GENERATE:
        yield "", weigh(row, ResultObject(policy, result, left_object(response)), files)
    elif not generated:
        yield "", weigh_status(row, policy, result)
    for obj in generated:
        yield generated_name(obj), weigh(row, ResultObject(policy, result, obj), files)


def _hindered(response: PolicyResponse) -> bool:
    return response.phase is _GENERATE and any(one.hindered for one in response.results)


def left_object(response: PolicyResponse) -> Json:
    """Return the object as a response leaves it: an empty one after a mutate rule has failed on it.

    One that changes existing objects, and a policy without rules, leave it as it was.
    """
    failed = (
        response.phase is Phase.MUTATE
        and response.policy.facts.has_rules
        and any(
            one.status is RuleStatus.ERROR and not one.rule.facts.targets
            for one in response.results
        )
    )
    return {} if failed else response.object


def _of_target(row: ExpectedRow, key: ObjectKey, bench: RowContext) -> list[RowOutcome]:
    """Return the rows for a target; whose policy and rule it was makes no difference."""
    return [
        outcome(
            row,
            found.result.rule.name,
            shown_key(key),
            weigh(
                row, ResultObject(found.response.policy, found.result, found.object), bench.files
            ),
        )
        for found in bench.observed.targets.get(key, ())
    ]


def _excluded(row: ExpectedRow, key: ObjectKey) -> RowOutcome:
    return RowOutcome(
        policy=row.policy,
        rule=row.rule,
        resource=shown_key(key),
        result="Pass",
        reason="Excluded",
        message="Excluded",
    )


def _unseen(row: ExpectedRow, key: ObjectKey, bench: RowContext) -> RowOutcome:
    invalid = bench.refused.get(row.policy.rpartition("/")[2])
    shown = RowOutcome(
        policy=row.policy,
        rule=row.rule,
        resource=shown_key(key),
        result="Fail",
        reason="Not found",
        message="Not found",
    )
    if invalid is None:
        return shown
    return shown._replace(result="Skip", reason="Invalid Policy", message=invalid)
