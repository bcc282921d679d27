"""Match and exclude blocks, compiled to predicates over the facts of a request."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from kyvsim.kubernetes.discovery import KindSelector, parse_kind_selector, split_api_version
from kyvsim.kubernetes.labels import SelectorError, compile_selector
from kyvsim.kubernetes.objects import (
    Json,
    KubernetesObject,
    ObjectKey,
    Path,
    annotations,
    labels,
    metadata,
    object_key,
    text_field,
)
from kyvsim.kubernetes.wildcard import compile_wildcard, has_wildcard
from kyvsim.model.explanation import Step, StepKind, Value
from kyvsim.model.ports import FEW, Meter
from kyvsim.model.request import AdmissionRequest, UserInfo
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
from kyvsim.policy.tree import MatchBlock, ResourceFilter, Subject

# The facts of a request for match blocks, computed once.


class MatchFacts(NamedTuple):
    """The parts of one request that a match or exclude block can name."""

    group: str
    version: str
    kind: str
    subresource: str
    object_kind: str
    """The object's own kind; `kind` is the parent's for a mapped subresource."""
    name: str
    namespace: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    namespace_labels: Mapping[str, str]
    operation: str
    user: UserInfo | None
    name_to_come: str = ""
    """The prefix of a name that the API server generates; "" for an object with a name."""
    old_labels: Mapping[str, str] | None = None
    """The labels of the old object; None if there is no old object, or no new one."""

    @property
    def key(self) -> ObjectKey:
        """The key of the object, or of a subresource's parent."""
        api_version = f"{self.group}/{self.version}" if self.group else self.version
        return ObjectKey(api_version, self.kind, self.namespace, self.name)

    @property
    def namespace_or_own_name(self) -> str:
        """The value that `namespaces` is compared with: for a Namespace, its own name."""
        return self.name if self.object_kind == "Namespace" else self.namespace


def match_facts(
    request: AdmissionRequest, subject: object, namespace_labels: Mapping[str, str]
) -> MatchFacts | None:
    """Return the facts about `subject`, an object of the request, or None if it is None."""
    if not subject:
        return None
    api_version, own_kind, namespace, name = object_key(subject)
    group, version = split_api_version(api_version)
    group, version, kind = request.parent_kind or (group, version, own_kind)
    to_come = "" if name else text_field(metadata(subject), "generateName")
    return MatchFacts(
        group=group,
        version=version,
        kind=kind,
        subresource=request.subresource,
        object_kind=own_kind,
        name=name or to_come,
        namespace=namespace,
        labels=labels(subject),
        annotations=annotations(subject),
        namespace_labels=namespace_labels,
        operation=request.operation.value,
        user=request.user,
        name_to_come=to_come,
        old_labels=labels(request.old_object) if request.object and request.old_object else None,
    )


def facts_after_change(facts: MatchFacts, subject: object) -> MatchFacts:
    """Return the facts of an object that an earlier rule has changed, with the original kind.

    upstream: pkg/engine/mutation.go, which matches each rule with the result of the previous one.
    """
    meta = metadata(subject)
    return facts._replace(
        name=text_field(meta, "name") or text_field(meta, "generateName"),
        namespace=text_field(meta, "namespace"),
        labels=labels(subject),
        annotations=annotations(subject),
    )


Predicate: TypeAlias = Callable[[MatchFacts], bool]

# `kinds` criteria: lists of kind selectors.

KindIndexEntry = frozenset[str] | None
"""Kinds that a block can match; None if a wildcard leaves it open."""


def compile_kinds(selectors: Iterable[str]) -> Predicate:
    """Return a predicate: whether a selector matches the request's kind and subresource.

    upstream: pkg/utils/match/kind.go
    """
    return _any_of(_compile_selector(parse_kind_selector(text)) for text in selectors)


_EPHEMERAL_CONTAINERS = ("", "v1", "Pod", "ephemeralcontainers")


def _compile_selector(selector: KindSelector) -> Predicate:
    group = compile_wildcard(selector.group)
    version = compile_wildcard(selector.version)
    kind = compile_wildcard(selector.kind)
    subresource = compile_wildcard(selector.subresource)

    def matches(facts: MatchFacts) -> bool:
        if not (kind(facts.kind) and group(facts.group) and version(facts.version)):
            return False
        # For compatibility with older policies, a selector of Pods includes ephemeral containers.
        return subresource(facts.subresource) or facts[:4] == _EPHEMERAL_CONTAINERS

    return matches


def kinds_of_block(block: MatchBlock) -> KindIndexEntry:
    """Return the kinds that a match block can match, or None if any kind is possible."""
    texts = (text for one in block.effective for text in one.kinds or ("*",))
    kinds = {parse_kind_selector(text).kind for text in texts}
    return None if any(map(has_wildcard, kinds)) else frozenset(kinds)


def kind_text(facts: MatchFacts) -> str:
    """Return a request's kind as selectors write it: `apps/v1/Deployment`, `v1/Pod/status`."""
    return "/".join(
        part for part in (facts.group, facts.version, facts.kind, facts.subresource) if part
    )


# Criteria below `resources`.


def _names(patterns: Iterable[str]) -> Predicate:
    checks = tuple(map(compile_wildcard, patterns))
    return lambda facts: any(check(facts.name) for check in checks)


def _namespaces(one: ResourceFilter) -> Predicate:
    checks = tuple(map(compile_wildcard, one.namespaces))

    def matches(facts: MatchFacts) -> bool:
        namespace = facts.namespace_or_own_name
        return any(check(namespace) for check in checks)

    return matches


def _annotations(one: ResourceFilter) -> Predicate:
    checks = tuple(_annotation(key, value) for key, value in (one.annotations or {}).items())
    return lambda facts: all(check(facts.annotations) for check in checks)


def _annotation(key: str, value: str) -> Callable[[Mapping[str, str]], bool]:
    fits_value = compile_wildcard(value)
    if not has_wildcard(key):  # one check instead of one for each annotation
        return lambda held: key in held and fits_value(held[key])
    fits_key = compile_wildcard(key)
    return lambda held: any(fits_key(name) and fits_value(text) for name, text in held.items())


def _selector(one: ResourceFilter) -> Predicate:
    selects = _label_check(one.selector)
    return lambda facts: selects(facts.labels)


def _namespace_selector(one: ResourceFilter) -> Predicate:
    selects = _label_check(one.namespace_selector)

    def matches(facts: MatchFacts) -> bool:
        if facts.object_kind == "Namespace":
            return False
        # An object without a kind matches, as in upstream.
        return not facts.object_kind or selects(facts.namespace_labels)

    return matches


def _label_check(selector: object) -> Callable[[Mapping[str, str]], bool]:
    try:
        return compile_selector(selector)
    except SelectorError:
        return lambda _: False


def _label_keys(selector: KubernetesObject | None) -> Iterable[str]:
    return (selector or {}).get("matchLabels") or ()


# Criteria on the user: `subjects`, `roles` and `clusterRoles`.
#
# upstream: pkg/engine/utils/match.go (which combines them with AND), pkg/utils/match/subjects.go

_NOBODY = UserInfo()


def _one_in_common(
    wanted: Iterable[str] | None, held: Callable[[UserInfo], tuple[str, ...]]
) -> Predicate:
    names = frozenset(wanted or ())
    return lambda facts: not names.isdisjoint(held(facts.user or _NOBODY))


def _one_subject(one: ResourceFilter) -> Predicate:
    checks = [_compile_subject(subject) for subject in one.subjects or ()]
    return lambda facts: any(check(facts.user or _NOBODY) for check in checks)


def _compile_subject(subject: Subject) -> Callable[[UserInfo], bool]:
    if subject.kind == "ServiceAccount":
        account = f"system:serviceaccount:{subject.namespace}:{subject.name}"
        names_account = compile_wildcard(account)
        return lambda user: names_account(user.username)
    names_subject = compile_wildcard(subject.name)
    if subject.kind == "Group":
        return lambda user: any(map(names_subject, user.groups))
    if subject.kind == "User":
        return lambda user: names_subject(user.username)
    return lambda _: False


def _user(facts: MatchFacts) -> object:
    user = facts.user or _NOBODY
    return {"username": user.username, "groups": list(user.groups)}


# All criteria.


class Criterion(NamedTuple):
    """A field of a filter that a request must match."""

    field: str
    """The name as written."""
    value: Callable[[ResourceFilter], object]
    """Returns the field's value in a filter, None if it is not a criterion there."""
    compile: Callable[[ResourceFilter], Predicate]
    """Returns the predicate of a filter that has the field."""
    looks_at: Callable[[MatchFacts], Json]
    """Returns the tested value."""
    path: Path | None = None
    """The path of that value, if it is in the object."""
    without_user: str = ""
    """The note if no user is given, for a criterion on the user; these are written next to
    `resources`."""
    label_keys: Callable[[ResourceFilter], Iterable[str]] = lambda _: ()
    """Returns keys that are compared with all keys of the value if they contain wildcards."""


CRITERIA = (
    Criterion(
        "operations",
        lambda one: one.operations or None,
        lambda one: lambda facts: facts.operation in one.operations,
        lambda facts: facts.operation,
    ),
    Criterion(
        "kinds",
        lambda one: one.kinds or None,
        lambda one: compile_kinds(one.kinds),
        kind_text,
        ("kind",),
    ),
    Criterion(
        "name",
        lambda one: one.name or None,
        lambda one: _names((one.name,)),
        lambda facts: facts.name,
        ("metadata", "name"),
    ),
    Criterion(
        "names",
        lambda one: one.names or None,
        lambda one: _names(one.names),
        lambda facts: facts.name,
        ("metadata", "name"),
    ),
    Criterion(
        "namespaces",
        lambda one: one.namespaces or None,
        _namespaces,
        lambda facts: facts.namespace_or_own_name,
        ("metadata", "namespace"),
    ),
    Criterion(
        "annotations",
        lambda one: one.annotations or None,
        _annotations,
        lambda facts: facts.annotations,
        ("metadata", "annotations"),
        label_keys=lambda one: one.annotations or (),
    ),
    # An empty selector is a criterion that matches everything.
    Criterion(
        "selector",
        lambda one: one.selector,
        _selector,
        lambda facts: facts.labels,
        ("metadata", "labels"),
        label_keys=lambda one: _label_keys(one.selector),
    ),
    Criterion(
        "namespaceSelector",
        lambda one: one.namespace_selector,
        _namespace_selector,
        lambda facts: facts.namespace_labels,
        label_keys=lambda one: _label_keys(one.namespace_selector),
    ),
    Criterion(
        "roles",
        lambda one: one.roles or None,
        lambda one: _one_in_common(one.roles, lambda user: user.roles),
        lambda facts: (facts.user or _NOBODY).roles,
        without_user="no user is set: pass one with roles in a --userinfo file",
    ),
    Criterion(
        "clusterRoles",
        lambda one: one.cluster_roles or None,
        lambda one: _one_in_common(one.cluster_roles, lambda user: user.cluster_roles),
        lambda facts: (facts.user or _NOBODY).cluster_roles,
        without_user="no user is set: pass one with clusterRoles in a --userinfo file",
    ),
    Criterion(
        "subjects",
        lambda one: [subject.data for subject in one.subjects or ()] or None,
        _one_subject,
        _user,
        without_user="no user is set: pass one with --as and --as-group, or in a --userinfo file",
    ),
)
"""All criteria, in the order in which they are evaluated.

upstream: pkg/engine/utils/match.go, doesResourceMatchConditionBlock
"""


def criteria_of(one: ResourceFilter) -> list[Criterion]:
    """Return the criteria of a filter; all of them must match."""
    return [criterion for criterion in CRITERIA if criterion.value(one) is not None]


def compile_criterion(criterion: Criterion, one: ResourceFilter, meter: Meter | None) -> Predicate:
    """Return the predicate of a criterion; it raises BudgetError if `meter` has no steps left."""
    holds = criterion.compile(one)
    wildcards = sum(map(has_wildcard, criterion.label_keys(one)))
    if meter is None or not wildcards:
        return holds
    looks_at = criterion.looks_at

    def metered(facts: MatchFacts) -> bool:
        comparisons = wildcards * len(looks_at(facts))
        if comparisons > FEW:
            meter.spend(comparisons)
        return holds(facts)

    return metered


# Whole blocks: `any`, `all` and the legacy single filter.

MATCHED: Final[Outcomes[bool]] = Outcomes(
    PointKind.MATCH, ("matched",), lambda found: 0 if found else None
)
EXCLUDED: Final[Outcomes[bool]] = Outcomes(
    PointKind.EXCLUDE, ("excluded",), lambda found: 0 if found else None
)


def traced_block(matches: Predicate, kind: StepKind, trace: TraceContext) -> Predicate:
    """Return a `match` or `exclude` block that reports whether it matched."""
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
    place = trace if criterion.without_user else trace.at("resources")
    return place.at(criterion.field)


def _plain(value: object) -> object:
    if isinstance(value, tuple):
        return list(value)
    return dict(value) if isinstance(value, Mapping) else value


def _without_user(criterion: Criterion, facts: MatchFacts) -> str:
    return criterion.without_user if facts.operation else "there is no request, so there is no user"


_OF_KIND: Final = frozenset({"kinds", "operations"})


def compile_rule_match(
    match: MatchBlock,
    exclude: MatchBlock | None,
    policy_namespace: str,
    trace: TraceContext = NO_TRACE,
    meter: Meter | None = None,
) -> Predicate:
    """Return a predicate: whether a rule with these blocks applies to a request.

    `policy_namespace` is "" for a ClusterPolicy; a namespaced policy matches only its namespace.
    The predicate raises BudgetError if `meter` has no steps left.
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
            trace,
            lambda facts: policy_namespace == facts.namespace,
            step,
            lambda step, found, facts: step._replace(answer=found, found=Value(facts.namespace)),
        )

    def applies(facts: MatchFacts) -> bool:
        if confined and not confined(facts):
            return False
        return matches(facts) and not (excludes and excludes(facts))

    return applies


def matches_by_kind(match: MatchBlock) -> bool:
    """Return whether a match block depends on nothing but kind and operation.

    Its result is the same for all objects of the kind, with any user or without one.
    """
    return all(
        one.kinds and {criterion.field for criterion in criteria_of(one)} <= _OF_KIND
        for one in match.effective
    )


def compile_match(
    block: MatchBlock, trace: TraceContext = NO_TRACE, meter: Meter | None = None
) -> Predicate:
    """Return a predicate: whether a match block applies to a request."""
    return _compile_block(block, _match_filter, trace, meter, MATCHED)


def compile_exception_match(
    block: MatchBlock, trace: TraceContext = NO_TRACE, meter: Meter | None = None
) -> Predicate:
    """Return a predicate: whether the match block of a policy exception applies to a request."""
    return _compile_block(block, _exception_filter, trace, meter)


def compile_exception_filter(
    one: ResourceFilter, trace: TraceContext = NO_TRACE, meter: Meter | None = None
) -> Predicate:
    """Return a predicate: whether a filter of a policy exception applies to a request.

    Unlike a rule's, it ignores operations, and checks the user even if none is given.
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
        # Without admission info, criteria on users are ignored, and a filter without other
        # criteria matches nothing.
        if facts.user is None:
            return bool(resources) and holds_for_object(facts)
        return holds_for_object(facts) and holds_for_user(facts)

    if not trace.takes_steps or not user:
        return matches
    # Without a user, criteria on the user are ignored beside others; alone they do not match.
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
    # upstream treats an empty list of users as a criterion that every user matches.
    excludes = _all_of if one.has_users else _all_or_nothing
    return excludes(on_object + on_user)


def _compile_criteria(
    one: ResourceFilter, trace: TraceContext, meter: Meter | None
) -> tuple[list[Predicate], list[Predicate]]:
    """Return the predicates for the object, and those for the user."""
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


# The names of the objects that a match block can match.


def reach_of_block(block: MatchBlock) -> tuple[frozenset[str] | None, frozenset[str] | None]:
    """Return names and namespaces of which a matching object must have one; None for any.

    A Namespace is in the namespace of its own name, as for `namespaces`.
    """

    def plain(*fields: tuple[str, ...]) -> frozenset[str] | None:
        """Return the names of the first field that has some, and no wildcards."""
        known = (one for one in fields if any(one) and not any(map(has_wildcard, one)))
        return next(map(frozenset, known), None)

    def joined(each: list[frozenset[str] | None]) -> frozenset[str] | None:
        known = [names for names in each if names is not None]
        if block.any:
            return frozenset[str]().union(*known) if len(known) == len(each) else None
        return known[0] if known else None

    return (
        joined([plain(one.names, (one.name,)) for one in block.effective]),
        joined([plain(one.namespaces) for one in block.effective]),
    )
