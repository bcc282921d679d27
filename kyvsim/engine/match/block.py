"""Whole match and exclude blocks: `any`, `all` and the old single filter."""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

from kyvsim.engine.match.criteria import (
    MatchFacts,
    names_users,
    resource_criteria,
    resource_fields,
    user_criteria,
    user_fields,
)
from kyvsim.kubernetes.objects import Json, Path
from kyvsim.model.explanation import Step, StepKind, Value
from kyvsim.model.ports import Meter
from kyvsim.model.request import UserInfo
from kyvsim.model.tracing import NO_TRACE, PointKind, TraceContext, trace_step, traced, with_answer

# Match and exclude blocks that report the answer of each of their parts.


Predicate: TypeAlias = Callable[[MatchFacts], bool]

_NOBODY = UserInfo()


def traced_block(matches: Predicate, kind: str, trace: TraceContext) -> Predicate:
    """Return a whole block, `match` or `exclude`, that reports whether it matched."""
    return traced(trace, matches, Step(StepKind(kind), kind), with_answer)


def traced_filter(matches: Predicate, trace: TraceContext) -> Predicate:
    """Return a filter that reports whether it matched, if there is a tracer.

    A block that is its own filter reports itself.
    """
    if trace.tracer is None or not trace.name.endswith("]"):
        return matches
    return traced(trace, matches, Step(StepKind.FILTER, trace.name), with_answer)


def _without_user(name: str, facts: MatchFacts) -> str:
    return _GIVES_USER[name] if facts.operation else "there is no request, so there is no user"


def _traced_criterion(holds: Predicate, name: str, block: Json, trace: TraceContext) -> Predicate:
    look, path = _LOOKED_AT[name]
    asked = Step(
        StepKind.CRITERION, name, wanted=Value(block[name]), path=path, rooted=path is not None
    )

    def answered(step: Step, found: bool, facts: MatchFacts) -> Step:
        if facts.user is None and name in _GIVES_USER:
            return step._replace(answer=found, note=_without_user(name, facts))
        return step._replace(answer=found, found=Value(look(facts)))

    return traced(trace, holds, asked, answered)


def _in_namespace(step: Step, found: bool, facts: MatchFacts) -> Step:
    return step._replace(answer=found, found=Value(facts.namespace))


def kind_text(facts: MatchFacts) -> str:
    """Return a request's kind as selectors write it: `apps/v1/Deployment`, `v1/Pod/status`."""
    return "/".join(
        part for part in (facts.group, facts.version, facts.kind, facts.subresource) if part
    )


def _user(facts: MatchFacts) -> Json:
    user = facts.user or _NOBODY
    return {"username": user.username, "groups": list(user.groups)}


_GIVES_USER: Mapping[str, str] = MappingProxyType(
    {
        "roles": "no user is given: pass one with roles in a --userinfo file",
        "clusterRoles": "no user is given: pass one with clusterRoles in a --userinfo file",
        "subjects": "no user is given: pass one with --as and --as-group, or in a --userinfo file",
    }
)
"""The note for a criterion on the user if no user is given."""

_LOOKED_AT: Mapping[str, tuple[Callable[[MatchFacts], Json], Path | None]] = MappingProxyType(
    {
        "operations": (lambda facts: facts.operation, None),
        "kinds": (kind_text, ("kind",)),
        "name": (lambda facts: facts.name, ("metadata", "name")),
        "names": (lambda facts: facts.name, ("metadata", "name")),
        "namespaces": (lambda facts: facts.namespace_or_own_name, ("metadata", "namespace")),
        "annotations": (lambda facts: dict(facts.annotations), ("metadata", "annotations")),
        "selector": (lambda facts: dict(facts.labels), ("metadata", "labels")),
        "namespaceSelector": (lambda facts: dict(facts.namespace_labels), None),
        "roles": (lambda facts: list((facts.user or _NOBODY).roles), None),
        "clusterRoles": (lambda facts: list((facts.user or _NOBODY).cluster_roles), None),
        "subjects": (_user, None),
    }
)
"""The value that each criterion reads, and its path in the object, if it is in the object."""


_CompileFilter = Callable[[Json, TraceContext, Meter | None], Predicate]

_OF_KIND: Final = frozenset({"kinds", "operations"})


def compile_rule_match(
    match: Json,
    exclude: Json,
    policy_namespace: str,
    trace: TraceContext = NO_TRACE,
    meter: Meter | None = None,
) -> Predicate:
    """Return whether a rule with these blocks applies to a request.

    `policy_namespace` is "" for a ClusterPolicy; a namespaced policy sees its own namespace only.
    The predicate raises BudgetError where `meter` has no steps left.
    upstream: pkg/engine/utils/match.go, MatchesResourceDescription
    """
    matches = compile_match(match or {}, trace.at("match"), meter)
    left_out = trace.at("exclude")
    excludes = _compile_block(exclude, _probed_exclude_filter, left_out, meter) if exclude else None
    confined = (lambda facts: policy_namespace == facts.namespace) if policy_namespace else None
    if trace.tracer is not None:
        matches = traced_block(matches, StepKind.MATCH, trace.at("match"))
        if confined is not None:
            asked = Step(
                StepKind.MATCH,
                "namespace of the policy",
                wanted=Value(policy_namespace),
                path=("metadata", "namespace"),
                rooted=True,
            )
            confined = traced(trace, confined, asked, _in_namespace)
        if excludes is not None:
            excludes = traced_block(excludes, StepKind.EXCLUDE, left_out)

    def applies(facts: MatchFacts) -> bool:
        if confined and not confined(facts):
            return False
        return matches(facts) and not (excludes and excludes(facts))

    return applies


def matches_by_kind(match: Json) -> bool:
    """Return whether a match block looks at nothing but kind and operation.

    What it says of one object it says of all of the kind, for every user and where none is known.
    """
    block = match or {}
    filters = block.get("any") or block.get("all") or [block]
    return all(map(_names_kind_only, filters))


def _names_kind_only(block: Json) -> bool:
    resources = block.get("resources") or {}
    criteria = {name for name, value in resources.items() if value is not None}
    return bool(resources.get("kinds")) and criteria <= _OF_KIND and not user_criteria(block)


def compile_match(
    block: Json, trace: TraceContext = NO_TRACE, meter: Meter | None = None
) -> Predicate:
    """Return whether a match block applies to a request."""
    return _compile_block(block, _probed_match_filter, trace, meter)


def compile_exception_match(
    block: Json, trace: TraceContext = NO_TRACE, meter: Meter | None = None
) -> Predicate:
    """Return whether the match block of a policy exception covers a request.

    Unlike a rule's it knows no operations, and checks the user even if none is given.
    upstream: pkg/engine/utils/exceptions.go
    """
    return _compile_block(block, _exception_filter, trace, meter)


def _compile_block(
    block: Json, compile_filter: _CompileFilter, trace: TraceContext, meter: Meter | None
) -> Predicate:
    if some := block.get("any"):
        return _any_of(compile_filter(one, trace.at("any", n), meter) for n, one in enumerate(some))
    if every := block.get("all"):
        checks = (compile_filter(one, trace.at("all", n), meter) for n, one in enumerate(every))
        return _all_of(checks)
    return compile_filter(block, trace, meter)


def _probed_match_filter(block: Json, trace: TraceContext, meter: Meter | None) -> Predicate:
    return trace.branch(PointKind.MATCH, "matched", _match_filter(block, trace, meter))


def _probed_exclude_filter(block: Json, trace: TraceContext, meter: Meter | None) -> Predicate:
    return trace.branch(PointKind.EXCLUDE, "excluded", _exclude_filter(block, trace, meter))


def _match_filter(block: Json, trace: TraceContext, meter: Meter | None) -> Predicate:
    resources, user = _criteria(block, trace, meter)
    if not resources and not user:
        return traced_filter(lambda _: False, trace)
    holds_for_object, holds_for_user = _all_of(resources), _all_of(user)

    def matches(facts: MatchFacts) -> bool:
        # Without admission info the criteria on users count as absent, and a filter without any
        # criterion matches nothing.
        if facts.user is None:
            return bool(resources) and holds_for_object(facts)
        return holds_for_object(facts) and holds_for_user(facts)

    if trace.tracer is None or not user:
        return traced_filter(matches, trace)
    # Without a user, criteria on the user count as absent beside others; else nothing matches.
    absent = bool(resources)

    def wrapper(facts: MatchFacts) -> bool:
        found = matches(facts)
        if facts.user is None:
            for name in user_fields(block):
                note = _without_user(name, facts)
                asked = Step(StepKind.CRITERION, name, wanted=Value(block[name]), note=note)
                trace_step(trace.at(name), asked._replace(answer=None if absent else False))
        return found

    return traced_filter(wrapper, trace)


def _exclude_filter(block: Json, trace: TraceContext, meter: Meter | None) -> Predicate:
    resources, user = _criteria(block, trace, meter)
    criteria = resources + user
    # upstream takes an empty list of users for something that is asked, and fulfilled.
    asks = bool(criteria) or names_users(block)
    return traced_filter(_all_of(criteria) if asks else lambda _: False, trace)


def _criteria(
    block: Json, trace: TraceContext, meter: Meter | None
) -> tuple[list[Predicate], list[Predicate]]:
    resources = resource_criteria(block.get("resources") or {}, meter)
    user = user_criteria(block)
    if trace.tracer is None:
        return resources, user
    written = block.get("resources") or {}
    on_object = zip(resource_fields(written), resources, strict=True)
    on_user = zip(user_fields(block), user, strict=True)
    return (
        [
            _traced_criterion(one, name, written, trace.at("resources", name))
            for name, one in on_object
        ],
        [_traced_criterion(one, name, block, trace.at(name)) for name, one in on_user],
    )


def _exception_filter(block: Json, trace: TraceContext, meter: Meter | None) -> Predicate:
    asked = {name: value for name, value in block.items() if value}
    resources = asked.get("resources", {}).items()
    known = {name: value for name, value in resources if name != "operations"}
    return _exclude_filter({**asked, "resources": known}, trace, meter)


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
