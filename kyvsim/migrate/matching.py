"""Match and exclude blocks → match constraints and conditions."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

from kyvsim.kubernetes.discovery import every_kind, is_namespaced, parse_kind_selector
from kyvsim.kubernetes.objects import Json
from kyvsim.kubernetes.wildcard import has_wildcard, matches
from kyvsim.migrate.context import USER_KNOWN, ConversionContext, NotConvertible, located, within
from kyvsim.migrate.expressions import (
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
from kyvsim.migrate.resource_rules import (
    Operations,
    SelectedKind,
    guessed_kinds,
    known_merges,
    known_types,
    named_kinds,
    resource_rules,
)
from kyvsim.migrate.scalars import like, like_one
from kyvsim.migrate.values import Types
from kyvsim.model.diagnostic import likely, listed
from kyvsim.model.migration import ConversionCondition
from kyvsim.patch.keyed_lists import MergeField

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


def roles_test(field: str, roles: Sequence[str], context: ConversionContext) -> Test:
    """Return the test that one of some roles is bound to the user, for a field of `ROLE_FIELDS`."""
    context.note(_BOUND)
    return ROLE_FIELDS[field](roles)


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


ROLE_FIELDS: Final[Mapping[str, Callable[[Sequence[str]], Test]]] = MappingProxyType(
    {"roles": _roles, "clusterRoles": _cluster_roles}
)
"""The fields of a filter that name roles."""


def _listed(resource: str, namespace: str) -> str:
    return f"dyn(resource.List('{_RBAC}', '{resource}', {namespace})).items"


def _bound(bindings: str, kind: str, names: Sequence[str], *more: Test) -> Test:
    is_kind = Relation("binding.roleRef.kind", "==", quoted(kind))
    is_one = Relation("binding.roleRef.name", "in", f"[{', '.join(map(quoted, names))}]")
    return Quantified(bindings, "binding", every([is_kind, is_one, *more, _names_user()]), "exists")


def _names_user() -> Test:
    """Return the test that a subject of a binding is the user, or one of their groups."""
    account = (
        f"'system:serviceaccount:' + subject.?namespace.orValue({_PLACE}) + ':' + subject.name"
    )
    ways = (
        ("User", Relation("subject.name", "==", _USER)),
        ("Group", Relation("subject.name", "in", _GROUPS)),
        ("ServiceAccount", Relation(account, "==", _USER)),
    )
    body = some(every([Relation("subject.kind", "==", quoted(kind)), one]) for kind, one in ways)
    return Quantified("binding.?subjects.orValue([])", "subject", body, "exists")


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
    tests += [_expression(one, of) for one in selector.get("matchExpressions") or ()]
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


def _expression(one: Json, of: str) -> Test:
    held = f"{of}.metadata.?labels[?{quoted(one['key'])}]"
    values = ", ".join(map(quoted, one.get("values") or ()))
    member = Relation(f"{held}.orValue('')", "in", f"[{values}]")
    there = Plain(f"{held}.hasValue()")
    tests: Mapping[str, Test] = {
        "In": member,
        "NotIn": Not(member),
        "Exists": there,
        "DoesNotExist": Not(there),
    }
    operator = str(one["operator"])
    if operator not in tests:
        text = f"`{operator}` is not an operator of a label selector{likely(operator, tests)}"
        raise NotConvertible(text, f"use one of {listed(tests)}")
    return tests[operator]


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
_HAS_SELECTOR: Final = frozenset({"selector", "namespaceSelector"})


def filter_test(
    one: Json,
    context: ConversionContext,
    names: FilterExpressions,
    *,
    left_out: frozenset[str] = frozenset(),
) -> Test:
    """Return the test of a filter, without its fields in `left_out`.

    Raises NotConvertible with the path from the filter.
    """
    tests: list[Test] = []
    resources = one.get("resources") or {}
    for field, convert in _RESOURCES.items():
        given = resources.get(field) or (
            field in _HAS_SELECTOR and resources.get(field) is not None
        )
        if given and field not in left_out:
            if field == "namespaceSelector" and _may_be_namespaces(resources):
                if names is AT_REST or "Namespace" in _kinds_of(one):
                    raise NotConvertible(
                        "a namespaceSelector on Namespaces themselves cannot be converted to CEL",
                        "split the rule: one rule for Namespaces",
                        ("resources", field),
                    )
                # A rule with a namespaceSelector is about no Namespace.
                tests.append(Relation(names.kind, "!=", "'Namespace'"))
            with located("resources", field):
                tests.append(convert(resources[field], names))
    return every([*tests, *_user_tests(one, context)])


def _may_be_namespaces(resources: Json) -> bool:
    """Return whether a filter may be about Namespaces, whose labels a namespaceSelector leaves."""
    kinds = [parse_kind_selector(one).kind for one in resources.get("kinds") or ("*",)]
    return any(matches(kind, "Namespace") for kind in kinds)


def _user_tests(one: Json, context: ConversionContext) -> list[Test]:
    found = [roles_test(field, one[field], context) for field in ROLE_FIELDS if one.get(field)]
    if one.get("subjects"):
        found.append(some(_subject(subject) for subject in one["subjects"]))
    if found:
        context.note(USER_KNOWN)
    return found


def _subject(subject: Json) -> Test:
    kind, name = subject.get("kind"), str(subject.get("name", ""))
    if kind == "Group":
        held = "request.?userInfo.?groups.orValue([])"
        if has_wildcard(name):
            return Quantified(held, "group", like("group", name), "exists")
        return Relation(quoted(name), "in", held)
    if kind == "ServiceAccount":
        name = f"system:serviceaccount:{subject.get('namespace', '')}:{name}"
    return like("request.?userInfo.?username.orValue('')", name)


# Whole match and exclude blocks → constraints and match conditions of a policy.

_CONSTRAINED: Final = frozenset({"kinds", "operations", "namespaceSelector"})
"""What constraints say of a filter that is the only one. An objectSelector would also take updates
of objects that had the labels before."""
_BY_KIND: Final = frozenset({"kinds", "operations"})


Steps: TypeAlias = tuple[str | int, ...]


class BlockContext(NamedTuple):
    """What the filters of a block share."""

    field: str
    context: ConversionContext
    names: FilterExpressions


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
    """Return what a rule is about.

    Raises NotConvertible with the path from the rule.
    """
    chosen = operations.chosen(named_operations(rule))
    return _matching(rule, chosen, DELETED if "DELETE" in chosen else ADMITTED, context)


def matching_at_rest(spec: Json, context: ConversionContext) -> Matching:
    """Return what a policy is about that looks at objects as they are: operations do not count.

    Raises NotConvertible with the path from `spec`.
    """
    return _matching(spec, [], AT_REST, context)


def block_test(block: Json, kinds: frozenset[str], context: ConversionContext) -> Test:
    """Return the test that an object is what a block is about, of objects of some kinds.

    Raises NotConvertible with the path from the block.
    """
    tests = []
    for steps, one in _filters(block):
        named = _kinds_of(one)
        left_out = frozenset({"kinds"}) if kinds <= named or "*" in named else frozenset()
        tests.append(within(steps, filter_test, one, context.at(*steps), EITHER, left_out=left_out))
    return every(tests) if block.get("all") else some(tests)


def block_kinds(block: Json) -> frozenset[str]:
    """Return the kinds that a block is about, with `*` where one of its filters names none."""
    return frozenset().union(*(_kinds_of(one) or {"*"} for _, one in _filters(block)))


def _kinds_of(one: Json) -> frozenset[str]:
    named = (one.get("resources") or {}).get("kinds") or ()
    return frozenset(parse_kind_selector(text).kind for text in named)


def _matching(
    rule: Json, operations: list[str], names: FilterExpressions, context: ConversionContext
) -> Matching:
    match = rule.get("match") or {}
    filters = list(_filters(match))
    named = _named(match, filters, context.at("match"))
    constraints: dict[str, Json] = {"resourceRules": resource_rules(named, operations)}
    block = BlockContext("match", context, names)
    if len(filters) == 1:
        selectors, matched = _only(block, *filters[0])
        constraints |= selectors
    else:
        matched = _several(match, filters, block)
    guessed = guessed_kinds(named)
    conditions = {
        "kind": some(like_one(names.kind, guessed)) if guessed else TRUE,
        "matched": matched,
        "not-excluded": TRUE,
    }
    if rule.get("exclude"):
        conditions["not-excluded"] = opposite(
            _excluded(rule, BlockContext("exclude", context, names))
        )
    kinds = tuple(dict.fromkeys(one.kind for one in named))
    asked = tuple((name, test) for name, test in conditions.items() if test != TRUE)
    return Matching(
        constraints=constraints,
        conditions=asked,
        types=known_types(named),
        merges=known_merges(named),
        kinds=kinds,
        operations=tuple(operations),
    )


def _only(block: BlockContext, steps: Steps, one: Json) -> tuple[dict[str, Json], Test]:
    """Return the selectors and the test of a filter that is the only one of a match block."""
    resources = one.get("resources") or {}
    selectors: dict[str, Json] = {}
    left_out = _CONSTRAINED
    if resources.get("namespaceSelector") is not None:
        if _lie_in_namespaces(resources.get("kinds") or ("*",)):
            selectors["namespaceSelector"] = resources["namespaceSelector"]
        else:
            # A constraint also matches cluster-scoped objects, a rule does not.
            left_out -= {"namespaceSelector"}
    wild = _is_wild(resources.get("selector"))
    if block.names is DELETED and wild:
        raise NotConvertible(
            (
                "label selectors with wildcards cannot be converted to CEL for objects that are "
                "deleted"
            ),
            "match only the operations CREATE and UPDATE",
            ("match", *steps, "resources", "selector"),
        )
    if block.names is DELETED and resources.get("annotations"):
        block = block._replace(names=EITHER)
    if block.names is not ADMITTED and resources.get("selector") is not None and not wild:
        selectors["objectSelector"] = resources["selector"]
        left_out |= {"selector"}
    return selectors, _test(block, steps, one, left_out)


def _lie_in_namespaces(kinds: Iterable[str]) -> bool:
    """Return whether all kinds are namespaced, as far as they are known."""
    named = map(parse_kind_selector, kinds)
    return not any(
        has_wildcard(one.kind) or not is_namespaced(group, one.kind)
        for one in named
        for group in [group for group, kind in every_kind() if kind == one.kind] or [one.group]
    )


def _filters(block: Json) -> list[tuple[Steps, Json]]:
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
    match: Json, filters: list[tuple[Steps, Json]], context: ConversionContext
) -> list[SelectedKind]:
    lists = []
    for steps, one in filters:
        kinds = (one.get("resources") or {}).get("kinds")
        if kinds:
            lists.append(named_kinds(kinds, context.at(*steps)))
        elif not match.get("all"):
            raise NotConvertible(
                "a filter without kinds cannot be converted to match constraints",
                "name the kinds",
                ("match", *steps),
            )
    if match.get("all") and lists:
        return [one for one in lists[0] if all(one in other for other in lists)]
    return list(dict.fromkeys(one for listed in lists for one in listed))


def _is_wild(selector: Json) -> bool:
    return any(sign in str(selector) for sign in "*?") if selector else False


def _test(block: BlockContext, steps: Steps, one: Json, left_out: frozenset[str]) -> Test:
    steps = (block.field, *steps)
    context = block.context.at(*steps)
    if block.names is AT_REST:
        left_out |= {"operations"}
    with located(*steps):
        return filter_test(one, context, block.names, left_out=left_out)


def _several(match: Json, filters: list[tuple[Steps, Json]], block: BlockContext) -> Test:
    if match.get("all"):
        return every(_test(block, steps, one, _BY_KIND) for steps, one in filters)
    if not any(_filters_more(one) for _, one in filters):
        return TRUE
    return some(_test(block, steps, one, frozenset()) for steps, one in filters)


def _filters_more(one: Json) -> bool:
    """Return whether a filter looks at more than kinds."""
    resources = one.get("resources") or {}
    asked = {field for field, value in resources.items() if value is not None}
    return not asked <= {"kinds"} or bool(set(one) - {"resources"})


def _excluded(rule: Json, block: BlockContext) -> Test:
    exclude = rule["exclude"]
    matched = {
        kind
        for _, one in _filters(rule.get("match") or {})
        for kind in (one.get("resources") or {}).get("kinds") or ()
    }
    tests = []
    for steps, one in _filters(exclude):
        kinds = set((one.get("resources") or {}).get("kinds") or ())
        left_out = frozenset({"kinds"}) if matched <= kinds else frozenset()
        tests.append(_test(block, steps, one, left_out))
    return every(tests) if exclude.get("all") else some(tests)
