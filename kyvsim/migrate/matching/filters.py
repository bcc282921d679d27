"""Criteria of one filter of a match or exclude block → tests."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from kyvsim.kubernetes.discovery import parse_kind_selector
from kyvsim.kubernetes.objects import Json
from kyvsim.kubernetes.wildcard import has_wildcard, matches
from kyvsim.migrate.desk import Desk
from kyvsim.migrate.expressions import Each, Not, Plain, Relation, Test, every, quoted, some
from kyvsim.migrate.queries.scope import USER_KNOWN
from kyvsim.migrate.refusal import NotConvertible
from kyvsim.migrate.scalars import like, like_one
from kyvsim.model.diagnostic import likely, listed
from kyvsim.model.migration import Condition

# `roles` and `clusterRoles` of a filter → a look at the bindings that name who asks.
#
# Requests do not tell roles: Kyverno finds those of a ClusterPolicy in the bindings of the
# cluster.
# Source of the rule: upstream pkg/userinfo/roleRef.go

_RBAC: Final = "rbac.authorization.k8s.io/v1"
_BOUND: Final = Condition(
    "bound roles",
    "Kyverno may list RoleBindings and ClusterRoleBindings; offline these are given, and roles that"
    " a file tells of a user do not count",
)
_USER: Final = "request.?userInfo.?username.orValue('')"
_GROUPS: Final = "request.?userInfo.?groups.orValue([])"
_NOWHERE: Final = "''"
_HERE: Final = "request.?namespace.orValue('')"
_PLACE: Final = "binding.metadata.?namespace.orValue('')"


def roles_test(field: str, wanted: Sequence[str], desk: Desk) -> Test:
    """Return the test that one of some roles is bound to who asks, for one of `ROLE_FIELDS`."""
    desk.note(_BOUND)
    return ROLE_FIELDS[field](wanted)


def _roles(wanted: Sequence[str]) -> Test:
    """Return the test of Roles, which are written as `namespace:name`."""
    names: dict[str, list[str]] = {}
    for one in wanted:
        namespace, sign, name = one.partition(":")
        if sign:
            names.setdefault(namespace, []).append(name)
    return some(
        _bound(_listed("rolebindings", quoted(namespace)), "Role", some_names)
        for namespace, some_names in names.items()
    )


def _cluster_roles(wanted: Sequence[str]) -> Test:
    """Return the test of ClusterRoles; what a RoleBinding gives counts in its namespace only."""
    listed = f"{_listed('clusterrolebindings', _NOWHERE)} + {_listed('rolebindings', _HERE)}"
    here = some(Relation(_PLACE, "==", one) for one in (_NOWHERE, _HERE))
    return _bound(f"({listed})", "ClusterRole", wanted, here)


ROLE_FIELDS: Final[Mapping[str, Callable[[Sequence[str]], Test]]] = MappingProxyType(
    {"roles": _roles, "clusterRoles": _cluster_roles}
)
"""The fields of a filter that name roles."""


def _listed(resource: str, namespace: str) -> str:
    return f"dyn(resource.List('{_RBAC}', '{resource}', {namespace})).items"


def _bound(bindings: str, kind: str, names: Sequence[str], *more: Test) -> Test:
    is_kind = Relation("binding.roleRef.kind", "==", quoted(kind))
    is_one = Relation("binding.roleRef.name", "in", f"[{', '.join(map(quoted, names))}]")
    return Each(bindings, "binding", every([is_kind, is_one, *more, _names_user()]), "exists")


def _names_user() -> Test:
    """Return the test that a subject of a binding is who asks, or one of their groups."""
    account = (
        f"'system:serviceaccount:' + subject.?namespace.orValue({_PLACE}) + ':' + subject.name"
    )
    ways = (
        ("User", Relation("subject.name", "==", _USER)),
        ("Group", Relation("subject.name", "in", _GROUPS)),
        ("ServiceAccount", Relation(account, "==", _USER)),
    )
    body = some(every([Relation("subject.kind", "==", quoted(kind)), one]) for kind, one in ways)
    return Each("binding.?subjects.orValue([])", "subject", body, "exists")


class Names(NamedTuple):
    """The expressions of what filters ask for."""

    kind: str = "request.kind.kind"
    name: str = "object.metadata.?name.orValue('')"
    namespace: str = "request.?namespace.orValue('')"
    object: str = "object"


ADMITTED: Final = Names()
"""Of an object that is created or changed."""
DELETED: Final = Names(name="request.name")
"""Of one that may be deleted, of which only the request tells then."""
EITHER: Final = Names(
    name="request.?name.orValue('')", object="(request.operation == 'DELETE' ? oldObject : object)"
)
"""Of one of which labels are asked, too, whatever happens to it."""
AT_REST: Final = Names(kind="object.kind", namespace="object.metadata.?namespace.orValue('')")
"""Of one that is there, without any request."""


def _kinds(selectors: Json, names: Names) -> Test:
    kinds = [parse_kind_selector(one).kind for one in selectors]
    return some(like_one(names.kind, kinds))


def _names(patterns: Json, names: Names) -> Test:
    return some(like_one(names.name, list(patterns)))


def _name(pattern: Json, names: Names) -> Test:
    return _names([pattern], names)


def _namespaces(patterns: Json, names: Names) -> Test:
    return some(like_one(names.namespace, list(patterns)))


def _operations(operations: Json, _: Names) -> Test:
    return some(like_one("request.operation", list(operations)))


def _annotations(wanted: Json, names: Names) -> Test:
    return every(
        _entry("annotations", key, str(value), names.object) for key, value in wanted.items()
    )


def _selector(selector: Json, names: Names) -> Test:
    return selector_test(selector, names.object)


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
        return Each(entries, "key", body, "exists")
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
        text = f"`{operator}` is no operator of a label selector{likely(operator, tests)}"
        raise NotConvertible(text, f"write one of {listed(tests)}")
    return tests[operator]


def _namespace_labels(selector: Json, names: Names) -> Test:
    lies_in_one = Relation(names.namespace, "!=", "''")
    return every([lies_in_one, selector_test(selector, "namespaceObject")])


def namespaces_test(patterns: Iterable[str], selector: Json) -> Test:
    """Return the test that a request is for a namespace of some names, or of some labels."""
    tests = [_namespaces(list(patterns), ADMITTED)] if patterns else []
    if selector is not None:
        tests.append(_namespace_labels(selector, ADMITTED))
    return some(tests)


_RESOURCES: Final[Mapping[str, Callable[[Json, Names], Test]]] = MappingProxyType(
    {
        "kinds": _kinds,
        "name": _name,
        "names": _names,
        "namespaces": _namespaces,
        "operations": _operations,
        "annotations": _annotations,
        "selector": _selector,
        "namespaceSelector": _namespace_labels,
    }
)
_HAS_SELECTOR: Final = frozenset({"selector", "namespaceSelector"})


def filter_tests(
    one: Json, desk: Desk, names: Names, *, left_out: frozenset[str] = frozenset()
) -> list[Test]:
    """Return the tests of a filter, all of which have to hold; fields of `left_out` are not asked.

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
                if _names_wildcards(resources) and names is not AT_REST:
                    # A rule with a namespaceSelector is about no Namespace.
                    tests.append(Relation(names.kind, "!=", "'Namespace'"))
                    tests.append(convert(resources[field], names))
                    continue
                raise NotConvertible(
                    "a namespaceSelector for Namespaces themselves has no twin in CEL",
                    "split the rule: one for Namespaces",
                    ("resources", field),
                )
            try:
                tests.append(convert(resources[field], names))
            except NotConvertible as refusal:
                raise refusal.below("resources", field) from None
    return tests + _user_tests(one, desk)


def _may_be_namespaces(resources: Json) -> bool:
    """Return whether a filter may be about Namespaces, whose labels a namespaceSelector leaves."""
    kinds = [parse_kind_selector(one).kind for one in resources.get("kinds") or ("*",)]
    return any(matches(kind, "Namespace") for kind in kinds)


def _names_wildcards(resources: Json) -> bool:
    kinds = [parse_kind_selector(one).kind for one in resources.get("kinds") or ("*",)]
    return "Namespace" not in kinds


def _user_tests(one: Json, desk: Desk) -> list[Test]:
    found = [roles_test(field, one[field], desk) for field in ROLE_FIELDS if one.get(field)]
    if one.get("subjects"):
        found.append(some(_subject(subject) for subject in one["subjects"]))
    if found:
        desk.note(USER_KNOWN)
    return found


def _subject(subject: Json) -> Test:
    kind, name = subject.get("kind"), str(subject.get("name", ""))
    if kind == "Group":
        held = "request.?userInfo.?groups.orValue([])"
        if has_wildcard(name):
            return Each(held, "group", like("group", name), "exists")
        return Relation(quoted(name), "in", held)
    if kind == "ServiceAccount":
        name = f"system:serviceaccount:{subject.get('namespace', '')}:{name}"
    return like("request.?userInfo.?username.orValue('')", name)
