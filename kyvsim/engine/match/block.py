"""Whole match and exclude blocks: `any`, `all` and the old single filter."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from kyvsim.engine.match.criteria import (
    Criterion,
    MatchFacts,
    Predicate,
    compile_criterion,
    criteria_of,
)
from kyvsim.kubernetes.objects import Json
from kyvsim.model.explanation import Step, StepKind, Value
from kyvsim.model.ports import Meter
from kyvsim.model.tracing import (
    NO_TRACE,
    Outcomes,
    PointKind,
    TraceContext,
    counted,
    trace_step,
    traced,
    with_answer,
)
from kyvsim.policy.tree import MatchBlock, ResourceFilter

MATCHED: Final[Outcomes[bool]] = Outcomes(
    PointKind.MATCH, ("matched",), lambda found: 0 if found else None
)
EXCLUDED: Final[Outcomes[bool]] = Outcomes(
    PointKind.EXCLUDE, ("excluded",), lambda found: 0 if found else None
)


def traced_block(matches: Predicate, kind: StepKind, trace: TraceContext) -> Predicate:
    """Return a whole block, `match` or `exclude`, that reports whether it matched."""
    return traced(trace, matches, Step(kind, kind.value), with_answer)


def traced_filter(
    matches: Predicate, trace: TraceContext, outcomes: Outcomes[bool] | None = None
) -> Predicate:
    """Return a filter that reports whether it matched, if there is a tracer.

    A block that is its own filter reports itself; then only its outcomes are counted.
    """
    if trace.tracer is None:
        return matches
    if trace.name.endswith("]"):
        step = Step(StepKind.FILTER, trace.name)
        return traced(trace, matches, step, with_answer, outcomes=outcomes)
    return counted(trace, matches, outcomes) if outcomes else matches


def _traced_criterion(
    holds: Predicate, criterion: Criterion, one: ResourceFilter, trace: TraceContext
) -> Predicate:
    begun = _step(criterion, one)
    place = _place(criterion, trace)

    def with_value(step: Step, found: bool, facts: MatchFacts) -> Step:
        if facts.user is None and criterion.without_user:
            return step._replace(answer=found, note=_without_user(criterion, facts))
        return step._replace(answer=found, found=Value(_plain(criterion.looks_at(facts))))

    return traced(place, holds, begun, with_value)


def _step(criterion: Criterion, one: ResourceFilter) -> Step:
    return Step(
        StepKind.CRITERION,
        criterion.field,
        wanted=Value(_plain(criterion.value(one))),
        path=criterion.path,
        rooted=criterion.path is not None,
    )


def _place(criterion: Criterion, trace: TraceContext) -> TraceContext:
    fields = (criterion.field,) if criterion.without_user else ("resources", criterion.field)
    return trace.at(*fields)


def _plain(value: Json) -> Json:
    if isinstance(value, tuple):
        return list(value)
    return dict(value) if isinstance(value, Mapping) else value


def _without_user(criterion: Criterion, facts: MatchFacts) -> str:
    return criterion.without_user if facts.operation else "there is no request, so there is no user"


def _in_namespace(step: Step, found: bool, facts: MatchFacts) -> Step:
    return step._replace(answer=found, found=Value(facts.namespace))


_OF_KIND: Final = frozenset({"kinds", "operations"})


def compile_rule_match(
    match: MatchBlock,
    exclude: MatchBlock | None,
    policy_namespace: str,
    trace: TraceContext = NO_TRACE,
    meter: Meter | None = None,
) -> Predicate:
    """Return whether a rule with these blocks applies to a request.

    `policy_namespace` is "" for a ClusterPolicy; a namespaced policy sees its own namespace only.
    The predicate raises BudgetError where `meter` has no steps left.
    upstream: pkg/engine/utils/match.go, MatchesResourceDescription
    """
    matches = traced_block(compile_match(match, trace, meter), StepKind.MATCH, trace.to(match.path))
    excludes = confined = None
    if exclude is not None and not exclude.is_empty:
        excluded = _compile_block(exclude, _exclude_filter, trace, meter, EXCLUDED)
        excludes = traced_block(excluded, StepKind.EXCLUDE, trace.to(exclude.path))
    if policy_namespace:
        step = Step(
            StepKind.MATCH,
            "namespace of the policy",
            wanted=Value(policy_namespace),
            path=("metadata", "namespace"),
            rooted=True,
        )
        confined = traced(
            trace, lambda facts: policy_namespace == facts.namespace, step, _in_namespace
        )

    def applies(facts: MatchFacts) -> bool:
        if confined and not confined(facts):
            return False
        return matches(facts) and not (excludes and excludes(facts))

    return applies


def matches_by_kind(match: MatchBlock) -> bool:
    """Return whether a match block looks at nothing but kind and operation.

    What it says of one object it says of all of the kind, for every user and where none is known.
    """
    return all(
        one.kinds and {criterion.field for criterion in criteria_of(one)} <= _OF_KIND
        for one in match.effective
    )


def compile_match(
    block: MatchBlock, trace: TraceContext = NO_TRACE, meter: Meter | None = None
) -> Predicate:
    """Return whether a match block applies to a request."""
    return _compile_block(block, _match_filter, trace, meter, MATCHED)


def compile_exception_match(
    block: MatchBlock, trace: TraceContext = NO_TRACE, meter: Meter | None = None
) -> Predicate:
    """Return whether the match block of a policy exception covers a request."""
    return _compile_block(block, _exception_filter, trace, meter)


def compile_exception_filter(
    one: ResourceFilter, trace: TraceContext = NO_TRACE, meter: Meter | None = None
) -> Predicate:
    """Return whether a filter of a policy exception covers a request.

    Unlike a rule's it knows no operations, and checks the user even if none is given.
    upstream: pkg/engine/utils/exceptions.go
    """
    return traced_filter(_exception_filter(one, trace, meter), trace)


def _compile_block(
    block: MatchBlock,
    compile_filter: Callable[[ResourceFilter, TraceContext, Meter | None], Predicate],
    trace: TraceContext,
    meter: Meter | None,
    outcomes: Outcomes[bool] | None = None,
) -> Predicate:
    places = [(one, trace.to(one.path)) for one in block.effective]
    checks = [
        traced_filter(compile_filter(one, place, meter), place, outcomes) for one, place in places
    ]
    return _all_of(checks) if block.all and not block.any else _any_of(checks)


def _exception_filter(one: ResourceFilter, trace: TraceContext, meter: Meter | None) -> Predicate:
    on_object, on_user = _compile_criteria(one._replace(operations=()), trace, meter)
    return _all_or_nothing(on_object + on_user)


def _match_filter(one: ResourceFilter, trace: TraceContext, meter: Meter | None) -> Predicate:
    resources, user = _compile_criteria(one, trace, meter)
    if not resources and not user:
        return lambda _: False
    holds_for_object, holds_for_user = _all_of(resources), _all_of(user)

    def matches(facts: MatchFacts) -> bool:
        # Without admission info the criteria on users count as absent, and a filter without any
        # criterion matches nothing.
        if facts.user is None:
            return bool(resources) and holds_for_object(facts)
        return holds_for_object(facts) and holds_for_user(facts)

    if not trace.takes_steps or not user:
        return matches
    # Without a user, criteria on the user count as absent beside others; else nothing matches.
    absent = bool(resources)

    def wrapper(facts: MatchFacts) -> bool:
        found = matches(facts)
        if facts.user is None:
            for criterion in criteria_of(one):
                if criterion.without_user:
                    step = _step(criterion, one)._replace(
                        answer=None if absent else False, note=_without_user(criterion, facts)
                    )
                    trace_step(_place(criterion, trace), step)
        return found

    return wrapper


def _exclude_filter(one: ResourceFilter, trace: TraceContext, meter: Meter | None) -> Predicate:
    on_object, on_user = _compile_criteria(one, trace, meter)
    # upstream takes an empty list of users for a criterion that everybody meets.
    excludes = _all_of if one.has_users else _all_or_nothing
    return excludes(on_object + on_user)


def _compile_criteria(
    one: ResourceFilter, trace: TraceContext, meter: Meter | None
) -> tuple[list[Predicate], list[Predicate]]:
    """Return the tests of the object, and those of the user."""
    on_object: list[Predicate] = []
    on_user: list[Predicate] = []
    for criterion in criteria_of(one):
        holds = compile_criterion(criterion, one, meter)
        if trace.takes_steps:
            holds = _traced_criterion(holds, criterion, one, trace)
        (on_user if criterion.without_user else on_object).append(holds)
    return on_object, on_user


def _any_of(checks: Iterable[Predicate]) -> Predicate:
    alternatives = tuple(checks)
    if len(alternatives) == 1:
        return alternatives[0]
    return lambda facts: any(check(facts) for check in alternatives)


def _all_of(checks: Iterable[Predicate]) -> Predicate:
    conjuncts = tuple(checks)
    if len(conjuncts) == 1:
        return conjuncts[0]
    return lambda facts: all(check(facts) for check in conjuncts)


def _all_or_nothing(checks: Sequence[Predicate]) -> Predicate:
    return _all_of(checks) if checks else lambda _: False
