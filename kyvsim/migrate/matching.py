"""Match and exclude blocks → match constraints and conditions."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from types import MappingProxyType
from typing import Final, NamedTuple

from kyvsim.kubernetes.discovery import (
    KindSelector,
    every_kind,
    is_namespaced,
    parse_kind_selector,
    plural,
    preferred_version,
)
from kyvsim.kubernetes.objects import Json, Path
from kyvsim.kubernetes.wildcard import compile_wildcard, has_wildcard, matches
from kyvsim.migrate.context import USER_KNOWN, ConversionContext, NotConvertible, located, within
from kyvsim.migrate.expressions import (
    FALSE,
    TRUE,
    Not,
    Plain,
    Quantified,
    Relation,
    Test,
    every,
    opposite,
    quoted,
    some,
)
from kyvsim.migrate.scalars import like, like_one
from kyvsim.migrate.values import Types, types_of
from kyvsim.model.diagnostic import likely, listed
from kyvsim.model.migration import ConversionCondition
from kyvsim.patch.keyed_lists import MergeField, find_type

# `operations` of match blocks, and conditions on the operation → those of resource rules.

EVERY: Final = ("CREATE", "UPDATE", "DELETE", "CONNECT")
WRITES: Final = ("CREATE", "UPDATE", "DELETE")
_KEY: Final = re.compile(r"\{\{-?\s*request\.operation\s*(\|\|\s*'[A-Z]*'\s*)?\}\}")
_IN: Final = frozenset({"Equals", "Equal", "In", "AnyIn", "AllIn"})
_NOT_IN: Final = frozenset({"NotEquals", "NotEqual", "NotIn", "AnyNotIn", "AllNotIn"})


class Operations(NamedTuple):
    """The operations that a rule applies to."""

    usual: tuple[str, ...]
    """The default operations of its rule type."""
    allowed: frozenset[str]
    """Those that its preconditions allow."""
    takes_all: bool = False
    """Whether it applies to any operation that a match block names."""

    def chosen(self, named: Iterable[str]) -> list[str]:
        """Return the operations of resource rules, where a match block names some or none."""
        listed = tuple(named)
        usual = self.usual
        if self.takes_all and listed:
            usual = EVERY
        elif listed or self.allowed == {"CONNECT"}:
            usual = (*self.usual, "CONNECT")
        found = [one for one in listed or usual if one in self.allowed and one in usual]
        if not found:
            raise NotConvertible("the rule matches no operation", "remove the rule")
        return found


def without_operations(block: Json) -> tuple[Json, frozenset[str]]:
    """Return preconditions without those on the operation, and the operations that these allow."""
    allowed = frozenset(EVERY)
    if isinstance(block, list):
        by_condition = [_allowed(one) if "key" in one else None for one in block]
        kept = [one for one, found in zip(block, by_condition, strict=True) if found is None]
        return kept, allowed.intersection(*(one for one in by_condition if one is not None))
    if not isinstance(block, dict):
        return block, allowed
    rest = dict(block)
    if block.get("all"):
        rest["all"], found = without_operations(list(block["all"]))
        allowed &= found
    some = block.get("any") or ()
    each = [_allowed(one) for one in some]
    if some and all(one is not None for one in each):
        del rest["any"]
        allowed &= frozenset().union(*(one for one in each if one is not None))
    return {key: value for key, value in rest.items() if value}, allowed


def _allowed(condition: Json) -> frozenset[str] | None:
    """Return the operations that a condition allows; None if it tests something else."""
    key, value = condition.get("key"), condition.get("value")
    if not isinstance(key, str) or _KEY.fullmatch(key) is None:
        return None
    values = [value] if isinstance(value, str) else value or ()
    if not isinstance(values, list | tuple) or not all(isinstance(one, str) for one in values):
        return None
    named = frozenset(values)
    if not named <= frozenset(EVERY) | {"BACKGROUND"}:
        return None
    if condition["operator"] in _IN:
        return named & frozenset(EVERY)
    return frozenset(EVERY) - named if condition["operator"] in _NOT_IN else None


# `kinds` → resource rules, and the types of the objects that they match.

_GUESSED: Final = ConversionCondition(
    "guessed resource names",
    "the cluster must use the plural that the kind suggests, in whatever group",
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
    """One kind as a rule names it."""

    group: str
    version: str
    resource: str
    kind: str


def _selected(selector: KindSelector, context: ConversionContext) -> list[SelectedKind]:
    """Return the kinds that an entry of `kinds` names."""
    if selector.subresource:
        context.note(_PARTS)
    if selector.kind == "*":
        context.note(_ALL_KINDS)
        resource = "*/*" if selector.subresource == "*" else _with_part("*", selector)
        return [SelectedKind(selector.group, selector.version, resource, "")]
    fits_group, fits_kind = compile_wildcard(selector.group), compile_wildcard(selector.kind)
    version = "*" if has_wildcard(selector.version) else selector.version
    known = [
        SelectedKind(
            group,
            "v1" if (group, kind) == ("", "Pod") else version,
            _with_part(plural(group, kind), selector),
            kind,
        )
        for group, kind in every_kind()
        if fits_kind(kind) and fits_group(group)
    ]
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


def _resource_rules(named: Iterable[SelectedKind], operations: list[str]) -> list[Json]:
    """Return one rule for each group and version; without operations they name none."""
    by_group: dict[tuple[str, str], dict[str, None]] = {}
    for one in named:
        by_group.setdefault((one.group, one.version), {})[one.resource] = None
    return [
        {
            "apiGroups": [group],
            "apiVersions": [version],
            **({"operations": operations} if operations else {}),
            "resources": list(resources),
        }
        for (group, version), resources in by_group.items()
    ]


def _known(named: Iterable[SelectedKind]) -> list[tuple[str, str]]:
    """Return apiVersion and kind of each, [] where one is a wildcard or a part of an object."""
    pairs = []
    for one in named:
        if not one.kind or "/" in one.resource or one.group == "*":
            return []
        version = preferred_version(one.group, one.kind) if one.version == "*" else one.version
        pairs.append((f"{one.group}/{version}".lstrip("/"), one.kind))
    return pairs


# `roles` and `clusterRoles` of a filter → tests of the bindings that name the user.
#
# Requests have no roles: Kyverno finds those of a ClusterPolicy in the bindings of the cluster.
# Source of the rule: upstream pkg/userinfo/roleRef.go

_RBAC: Final = "rbac.authorization.k8s.io/v1"
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
    """Return the test of ClusterRoles; what a RoleBinding gives counts in its namespace only."""
    listed = f"{_listed('clusterrolebindings', _NOWHERE)} + {_listed('rolebindings', _HERE)}"
    here = some(Relation(_PLACE, "==", one) for one in (_NOWHERE, _HERE))
    return _bound(f"({listed})", "ClusterRole", roles, here)


def _listed(resource: str, namespace: str) -> str:
    return f"dyn(resource.List('{_RBAC}', '{resource}', {namespace})).items"


def _bound(bindings: str, kind: str, names: Sequence[str], *more: Test) -> Test:
    is_kind = Relation("binding.roleRef.kind", "==", quoted(kind))
    is_one = Relation("binding.roleRef.name", "in", f"[{', '.join(map(quoted, names))}]")
    return Quantified(bindings, "binding", every([is_kind, is_one, *more, _NAMES_USER]), "exists")


# Filters → tests.


class FilterExpressions(NamedTuple):
    """The expressions of what filters compare."""

    kind: str = "request.kind.kind"
    name: str = "object.metadata.?name.orValue('')"
    namespace: str = "request.?namespace.orValue('')"
    object: str = "object"


ADMITTED: Final = FilterExpressions()
"""Of an object that is created or changed."""
DELETED: Final = FilterExpressions(name="request.name")
"""For deletions, which only the request describes."""
EITHER: Final = FilterExpressions(
    name="request.?name.orValue('')", object="(request.operation == 'DELETE' ? oldObject : object)"
)
"""For any operation, if labels are compared."""
AT_REST: Final = FilterExpressions(
    kind="object.kind", namespace="object.metadata.?namespace.orValue('')"
)
"""Of one that is there, without any request."""


def selector_test(selector: Json, of: str = "object") -> Test:
    """Return the test that an object carries the labels of a selector."""
    labels = selector.get("matchLabels") or {}
    tests = [_entry("labels", key, str(value), of) for key, value in labels.items()]
    for one in selector.get("matchExpressions") or ():
        held = f"{of}.metadata.?labels[?{quoted(one['key'])}]"
        values = ", ".join(map(quoted, one.get("values") or ()))
        member = Relation(f"{held}.orValue('')", "in", f"[{values}]")
        there = Plain(f"{held}.hasValue()")
        operators: Mapping[str, Test] = {
            "In": member,
            "NotIn": Not(member),
            "Exists": there,
            "DoesNotExist": Not(there),
        }
        operator = str(one["operator"])
        if operator not in operators:
            text = (
                f"`{operator}` is not an operator of a label selector{likely(operator, operators)}"
            )
            raise NotConvertible(text, f"use one of {listed(operators)}")
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


def _namespace_labels(selector: Json, names: FilterExpressions) -> Test:
    lies_in_one = Relation(names.namespace, "!=", "''")
    return every([lies_in_one, selector_test(selector, "namespaceObject")])


def namespaces_test(patterns: Iterable[str], selector: Json) -> Test:
    """Return the test that a request is for a namespace of some names, or of some labels."""
    tests = like_one(ADMITTED.namespace, list(patterns))
    if selector is not None:
        tests.append(_namespace_labels(selector, ADMITTED))
    return some(tests)


_RESOURCES: Final[Mapping[str, Callable[[Json, FilterExpressions], Test]]] = MappingProxyType(
    {
        "kinds": lambda kinds, names: some(
            like_one(names.kind, [parse_kind_selector(one).kind for one in kinds])
        ),
        "name": lambda pattern, names: some(like_one(names.name, [pattern])),
        "names": lambda patterns, names: some(like_one(names.name, list(patterns))),
        "namespaces": lambda patterns, names: some(like_one(names.namespace, list(patterns))),
        "operations": lambda operations, _: some(like_one("request.operation", list(operations))),
        "annotations": lambda annotations, names: every(
            _entry("annotations", key, str(value), names.object)
            for key, value in annotations.items()
        ),
        "selector": lambda selector, names: selector_test(selector, names.object),
        "namespaceSelector": _namespace_labels,
    }
)


def _test(
    steps: Path,
    one: Json,
    names: FilterExpressions,
    context: ConversionContext,
    left_out: frozenset[str],
) -> Test:
    """Return the test of a filter, without its fields in `left_out`."""
    tests: list[Test] = []
    resources = one.get("resources") or {}
    if names is AT_REST:
        left_out |= {"operations"}
    for field, convert in _RESOURCES.items():
        # An empty selector selects everything that it can.
        is_selector = field in {"selector", "namespaceSelector"}
        given = resources.get(field) or (is_selector and resources.get(field) is not None)
        if not given or field in left_out:
            continue
        with located(*steps, "resources", field):
            if field == "namespaceSelector" and _may_be_namespaces(resources):
                if names is AT_REST or "Namespace" in _kinds_of(one):
                    raise NotConvertible(
                        "a namespaceSelector on Namespaces themselves cannot be converted to CEL",
                        "split the rule: one rule for Namespaces",
                    )
                # A rule with a namespaceSelector is about no Namespace.
                tests.append(Relation(names.kind, "!=", "'Namespace'"))
            tests.append(convert(resources[field], names))
    context = context.at(*steps)
    users: list[Test] = []
    for field, bound in (("roles", _roles), ("clusterRoles", _cluster_roles)):
        if one.get(field):
            context.note(_BOUND)
            users.append(bound(one[field]))
    if one.get("subjects"):
        users.append(some(map(_subject, one["subjects"])))
    if users:
        context.note(USER_KNOWN)
    return every([*tests, *users])


def _may_be_namespaces(resources: Json) -> bool:
    """Return whether a filter may be about Namespaces, whose labels a namespaceSelector leaves."""
    kinds = (parse_kind_selector(one).kind for one in resources.get("kinds") or ("*",))
    return any(matches(kind, "Namespace") for kind in kinds)


def _subject(subject: Json) -> Test:
    kind, name = subject.get("kind"), str(subject.get("name", ""))
    if kind == "Group":
        if has_wildcard(name):
            return Quantified(_GROUPS, "group", like("group", name), "exists")
        return Relation(quoted(name), "in", _GROUPS)
    if kind == "ServiceAccount":
        name = f"system:serviceaccount:{subject.get('namespace', '')}:{name}"
    return like(_USER, name)


# Whole match and exclude blocks → constraints and match conditions of a policy.

_CONSTRAINED: Final = frozenset({"kinds", "operations", "namespaceSelector"})
"""What constraints say of a filter that is the only one. An objectSelector would also take updates
of objects that had the labels before."""
_BY_KIND: Final = frozenset({"kinds", "operations"})


class Matching(NamedTuple):
    """What a policy is about."""

    constraints: dict[str, Json]
    conditions: tuple[tuple[str, Test], ...]
    """Names and tests."""
    types: Types
    """The known types of the objects."""
    merges: tuple[MergeField, ...]
    """How lists of the objects merge, by kind; () where nothing is known of one."""
    kinds: tuple[str, ...]
    operations: tuple[str, ...]

    @property
    def deletes(self) -> bool:
        """Whether it includes deletions."""
        return "DELETE" in self.operations


def matching_of(rule: Json, operations: Operations, context: ConversionContext) -> Matching:
    """Return what a rule is about."""
    chosen = operations.chosen(named_operations(rule))
    return read_matching(rule, chosen, DELETED if "DELETE" in chosen else ADMITTED, context)


def block_test(block: Json, kinds: frozenset[str], context: ConversionContext) -> Test:
    """Return the test that an object is what a block is about, of objects of some kinds."""
    tests = []
    for steps, one in _filters(block):
        named = _kinds_of(one)
        left_out = frozenset({"kinds"}) if kinds <= named or "*" in named else frozenset[str]()
        tests.append(_test(steps, one, EITHER, context, left_out))
    return every(tests) if block.get("all") else some(tests)


def block_kinds(block: Json) -> frozenset[str]:
    """Return the kinds that a block is about, with `*` where one of its filters names none."""
    return frozenset().union(*(_kinds_of(one) or {"*"} for _, one in _filters(block)))


def _kinds_of(one: Json) -> frozenset[str]:
    named = (one.get("resources") or {}).get("kinds") or ()
    return frozenset(parse_kind_selector(text).kind for text in named)


def read_matching(
    rule: Json, operations: list[str], names: FilterExpressions, context: ConversionContext
) -> Matching:
    """Return what a rule or a policy is about, without operations if these do not count."""
    match = rule.get("match") or {}
    filters = _filters(match)
    with located("match"):
        named = _named(match, filters, context.at("match"))
        if len(filters) == 1:
            selectors, matched = _only(*filters[0], names, context.at("match"))
        else:
            selectors, matched = {}, _several(match, filters, names, context.at("match"))
    excluded: Test = FALSE
    if rule.get("exclude"):
        excluded = within(("exclude",), _excluded, rule, names, context.at("exclude"))
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
    steps: Path, one: Json, names: FilterExpressions, context: ConversionContext
) -> tuple[dict[str, Json], Test]:
    """Return the selectors and the test of a filter that is the only one of a match block."""
    resources = one.get("resources") or {}
    selectors: dict[str, Json] = {}
    left_out = _CONSTRAINED
    if resources.get("namespaceSelector") is not None:
        if all(map(_lies_in_namespaces, resources.get("kinds") or ("*",))):
            selectors["namespaceSelector"] = resources["namespaceSelector"]
        else:
            # A constraint also matches cluster-scoped objects, a rule does not.
            left_out -= {"namespaceSelector"}
    wild = any(sign in str(resources.get("selector") or "") for sign in "*?")
    if names is DELETED and wild:
        raise NotConvertible(
            (
                "label selectors with wildcards cannot be converted to CEL for objects that are "
                "deleted"
            ),
            "match only the operations CREATE and UPDATE",
            (*steps, "resources", "selector"),
        )
    if names is DELETED and resources.get("annotations"):
        names = EITHER
    if names is not ADMITTED and resources.get("selector") is not None and not wild:
        selectors["objectSelector"] = resources["selector"]
        left_out |= {"selector"}
    return selectors, _test(steps, one, names, context, left_out)


def _lies_in_namespaces(text: str) -> bool:
    """Return whether a kind is namespaced, as far as it is known."""
    selector = parse_kind_selector(text)
    groups = [group for group, kind in every_kind() if kind == selector.kind] or [selector.group]
    return not has_wildcard(selector.kind) and all(
        is_namespaced(group, selector.kind) for group in groups
    )


def _filters(block: Json) -> list[tuple[Path, Json]]:
    """Return the filters of a block with the ways to them."""
    for quantifier in ("any", "all"):
        if block.get(quantifier):
            return [((quantifier, n), one) for n, one in enumerate(block[quantifier])]
    return [((), block)]


def named_operations(rule: Json) -> list[str]:
    """Return the operations that the match block of a rule names, [] if a filter names none."""
    filters = _filters(rule.get("match") or {})
    named = [(one.get("resources") or {}).get("operations") for _, one in filters]
    found = (operation for one in named for operation in one or ())
    return list(dict.fromkeys(found)) if all(named) else []


def _named(
    match: Json, filters: list[tuple[Path, Json]], context: ConversionContext
) -> list[SelectedKind]:
    lists = []
    for steps, one in filters:
        kinds = (one.get("resources") or {}).get("kinds")
        if kinds:
            found = (_selected(parse_kind_selector(one), context.at(*steps)) for one in kinds)
            lists.append(list(dict.fromkeys(chain(*found))))
        elif not match.get("all"):
            raise NotConvertible(
                "a filter without kinds cannot be converted to match constraints",
                "name the kinds",
                steps,
            )
    if match.get("all") and lists:
        return [one for one in lists[0] if all(one in other for other in lists)]
    return list(dict.fromkeys(chain(*lists)))


def _several(
    match: Json,
    filters: list[tuple[Path, Json]],
    names: FilterExpressions,
    context: ConversionContext,
) -> Test:
    if match.get("all"):
        return every(_test(steps, one, names, context, _BY_KIND) for steps, one in filters)
    if not any(_tests_more(one) for _, one in filters):
        return TRUE
    return some(_test(steps, one, names, context, frozenset()) for steps, one in filters)


def _tests_more(one: Json) -> bool:
    """Return whether a filter tests more than kinds."""
    resources = one.get("resources") or {}
    asked = {field for field, value in resources.items() if value is not None}
    return not asked <= {"kinds"} or bool(set(one) - {"resources"})


def _excluded(rule: Json, names: FilterExpressions, context: ConversionContext) -> Test:
    matched = [
        (one.get("resources") or {}).get("kinds") or () for _, one in _filters(rule["match"])
    ]
    tests = []
    for steps, one in _filters(rule["exclude"]):
        kinds = set((one.get("resources") or {}).get("kinds") or ())
        left_out = frozenset({"kinds"}) if kinds.issuperset(chain(*matched)) else frozenset[str]()
        tests.append(_test(steps, one, names, context, left_out))
    return every(tests) if rule["exclude"].get("all") else some(tests)
