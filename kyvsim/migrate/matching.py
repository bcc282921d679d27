"""Convert match and exclude blocks to match constraints and conditions."""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Final, NamedTuple

from kyvsim.kubernetes.discovery import (
    KindSelector,
    every_kind,
    is_namespaced,
    parse_kind_selector,
    plural,
    preferred_version,
)
from kyvsim.kubernetes.objects import Json
from kyvsim.kubernetes.wildcard import compile_wildcard, has_wildcard, matches
from kyvsim.migrate.context import USER_KNOWN, ConversionContext, NotConvertible, located
from kyvsim.migrate.expressions import (
    FALSE,
    TRUE,
    Not,
    Plain,
    Quantified,
    Relation,
    Test,
    every,
    literal,
    opposite,
    quoted,
    some,
)
from kyvsim.migrate.scalars import like, like_one
from kyvsim.migrate.values import Types, types_of
from kyvsim.model.diagnostic import likely, listed
from kyvsim.model.migration import ConversionCondition
from kyvsim.model.request import OPERATIONS
from kyvsim.patch.keyed_lists import MergeField, find_type
from kyvsim.policy.rule import RuleNode
from kyvsim.policy.tree import Condition, Conditions, MatchBlock, ResourceFilter, Subject

# Convert operations of match blocks, and conditions on them, to those of resource rules.

WRITES: Final = ("CREATE", "UPDATE", "DELETE")
_KEY: Final = re.compile(r"\{\{-?\s*request\.operation\s*(\|\|\s*'[A-Z]*'\s*)?\}\}")
_IN: Final = frozenset({"Equals", "Equal", "In", "AnyIn", "AllIn"})
_NOT_IN: Final = frozenset({"NotEquals", "NotEqual", "NotIn", "AnyNotIn", "AllNotIn"})


def _chosen(
    named: Sequence[str], usual: tuple[str, ...], allowed: frozenset[str], *, takes_all: bool
) -> list[str]:
    """Return the operations of resource rules, for a match block with or without operations."""
    if takes_all and named:
        usual = OPERATIONS
    elif named or allowed == {"CONNECT"}:
        usual = (*usual, "CONNECT")
    found = [one for one in named or usual if one in allowed and one in usual]
    if not found:
        raise NotConvertible("the rule matches no operation", "remove the rule")
    return found


def without_operations(conditions: Conditions | None) -> tuple[Conditions | None, frozenset[str]]:
    """Return preconditions without those on the operation, and the operations that they allow."""
    allowed = frozenset(OPERATIONS)
    if conditions is None:
        return None, allowed
    groups = []
    for group in conditions.groups:
        some, found = group.any, [_allowed(one) for one in group.any or ()]
        if found and None not in found:
            some = None
            allowed &= frozenset().union(*filter(None, found))
        each = [(one, _allowed(one)) for one in group.all or ()]
        allowed = allowed.intersection(*(named for _, named in each if named is not None))
        rest = tuple(one for one, named in each if named is None)
        groups.append(group._replace(any=some, all=rest))
    return conditions._replace(groups=tuple(groups)), allowed


def _allowed(condition: Condition) -> frozenset[str] | None:
    """Return the operations that a condition allows; None if it tests something else."""
    key, value, operator = condition.key, condition.value, condition.operator
    if not isinstance(key, str) or _KEY.fullmatch(key) is None:
        return None
    values = [value] if isinstance(value, str) else value or ()
    if not isinstance(values, list | tuple) or not all(isinstance(one, str) for one in values):
        return None
    named = frozenset(values)
    if not named <= frozenset(OPERATIONS) | {"BACKGROUND"}:
        return None
    if operator in _IN:
        return named & frozenset(OPERATIONS)
    return frozenset(OPERATIONS) - named if operator in _NOT_IN else None


# Convert `kinds` to resource rules, and find the types of the matched objects.

_GUESSED: Final = ConversionCondition(
    "guessed resource names",
    "the cluster must use the plural that the kind suggests, in any group",
)
_NO_TYPES: Final = ConversionCondition(
    "custom resources",
    "their fields must have the types that the rule expects: their schemas are not known here",
)
_ALL_KINDS: Final = ConversionCondition(
    "all kinds", "subresources that a wildcard also matches are excluded or admitted differently"
)
_PARTS: Final = ConversionCondition(
    "subresources", "only a cluster sends requests for subresources"
)


class SelectedKind(NamedTuple):
    """One kind in a rule."""

    group: str
    version: str
    resource: str
    kind: str


def _selected(selector: KindSelector, context: ConversionContext) -> list[SelectedKind]:
    if selector.subresource:
        context.note(_PARTS)
    if selector.kind == "*":
        context.note(_ALL_KINDS)
        resource = "*/*" if selector.subresource == "*" else _with_part("*", selector)
        return [SelectedKind(selector.group, selector.version, resource, "")]
    fits_group, fits_kind = compile_wildcard(selector.group), compile_wildcard(selector.kind)
    version = "*" if has_wildcard(selector.version) else selector.version
    known = []
    for group, kind in every_kind():
        if fits_kind(kind) and fits_group(group):
            own = "v1" if (group, kind) == ("", "Pod") else version
            resource = _with_part(plural(group, kind), selector)
            known.append(SelectedKind(group, own, resource, kind))
    if known:
        return known
    context.note(_GUESSED)
    context.note(_NO_TYPES)
    if has_wildcard(selector.kind):
        return [SelectedKind(selector.group, selector.version, "*", "")]
    resource = _with_part(plural(selector.group, selector.kind), selector)
    return [SelectedKind(selector.group, selector.version, resource, selector.kind)]


def _with_part(name: str, selector: KindSelector) -> str:
    return f"{name}/{selector.subresource}" if selector.subresource else name


def _resource_rules(
    named: Iterable[SelectedKind], operations: list[str]
) -> list[dict[str, list[str]]]:
    """Return one rule for each group and version, with operations if there are any."""
    by_group: dict[tuple[str, str], dict[str, None]] = {}
    for one in named:
        by_group.setdefault((one.group, one.version), {})[one.resource] = None
    own = {"operations": operations} if operations else {}
    return [
        {"apiGroups": [group], "apiVersions": [version], **own, "resources": list(resources)}
        for (group, version), resources in by_group.items()
    ]


def _known(named: Iterable[SelectedKind]) -> list[tuple[str, str]]:
    """Return apiVersion and kind of each, [] if one has a wildcard or subresource."""
    pairs = []
    for one in named:
        if not one.kind or "/" in one.resource or one.group == "*":
            return []
        version = preferred_version(one.group, one.kind) if one.version == "*" else one.version
        pairs.append((f"{one.group}/{version}".lstrip("/"), one.kind))
    return pairs


# Convert `roles` and `clusterRoles` of a filter to tests of the bindings that name the user.
#
# Requests have no roles: Kyverno finds those of a ClusterPolicy in the bindings of the cluster.
# Source of the rule: upstream pkg/userinfo/roleRef.go

_BOUND: Final = ConversionCondition(
    "bound roles",
    "Kyverno needs permission to list RoleBindings and ClusterRoleBindings; offline, pass them "
    "as resources (roles in a --userinfo file are ignored)",
)
_USER: Final = "request.?userInfo.?username.orValue('')"
_GROUPS: Final = "request.?userInfo.?groups.orValue([])"
_NOWHERE: Final = "''"
_HERE: Final = "request.?namespace.orValue('')"
_PLACE: Final = "binding.metadata.?namespace.orValue('')"
_ACCOUNT: Final = (
    f"'system:serviceaccount:' + subject.?namespace.orValue({_PLACE}) + ':' + subject.name"
)
_SUBJECTS: Final = (
    ("User", Relation("subject.name", "==", _USER)),
    ("Group", Relation("subject.name", "in", _GROUPS)),
    ("ServiceAccount", Relation(_ACCOUNT, "==", _USER)),
)
_NAMES_USER: Final = Quantified(
    "binding.?subjects.orValue([])",
    "subject",
    some(every([Relation("subject.kind", "==", quoted(kind)), one]) for kind, one in _SUBJECTS),
    "exists",
)
"""The test that a subject of a binding is the user, or one of their groups."""


def _roles(roles: Sequence[str]) -> Test:
    """Return the test of Roles, which are written as `namespace:name`."""
    names: dict[str, list[str]] = {}
    for one in roles:
        namespace, sign, name = one.partition(":")
        if sign:
            names.setdefault(namespace, []).append(name)
    return some(
        _bound(_listed("rolebindings", quoted(namespace)), "Role", some_names)
        for namespace, some_names in names.items()
    )


def _cluster_roles(roles: Sequence[str]) -> Test:
    """Return the test of ClusterRoles; RoleBindings count only in their namespace."""
    listed = f"{_listed('clusterrolebindings', _NOWHERE)} + {_listed('rolebindings', _HERE)}"
    here = some(Relation(_PLACE, "==", one) for one in (_NOWHERE, _HERE))
    return _bound(f"({listed})", "ClusterRole", roles, here)


def _listed(resource: str, namespace: str) -> str:
    return f"dyn(resource.List('rbac.authorization.k8s.io/v1', '{resource}', {namespace})).items"


def _bound(bindings: str, kind: str, names: Sequence[str], *more: Test) -> Test:
    is_kind = Relation("binding.roleRef.kind", "==", quoted(kind))
    is_one = Relation("binding.roleRef.name", "in", literal(list(names)))
    return Quantified(bindings, "binding", every([is_kind, is_one, *more, _NAMES_USER]), "exists")


# Convert filters to tests.


class FilterExpressions(NamedTuple):
    """The expressions for the fields that filters compare."""

    kind: str = "request.kind.kind"
    name: str = "object.metadata.?name.orValue('')"
    namespace: str = "request.?namespace.orValue('')"
    object: str = "object"


ADMITTED: Final = FilterExpressions()
"""For an object that is created or changed."""
DELETED: Final = FilterExpressions(name="request.name")
"""For deletions, which only the request describes."""
EITHER: Final = FilterExpressions(
    name="request.?name.orValue('')", object="(request.operation == 'DELETE' ? oldObject : object)"
)
"""For any operation, if labels are compared."""
AT_REST: Final = FilterExpressions(
    kind="object.kind", namespace="object.metadata.?namespace.orValue('')"
)
"""For an existing object, without a request."""


def selector_test(selector: Mapping[str, Json], of: str = "object") -> Test:
    """Return the test that an object has the labels of a selector."""
    labels = selector.get("matchLabels") or {}
    tests = [_entry("labels", key, str(value), of) for key, value in labels.items()]
    for one in selector.get("matchExpressions") or ():
        held = f"{of}.metadata.?labels[?{quoted(one['key'])}]"
        member = Relation(f"{held}.orValue('')", "in", literal(list(one.get("values") or ())))
        there = Plain(f"{held}.hasValue()")
        operators: Mapping[str, Test] = {
            "In": member,
            "NotIn": Not(member),
            "Exists": there,
            "DoesNotExist": Not(there),
        }
        operator = str(one["operator"])
        if operator not in operators:
            what = f"`{operator}` is not an operator of a label selector"
            advice = f"use one of {listed(operators)}"
            raise NotConvertible(f"{what}{likely(operator, operators)}", advice)
        tests.append(operators[operator])
    return every(tests)


def _entry(field: str, key: str, value: str, of: str = "object") -> Test:
    start = f"{of}.metadata.?{field}"
    if has_wildcard(key):
        entries = f"{start}.orValue({{}})"
        body = every([like("key", key), like(f"{of}.metadata.{field}[key]", value)])
        return Quantified(entries, "key", body, "exists")
    held = f"{start}[?{quoted(key)}]"
    if value and not value.strip("*"):
        return Plain(f"{held}.hasValue()")
    return like(f"{held}.orValue('')", value)


def _namespace_labels(selector: Mapping[str, Json], names: FilterExpressions) -> Test:
    lies_in_one = Relation(names.namespace, "!=", "''")
    return every([lies_in_one, selector_test(selector, "namespaceObject")])


def namespaces_test(patterns: Iterable[str], selector: Mapping[str, Json] | None) -> Test:
    """Return the test that the namespace of a request has some name or some labels."""
    tests = like_one(ADMITTED.namespace, list(patterns))
    if selector is not None:
        tests.append(_namespace_labels(selector, ADMITTED))
    return some(tests)


def _filter_test(
    one: ResourceFilter,
    names: FilterExpressions,
    context: ConversionContext,
    left_out: Iterable[str] = (),
) -> Test:
    """Return the test of a filter, without its fields in `left_out`."""
    if names is AT_REST:
        left_out = {*left_out, "operations"}
    kinds = [parse_kind_selector(text).kind for text in one.kinds]
    texts: list[tuple[str, str, Sequence[str]]] = [
        ("kinds", names.kind, kinds),
        ("name", names.name, [one.name] if one.name else []),
        ("names", names.name, one.names),
        ("namespaces", names.namespace, one.namespaces),
        ("operations", "request.operation", one.operations),
    ]
    tests = [
        some(like_one(text, list(patterns)))
        for field, text, patterns in texts
        if patterns and field not in left_out
    ]
    for key, value in (one.annotations or {}).items():
        tests.append(_entry("annotations", key, str(value), names.object))
    # An empty selector matches everything.
    if one.selector is not None and "selector" not in left_out:
        with located((*one.path, "resources", "selector")):
            tests.append(selector_test(one.selector, names.object))
    if one.namespace_selector is not None and "namespaceSelector" not in left_out:
        with located((*one.path, "resources", "namespaceSelector")):
            # A namespaceSelector does not apply to the labels of Namespaces themselves.
            if any(matches(kind, "Namespace") for kind in kinds or ("*",)):
                if names is AT_REST or "Namespace" in kinds:
                    raise NotConvertible(
                        "a namespaceSelector on Namespaces themselves cannot be converted to CEL",
                        "split the rule: one rule for Namespaces",
                    )
                tests.append(Relation(names.kind, "!=", "'Namespace'"))
            tests.append(_namespace_labels(one.namespace_selector, names))
    if one.roles or one.cluster_roles:
        context.note(_BOUND)
    if one.names_users:
        context.note(USER_KNOWN)
    tests += [_roles(one.roles)] if one.roles else []
    tests += [_cluster_roles(one.cluster_roles)] if one.cluster_roles else []
    tests += [some(map(_subject_test, one.subjects))] if one.subjects else []
    return every(tests)


def _subject_test(subject: Subject) -> Test:
    name = subject.name
    if subject.kind == "Group":
        if has_wildcard(name):
            return Quantified(_GROUPS, "group", like("group", name), "exists")
        return Relation(quoted(name), "in", _GROUPS)
    if subject.kind == "ServiceAccount":
        name = f"system:serviceaccount:{subject.namespace}:{name}"
    return like(_USER, name)


# Convert whole match and exclude blocks to constraints and match conditions of a policy.


class Matching(NamedTuple):
    """The constraints and conditions of a policy."""

    constraints: dict[str, Json]
    conditions: tuple[tuple[str, Test], ...]
    """Names and tests."""
    types: Types
    """The known types of the objects."""
    merges: tuple[MergeField, ...]
    """How lists of the objects merge, by kind; () if unknown for one of them."""
    kinds: tuple[str, ...]
    operations: tuple[str, ...]

    @property
    def deletes(self) -> bool:
        """Whether it includes deletions."""
        return "DELETE" in self.operations


def rule_matching(
    rule: RuleNode,
    usual: tuple[str, ...],
    allowed: frozenset[str],
    context: ConversionContext,
    *,
    takes_all: bool,
) -> Matching:
    """Return the constraints and conditions of a rule.

    `usual` are the operations of its rule type, `allowed` those that its preconditions allow; with
    `takes_all` it applies to any operation in its match block.
    """
    chosen = _chosen(named_operations(rule), usual, allowed, takes_all=takes_all)
    names = DELETED if "DELETE" in chosen else ADMITTED
    return read_matching(rule.match, rule.exclude, chosen, names, context)


def named_operations(rule: RuleNode) -> list[str]:
    """Return the operations in the match block of a rule, [] if a filter has none."""
    named = [one.operations for one in rule.match.effective]
    return list(dict.fromkeys(chain(*named))) if all(named) else []


def block_test(block: MatchBlock, kinds: frozenset[str], context: ConversionContext) -> Test:
    """Return the test that an object of some kinds matches a block."""
    tests = []
    for one in block.effective:
        named = _kinds_of(one)
        left_out = {"kinds"} if kinds <= named or "*" in named else set()
        tests.append(_filter_test(one, EITHER, context, left_out))
    return every(tests) if block.all else some(tests)


def block_kinds(block: MatchBlock) -> frozenset[str]:
    """Return the kinds in a block, with `*` if one of its filters has none."""
    return frozenset().union(*(_kinds_of(one) or {"*"} for one in block.effective))


def _kinds_of(one: ResourceFilter) -> frozenset[str]:
    return frozenset(parse_kind_selector(text).kind for text in one.kinds)


def read_matching(
    match: MatchBlock,
    exclude: MatchBlock | None,
    operations: list[str],
    names: FilterExpressions,
    context: ConversionContext,
) -> Matching:
    """Return the constraints and conditions of a rule or policy, optionally without operations."""
    named = _named(match, context)
    selectors: dict[str, object] = {}
    matched: Test = TRUE
    if len(match.effective) == 1:
        selectors, matched = _only(match.effective[0], names, context)
    elif match.all:
        by_kind = {"kinds", "operations"}
        matched = every(_filter_test(one, names, context, by_kind) for one in match.effective)
    elif any(one.resource_fields - {"kinds"} or one.has_users for one in match.effective):
        matched = some(_filter_test(one, names, context) for one in match.effective)
    excluded: Test = FALSE
    if exclude is not None and any(not one.is_empty for one in exclude.filters):
        kinds = frozenset(chain(*(one.kinds for one in match.effective)))
        tests = []
        for one in exclude.effective:
            left_out = {"kinds"} if kinds.issubset(one.kinds) else set()
            tests.append(_filter_test(one, names, context, left_out))
        excluded = every(tests) if exclude.all else some(tests)
    guessed = [one.kind for one in named if one.group == "*" and one.kind]
    conditions = {
        "kind": some(like_one(names.kind, guessed)) if guessed else TRUE,
        "matched": matched,
        "not-excluded": opposite(excluded),
    }
    known = _known(named)
    merges = [find_type(*one) for one in known]
    return Matching(
        constraints={"resourceRules": _resource_rules(named, operations), **selectors},
        conditions=tuple((name, test) for name, test in conditions.items() if test != TRUE),
        types=types_of(known),
        merges=tuple(one for one in merges if one is not None) if all(merges) else (),
        kinds=tuple(dict.fromkeys(one.kind for one in named)),
        operations=tuple(operations),
    )


def _only(
    one: ResourceFilter, names: FilterExpressions, context: ConversionContext
) -> tuple[dict[str, object], Test]:
    """Return the selectors and the test of the only filter of a match block."""
    selectors: dict[str, object] = {}
    left_out = {"kinds", "operations", "namespaceSelector"}
    if one.namespace_selector is not None:
        if all(map(_are_namespaced, one.kinds or ("*",))):
            selectors["namespaceSelector"] = one.namespace_selector
        else:
            # A constraint also matches cluster-scoped objects, a rule does not.
            left_out.remove("namespaceSelector")
    wild = any(sign in str(one.selector or "") for sign in "*?")
    if names is DELETED and wild:
        raise NotConvertible(
            "label selectors with wildcards cannot be converted to CEL for objects that are "
            "deleted",
            "match only the operations CREATE and UPDATE",
            (*one.path, "resources", "selector"),
        )
    if names is DELETED and one.annotations:
        names = EITHER
    # For admitted objects, an objectSelector would also match updates of objects that had the
    # labels before.
    if names is not ADMITTED and one.selector is not None and not wild:
        selectors["objectSelector"] = one.selector
        left_out.add("selector")
    return selectors, _filter_test(one, names, context, left_out)


def _are_namespaced(text: str) -> bool:
    """Return whether a kind is namespaced, as far as it is known."""
    selector = parse_kind_selector(text)
    groups = [group for group, kind in every_kind() if kind == selector.kind] or [selector.group]
    return not has_wildcard(selector.kind) and all(
        is_namespaced(group, selector.kind) for group in groups
    )


def _named(match: MatchBlock, context: ConversionContext) -> list[SelectedKind]:
    lists = []
    for one in match.effective:
        if one.kinds:
            found = (_selected(parse_kind_selector(text), context) for text in one.kinds)
            lists.append(list(dict.fromkeys(chain(*found))))
        elif not match.all:
            raise NotConvertible(
                "a filter without kinds cannot be converted to match constraints",
                "name the kinds",
                one.path,
            )
    if match.all and lists:
        return [one for one in lists[0] if all(one in other for other in lists)]
    return list(dict.fromkeys(chain(*lists)))
