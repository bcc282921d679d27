"""Criteria of match and exclude blocks, and the facts of a request that they look at."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.kubernetes.discovery import KindSelector, parse_kind_selector, split_api_version
from kyvsim.kubernetes.labels import SelectorError, compile_selector
from kyvsim.kubernetes.objects import (
    Json,
    ObjectKey,
    annotations,
    labels,
    metadata,
    object_key,
    text_field,
)
from kyvsim.kubernetes.wildcard import compile_wildcard, has_wildcard
from kyvsim.model.policy import Filter
from kyvsim.model.ports import FEW, Meter
from kyvsim.model.request import AdmissionRequest, UserInfo

# What match blocks look at, read from a request once.


class MatchFacts(NamedTuple):
    """The parts of one request that a match or exclude block can name."""

    group: str
    version: str
    kind: str
    subresource: str
    object_kind: str
    """The object's own kind; `kind` is its parent's where a subresource is mapped."""
    name: str
    namespace: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    namespace_labels: Mapping[str, str]
    operation: str
    user: UserInfo | None
    name_to_come: str = ""
    """How the name will begin that the API server makes; "" for an object that has one."""
    old_labels: Mapping[str, str] | None = None
    """The labels that the object had; None where none was there before, or none is there after."""

    @property
    def key(self) -> ObjectKey:
        """What names the object, or the parent of a subresource."""
        api_version = f"{self.group}/{self.version}" if self.group else self.version
        return ObjectKey(api_version, self.kind, self.namespace, self.name)

    @property
    def namespace_or_own_name(self) -> str:
        """What `namespaces` is compared with: for a Namespace, its own name."""
        return self.name if self.object_kind == "Namespace" else self.namespace


def match_facts(
    request: AdmissionRequest, subject: Json, namespace_labels: Mapping[str, str]
) -> MatchFacts | None:
    """Return the facts about `subject`, an object of the request, or None where it is absent."""
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


def facts_after_change(facts: MatchFacts, subject: Json) -> MatchFacts:
    """Return the facts of an object that an earlier rule has changed; its kind stays.

    upstream: pkg/engine/mutation.go, where each rule is matched with what the one before left.
    """
    meta = metadata(subject)
    return facts._replace(
        name=text_field(meta, "name") or text_field(meta, "generateName"),
        namespace=text_field(meta, "namespace"),
        labels=labels(subject),
        annotations=annotations(subject),
    )


# The filters of match and exclude blocks, each with its place.


def filters(rule: Mapping[str, Json], block: str) -> Iterator[Filter]:
    """Yield the filters of a `match` or `exclude` block: any, all, then the legacy form."""
    data = rule.get(block)
    if data is None:
        return
    for group in ("any", "all"):
        for index, entry in enumerate(data.get(group) or ()):
            yield Filter((block, group, index), entry)
    yield Filter((block,), data)


# `kinds` criteria: lists of kind selectors.


KindIndexEntry = frozenset[str] | None
"""Kinds that a block can match at all; None where a wildcard keeps it open."""


def compile_kinds(selectors: Iterable[str]) -> Callable[[MatchFacts], bool]:
    """Return whether one of the selectors names the request's kind and subresource.

    upstream: pkg/utils/match/kind.go
    """
    checks = tuple(_compile_selector(parse_kind_selector(text)) for text in selectors)
    if len(checks) == 1:
        return checks[0]
    return lambda facts: any(check(facts) for check in checks)


def _compile_selector(selector: KindSelector) -> Callable[[MatchFacts], bool]:
    group = compile_wildcard(selector.group)
    version = compile_wildcard(selector.version)
    kind = compile_wildcard(selector.kind)
    subresource = compile_wildcard(selector.subresource)

    def matches(facts: MatchFacts) -> bool:
        return (
            kind(facts.kind)
            and group(facts.group)
            and version(facts.version)
            and (subresource(facts.subresource) or _is_ephemeral_containers(facts))
        )

    return matches


def _is_ephemeral_containers(facts: MatchFacts) -> bool:
    # A selector of Pods covers this subresource too, for the sake of older policies.
    return facts.subresource == "ephemeralcontainers" and (
        facts.group,
        facts.version,
        facts.kind,
    ) == ("", "v1", "Pod")


def kinds_of_block(block: Json) -> KindIndexEntry:
    """Return the kinds that a match block can match at all, or None if any kind may."""
    filters = block.get("any") or block.get("all") or [block]
    kinds: set[str] = set()
    for one in filters:
        selectors = (one.get("resources") or {}).get("kinds") or ["*"]
        kinds.update(parse_kind_selector(text).kind for text in selectors)
    return None if any(map(has_wildcard, kinds)) else frozenset(kinds)


# Criteria of a filter's `resources` block.


Criterion = Callable[[MatchFacts], bool]


def resource_criteria(block: Json, meter: Meter | None = None) -> list[Criterion]:
    """Return the criteria of a `resources` block; all of them have to hold.

    They raise BudgetError where `meter` has no steps left.
    upstream: pkg/engine/utils/match.go, doesResourceMatchConditionBlock
    """
    return [
        _metered(_RESOURCE_FIELDS[field](block[field]), field, block[field], meter)
        for field in resource_fields(block)
    ]


def _metered(criterion: Criterion, field: str, value: Json, meter: Meter | None) -> Criterion:
    if meter is None or field not in _LABELS:
        return criterion
    keys = value if field == "annotations" else value.get("matchLabels") or ()
    wildcards = sum(map(has_wildcard, keys))
    if not wildcards:
        return criterion
    held = _LABELS[field]

    def metered(facts: MatchFacts) -> bool:
        comparisons = wildcards * len(held(facts))
        if comparisons > FEW:
            meter.spend(comparisons)
        return criterion(facts)

    return metered


def resource_fields(block: Json) -> list[str]:
    """Return the fields of a `resources` block that are criteria, in the order they are asked."""
    return [
        field
        for field in _RESOURCE_FIELDS
        if block.get(field) or (field in _SELECTORS and block.get(field) is not None)
    ]


def _operations(operations: Iterable[str]) -> Criterion:
    wanted = frozenset(operations)
    return lambda facts: facts.operation in wanted


def _names(patterns: Iterable[str]) -> Criterion:
    checks = tuple(map(compile_wildcard, patterns))
    return lambda facts: any(check(facts.name) for check in checks)


def _namespaces(patterns: Iterable[str]) -> Criterion:
    checks = tuple(map(compile_wildcard, patterns))

    def matches(facts: MatchFacts) -> bool:
        namespace = facts.namespace_or_own_name
        return any(check(namespace) for check in checks)

    return matches


def _annotations(wanted: Json) -> Criterion:
    checks = tuple(_annotation(key, value) for key, value in wanted.items())
    return lambda facts: all(check(facts.annotations) for check in checks)


def _annotation(key: str, value: str) -> Callable[[Mapping[str, str]], bool]:
    fits_value = compile_wildcard(value)
    if not has_wildcard(key):  # one look instead of one at each annotation
        return lambda held: key in held and fits_value(held[key])
    fits_key = compile_wildcard(key)
    return lambda held: any(fits_key(name) and fits_value(text) for name, text in held.items())


def _selector(selector: Json) -> Criterion:
    selects = _label_check(selector)
    return lambda facts: selects(facts.labels)


def _namespace_selector(selector: Json) -> Criterion:
    selects = _label_check(selector)

    def matches(facts: MatchFacts) -> bool:
        if facts.object_kind == "Namespace":
            return False
        # An object without a kind passes unchecked, as it does upstream.
        return not facts.object_kind or selects(facts.namespace_labels)

    return matches


def _label_check(selector: Json) -> Callable[[Json], bool]:
    try:
        return compile_selector(selector)
    except SelectorError:
        return lambda _: False


_SELECTORS = ("selector", "namespaceSelector")
_LABELS: Mapping[str, Callable[[MatchFacts], Mapping[str, Json]]] = MappingProxyType(
    {
        "annotations": lambda facts: facts.annotations,
        "selector": lambda facts: facts.labels,
        "namespaceSelector": lambda facts: facts.namespace_labels,
    }
)
"""The criteria whose keys may have wildcards, and what these are compared with."""
_RESOURCE_FIELDS: Mapping[str, Callable[[Json], Criterion]] = MappingProxyType(
    {
        "operations": _operations,
        "kinds": compile_kinds,
        "name": lambda pattern: _names([pattern]),
        "names": _names,
        "namespaces": _namespaces,
        "annotations": _annotations,
        "selector": _selector,
        "namespaceSelector": _namespace_selector,
    }
)


# User criteria: `subjects`, `roles` and `clusterRoles`.


_NOBODY = UserInfo()


def user_criteria(block: Json) -> list[Criterion]:
    """Return the criteria that a filter sets on the user; all of them have to hold.

    upstream: pkg/engine/utils/match.go (which combines them with AND), pkg/utils/match/subjects.go
    """
    return [_USER_FIELDS[field](block[field]) for field in user_fields(block)]


def user_fields(block: Json) -> list[str]:
    """Return the fields of a filter that are criteria on the user, in the order they are asked."""
    return [field for field in _USER_FIELDS if block.get(field)]


def names_users(block: Json) -> bool:
    """Return whether a filter says something about the user, though it may be an empty list."""
    return any(block.get(field) is not None for field in _USER_FIELDS)


def _one_in_common(
    wanted: frozenset[str], held: Callable[[UserInfo], tuple[str, ...]]
) -> Criterion:
    return lambda facts: not wanted.isdisjoint(held(facts.user or _NOBODY))


def _one_subject(subjects: Json) -> Criterion:
    checks = [_compile_subject(subject) for subject in subjects]
    return lambda facts: any(check(facts.user or _NOBODY) for check in checks)


def _compile_subject(subject: Json) -> Callable[[UserInfo], bool]:
    kind, name = text_field(subject, "kind"), text_field(subject, "name")
    if kind == "ServiceAccount":
        account = f"system:serviceaccount:{text_field(subject, 'namespace')}:{name}"
        names_account = compile_wildcard(account)
        return lambda user: names_account(user.username)
    names_subject = compile_wildcard(name)
    if kind == "Group":
        return lambda user: any(map(names_subject, user.groups))
    if kind == "User":
        return lambda user: names_subject(user.username)
    return lambda _: False


_USER_FIELDS: Mapping[str, Callable[[Json], Criterion]] = MappingProxyType(
    {
        "roles": lambda wanted: _one_in_common(frozenset(wanted), lambda user: user.roles),
        "clusterRoles": lambda wanted: _one_in_common(
            frozenset(wanted), lambda user: user.cluster_roles
        ),
        "subjects": _one_subject,
    }
)


# Which objects a match block can be for at all, as far as it names them.


class Reach(NamedTuple):
    """Names of which an object must have one for a block to match it; None where any will do."""

    names: frozenset[str] | None = None
    namespaces: frozenset[str] | None = None
    """Compared with the own name of a Namespace, as `namespaces` is."""


def reach_of_block(block: Json) -> Reach:
    """Return what a match block reaches."""
    return Reach(names=_named(block, ("names", "name")), namespaces=_named(block, ("namespaces",)))


def _named(block: Json, fields: Iterable[str]) -> frozenset[str] | None:
    if some := block.get("any"):
        each = [_of_filter(one, fields) for one in some]
        known = [names for names in each if names is not None]
        return frozenset[str]().union(*known) if len(known) == len(each) else None
    found = (_of_filter(one, fields) for one in block.get("all") or [block])
    return next((names for names in found if names is not None), None)


def _of_filter(block: Json, fields: Iterable[str]) -> frozenset[str] | None:
    resources = block.get("resources") or {}
    for field in fields:
        written = resources.get(field) or ()
        names = (written,) if written.__class__ is str else written
        if names and not any(map(has_wildcard, names)):
            return frozenset(names)
    return None
