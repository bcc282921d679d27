"""Checks of the fields that CEL expressions read: optional, misspelled, of another type."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import partial
from typing import NamedTuple

from kyvsim.cel.nodes import (
    Bind,
    Call,
    Ident,
    ListLiteral,
    Literal,
    Loop,
    MapLiteral,
    Node,
    Select,
    children,
)
from kyvsim.cel.unparse import written
from kyvsim.kubernetes.discovery import is_namespaced_in_cluster
from kyvsim.linting.cel_logic import demands
from kyvsim.linting.cel_policy import (
    CelPolicy,
    ParsedExpression,
    element_of,
    field_names,
    field_of,
    is_name,
    matched_kinds,
    matched_types,
)
from kyvsim.linting.matching import not_in_body
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.schema.hints import field_hint, value_problem
from kyvsim.schema.merge_types import (
    ANYTHING,
    BOOLEAN,
    DEDUCED,
    NUMERIC,
    STRING,
    Type,
    resolve,
)

_ROOTS = frozenset({"object", "oldObject", "namespaceObject"})
_ELEMENT = "[]"
_RESULTS = "map"
"""The end of the path of a list that `map` makes, after the path of its elements."""
_EMPTY = (ListLiteral, MapLiteral)
_DEFAULTS = frozenset({"orValue", "__orValueCompat__"})
"""`orValue`, and what Kyverno's environments make of it."""
_Names = tuple[str, ...]
_Bound = Mapping[str, _Names | None]


class _Reader(NamedTuple):
    """Collects the fields that one expression reads."""

    reads: list[tuple[Node, _Names]]
    """Nodes with the paths that they read: the root variable, fields, and `[]` for elements."""
    guarded: list[tuple[Node, _Names]]
    """The same for paths that may be missing: tested with `has`, or with a default."""
    tests: set[_Names]
    """Paths that are tested, or read as optional, without their roots; or only names of fields."""

    def path(self, node: Node, bound: _Bound) -> _Names | None:
        """Read a part of the expression; return its path, None if it is no part of an object."""
        if isinstance(node, Ident):
            return bound.get(node.name, (node.name,) if node.name in _ROOTS else None)
        if isinstance(node, Select):
            if is_name(node.operand, "variables"):
                return bound.get(f"variables.{node.field}")
            return self._step(node, self.path(node.operand, bound), node.field)
        if isinstance(node, Loop):
            return self._loop(node, bound)
        if isinstance(node, Bind):
            value = self.value_path(node.value, bound)
            return self.path(node.body, {**bound, node.variable: value})
        paths = [self.path(one, bound) for one in children(node)]
        return self._call(node, paths) if isinstance(node, Call) else None

    def _call(self, node: Call, paths: list[_Names | None]) -> _Names | None:
        """Return the path of the result of a call, from the paths of its arguments."""
        if node.function in _DEFAULTS:
            if paths[0] is not None:
                self.guarded.append((node, paths[0]))
            return paths[0]
        if node.function in {"_[_]", "_[?_]"}:
            key = node.arguments[1]
            name = key.value if isinstance(key, Literal) else None
            return self._step(node, paths[0], name if isinstance(name, str) else _ELEMENT)
        if node.function == "_?_:_" and any(isinstance(one, _EMPTY) for one in node.arguments):
            return paths[1] or paths[2]
        # The elements of added lists have the same fields.
        return (paths[0] or paths[1]) if node.function == "_+_" else None

    def value_path(self, node: Node, bound: _Bound) -> _Names | None:
        """Return the path of the value of a variable; None for an optional value."""
        path = self.path(node, bound)
        return None if _has_optional(node) else path

    def _step(self, node: Node, owner: _Names | None, field: str) -> _Names | None:
        """Return the path of a field of an object, or of an element of a list."""
        path = None if owner is None else (*owner, field)
        if field == _ELEMENT and owner is not None and owner[-1] == _RESULTS:
            path = owner[:-1]
        is_test = isinstance(node, Select) and node.test
        if is_test or _has_optional(node):
            self.tests.add((field,) if path is None else path[1:])
        elif path is not None:
            self.reads.append((node, path))
        if is_test and path is not None:
            self.guarded.append((node, path))
        return None if is_test else path

    def _loop(self, node: Loop, bound: _Bound) -> _Names | None:
        source = self.path(node.source, bound)
        inner = {**bound, **dict.fromkeys(node.variables)}
        if source is not None:
            is_mapped = source[-1] == _RESULTS
            inner[node.variables[-1]] = source[:-1] if is_mapped else (*source, _ELEMENT)
        if node.test is not None:
            self.path(node.test, inner)
        result = None if node.result is None else self.path(node.result, inner)
        if node.kind == "map":
            return None if result is None else (*result, _RESULTS)
        return source if node.kind == "filter" else None


def _field_reads(policy: CelPolicy) -> Iterator[tuple[ParsedExpression, _Reader]]:
    """Yield the expressions of a policy, variables first, each with the fields that it reads."""
    names = {(*one.path, "expression"): one.name for one in policy.spec.variables}
    bound: dict[str, _Names | None] = {}
    for one in sorted(policy.expressions, key=lambda one: one.path not in names):
        reader = _Reader([], [], set())
        path = reader.value_path(one.root, bound)
        if one.path in names:
            bound[f"variables.{names[one.path]}"] = path
        yield one, reader


def field_problems(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV323 to KV325, KV329, KV349: fields that are optional, misspelled, or absent."""
    types, read = matched_types(policy), tuple(_field_reads(policy))
    named_fields: set[_Names] = {(name,) for name in _named_in_texts(policy)}
    guarded = named_fields.union(*(reader.tests for _, reader in read))
    # With targets, `object` is of another kind in mutations.
    own = () if policy.spec.target_match_constraints else types
    named = {name for rule in policy.spec.resource_rules for name in rule.resources}
    subresources = {name.partition("/")[2] for name in named}
    subresource = subresources.pop() if len(subresources) == 1 else ""
    for one, (reads, tested, _) in read:
        bodies = (path[1:3] for _, path in reads if path[0] != "namespaceObject")
        found = [
            *(("KV329", text) for text in map(partial(not_in_body, subresource), bodies) if text),
            *_unguarded(policy, {path for _, path in reads}, guarded, own),
            *(_unknown_values(one, [*reads, *tested], own) if own else ()),
            *_unlike_defaults(tested, own),
            *(_misspelt({path for _, path in (*reads, *tested)}, own) if own else ()),
            *(("KV323", text) for text in _missing_elements(policy, one)),
            *(("KV323", text) for text in _missing_in_message(policy, one)),
            *(("KV325", text) for text in _escaped(policy, one)),
        ]
        for code, text in dict.fromkeys(found):
            yield policy.warn(code, text, one.path)


_ESCAPES: Mapping[str, str] = {
    "__dash__": "-",
    "__dot__": ".",
    "__slash__": "/",
    "__underscores__": "__",
    **{f"__{word}__": word for word in ("if", "import", "namespace", "package", "return")},
}
"""How rules of CustomResourceDefinitions write names that are no identifiers of CEL.

upstream: k8s.io/apiserver pkg/cel/escaping.go
"""
_ESCAPED = re.compile("|".join(_ESCAPES))
_OWN_NAMES = frozenset({"Object", "attestations", "attestors", "images", "variables"})


def _escaped(policy: CelPolicy, one: ParsedExpression) -> Iterator[str]:
    """KV325: a name as rules of CustomResourceDefinitions write it.

    upstream: pkg/cel/policies/vpol/compiler/compiler.go, in which objects are maps without types
    """
    if not _ESCAPED.search(one.text) or policy.kind.endswith("AdmissionPolicy"):
        return
    for node in one.nodes():
        if not isinstance(node, Select) or not _ESCAPED.search(node.field):
            continue
        root = node.operand
        while isinstance(root, Select):
            root = root.operand
        if isinstance(root, Ident) and root.name in _OWN_NAMES:
            continue
        meant = _ESCAPED.sub(lambda found: _ESCAPES[found[0]], node.field)
        owner = written(node.operand)
        if meant.isidentifier():
            instead = f"has({owner}.{meant})" if node.test else f"{owner}.{meant}"
        else:
            instead = f"'{meant}' in {owner}" if node.test else f"{owner}['{meant}']"
        problem = f"`{node.field}` is not read as `{meant}` here, so no object has it"
        yield f"{problem}: write `{instead}`"


_COUNTING = frozenset({"size", "contains", "matches", "indexOf", "startsWith", "endsWith"})
"""Functions by which a policy may know how many elements there are."""


def _missing_elements(policy: CelPolicy, one: ParsedExpression) -> Iterator[str]:
    """KV323: an element of a list, other than the first, that no test protects."""
    for node in one.nodes() if "[" in one.text else ():
        if not isinstance(node, Call) or node.function != "_[_]":
            continue
        owner, key = node.arguments
        is_later = isinstance(key, Literal) and key.value.__class__ is int and key.value > 0
        is_split = isinstance(owner, Call) and owner.function == "split"
        if not is_later or not (is_split or isinstance(owner, Select)):
            continue
        calls = {each.function for each in policy.nodes() if isinstance(each, Call)}
        if _COUNTING.isdisjoint(calls):
            text = (
                f"`{written(node)}` is an error if there are fewer elements: test `size(…)` first"
            )
            yield f"{text}, or write `{written(owner)}[?{written(key)}].orValue(…)`"


def _missing_in_message(policy: CelPolicy, one: ParsedExpression) -> Iterator[str]:
    """KV323: a field without which a validation fails, and which its message reads."""
    if one.path[-1] != "messageExpression":
        return
    test = next(
        (each for each in policy.expressions if each.path == (*one.path[:-1], "expression")), None
    )
    required = (
        {written(each.operand) for each in demands(test.root) if each.relation == "has"}
        if test
        else set()
    )
    nodes = [each for each in one.nodes() if isinstance(each, Select) and written(each) in required]
    if nodes and not any(each.test for each in one.nodes() if isinstance(each, Select)):
        yield (
            f"without `{written(nodes[0])}`, the validation fails, and this message cannot be "
            "evaluated: test the field here, too, or give it a default"
        )


def _shown(path: _Names) -> str:
    return ".".join(path).replace(f".{_ELEMENT}", _ELEMENT)


_OF_METADATA = frozenset({"labels", "annotations", "finalizers", "deletionTimestamp"})
_REQUIRED = frozenset({"image", "accessModes", "capacity", "hard", "template"})
"""Fields that types declare as optional, but without which objects are invalid."""
_REQUIRED_IN: Mapping[str, tuple[_Names, ...]] = {
    "PersistentVolumeClaim": (
        ("spec", "resources", "requests"),
        ("spec", "resources", "requests", "storage"),
    ),
    "Service": (("spec", "ports"),),  # those with a cluster IP
    "Role": (("rules", _ELEMENT, "apiGroups"), ("rules", _ELEMENT, "resources")),
}
"""The same, as paths in some kinds."""
_SET_AT_ADMISSION = frozenset(
    {
        *("clusterIP", "clusterIPs", "healthCheckNodePort", "ipFamilies", "ipFamilyPolicy"),
        *("priority", "selector", "serviceAccount", "serviceAccountName", "tolerations"),
        "volumeMounts",
    }
)
"""Fields that API servers set with admission plugins, or before they call validating webhooks."""


def _unguarded(
    policy: CelPolicy, paths: set[_Names], guarded: set[_Names], types: tuple[Type, ...]
) -> Iterator[tuple[str, str]]:
    """KV323: an optional field that nothing tests: without it, the expression is an error."""
    optional = [one for one in sorted(paths) if guarded.isdisjoint({one[1:], one[-1:]})]
    if not optional:
        return
    matched = matched_kinds(policy.spec)
    kinds = {one.kind for one in matched}
    outside = any(not is_namespaced_in_cluster(one.group, one.kind) for one in matched)
    constraints = policy.spec.match_constraints
    labelled = constraints is not None and constraints.selects_objects
    missing: list[_Names] = []
    for path in optional:
        # The first missing field of a path is enough.
        if any(path[: len(one)] == one for one in missing) or (labelled and "labels" in path):
            continue
        if is_optional(path, kinds, types, is_outside=outside):
            if len(kinds) > 1 and policy.mentions("kind"):
                continue  # the policy may read the field of one kind only
            missing.append(path)
            name, field = _shown(path), path[-1]
            lists, _, below = _shown(path[:-1]).rpartition("[]")
            owner, whose = (f"e{below}", "of an element `e`, ") if lists else (below, "")
            if path[1:] == ("metadata", "namespace") and len(kinds) == 1:
                text = f"`{name}` is missing, since a {min(kinds)} is in no namespace"
                is_own = kinds == {"Namespace"}
                advice = f": its name is `{path[0]}.metadata.name`" if is_own else ""
                yield "KV323", f"{text}{advice}"
                continue
            advice = f"{whose}test `has({owner}.{field})`, or write `{owner}.?{field}.orValue(…)`"
            if not field.isidentifier():
                advice = f"test `'{field}' in {owner}` first"
            yield "KV323", f"`{name}` may be missing, which is an error: {advice}"


def _named_in_texts(policy: CelPolicy) -> frozenset[str]:
    """Return the texts that a policy compares or searches, such as `'team' in labels`."""
    return frozenset(
        one.value
        for node in policy.nodes()
        if isinstance(node, Call) and node.function != "_[_]"
        for one in node.arguments
        if isinstance(one, Literal) and isinstance(one.value, str)
    )


def _has_optional(node: Node) -> bool:
    """Return whether a field or element is optional because of a `?` before it."""
    while isinstance(node, Select) or (isinstance(node, Call) and node.function == "_[_]"):
        if isinstance(node, Select) and node.optional:
            return True
        node = children(node)[0]
    return isinstance(node, Call) and node.function in {"_[?_]", "_?._"}


def is_optional(
    path: _Names, kinds: Collection[str], types: Iterable[Type], *, is_outside: bool
) -> bool:
    """Return whether an object of some kinds may lack the field at a path.

    The path begins with the name of the object, and `[]` is an element of a list. `is_outside` is
    whether one of the kinds is in no namespace.
    """
    root, *owner, field = path
    of_namespace = root == "namespaceObject" or {*kinds} == {"Namespace"}
    if owner == ["metadata"]:
        if field == "namespace":
            return is_outside and root != "namespaceObject"
        # A Namespace always has the label with its name.
        return field in _OF_METADATA and not (of_namespace and field == "labels")
    if owner in (["metadata", "labels"], ["metadata", "annotations"]):
        return field not in {"kubernetes.io/metadata.name", _ELEMENT}
    if root == "namespaceObject" or field == _ELEMENT or "status" in owner:
        return False
    required = _REQUIRED_IN.get(min(kinds), ()) if len(kinds) == 1 else ()
    if path[1:] in required:
        return False
    return any(_may_lack(one, (*owner,), field) for one in types)


def _may_lack(root: Type, owner: _Names, field: str) -> bool:
    """Return whether objects of a type may have no such field at a path."""
    found, _ = _below(root, owner)
    if found is None or found.mapping is None:
        return False
    if field in found.mapping.fields:
        return field in found.mapping.optional - _REQUIRED - _SET_AT_ADMISSION
    others = found.mapping.others
    return others is not None and bool(resolve(others).scalar) and others not in {ANYTHING, DEDUCED}


_EQUALITIES = frozenset({"_==_", "_!=_", "@in"})


def _unknown_values(
    expression: ParsedExpression, reads: list[tuple[Node, _Names]], types: tuple[Type, ...]
) -> Iterator[tuple[str, str]]:
    """KV349: a string that is compared with a field that never has this value."""
    paths = {node.id: path for node, path in reads if path[0] != "namespaceObject"}
    for node in expression.nodes() if paths else ():
        if not isinstance(node, Call) or node.function not in _EQUALITIES:
            continue
        for field, other in (node.arguments, node.arguments[::-1]):
            path = paths.get(field.id)
            literals = other.elements if isinstance(other, ListLiteral) else (other,)
            values = [one.value for one in literals if isinstance(one, Literal)]
            found = [_below(root, path[1:])[0] for root in types] if path and values else []
            problem = value_problem([one for one in found if one], values)
            if problem:
                yield "KV349", problem


_KINDS: Mapping[type, tuple[str, str]] = {
    bool: (BOOLEAN, "a boolean"),
    int: (NUMERIC, "a number"),
    float: (NUMERIC, "a number"),
    str: (STRING, "a string"),
}
_NOUNS: Mapping[str, str] = dict(_KINDS.values())


def _unlike_defaults(
    tested: list[tuple[Node, _Names]], types: tuple[Type, ...]
) -> Iterator[tuple[str, str]]:
    """KV324: a default of another type than the field, with which a comparison is constant."""
    for node, path in tested:
        default = node.arguments[-1] if isinstance(node, Call) else None
        given = _KINDS.get(default.value.__class__) if isinstance(default, Literal) else None
        ends = [_below(root, path[1:])[0] for root in types if path[0] != "namespaceObject"]
        kinds = {one.scalar for one in ends if one and not (one.mapping or one.sequence)}
        if path[-2:-1] in (("labels",), ("annotations",)):
            kinds = {STRING}
        if given and kinds and kinds <= {*_NOUNS} and given[0] not in kinds:
            text = (
                f"`{_shown(path)}` is {_NOUNS[min(kinds)]}, and its default in `{written(node)}` "
                f"is {given[1]}: write a default of the same type, and compare with that"
            )
            yield "KV324", text


def _below(root: Type, path: _Names) -> tuple[Type | None, int]:
    """Return the type at a path, or None and the index of the first unknown field."""
    here = root
    for index, name in enumerate(path):
        below = element_of(here) if name == _ELEMENT else field_of(here, name)
        if below is None:
            return None, index
        here = below
    return here, len(path)


_DEEPEST = 8


def _places(root: Type, name: str) -> tuple[_Names, ...]:
    """Return the paths in a type that end with the name of a field, the shortest first."""
    found: list[_Names] = []
    pending: list[tuple[_Names, Type]] = [((), root)]
    for path, here in pending:
        if here.scalar or len(path) == _DEEPEST:
            continue  # a value of any type contains itself
        inner = element_of(here)
        if inner is not None:
            pending.append(((*path, _ELEMENT), inner))
        for field in field_names(here):
            below = field_of(here, field)
            if field == name:
                found.append((*path, field))
            elif below is not None and field not in path:
                pending.append(((*path, field), below))
    return tuple(found)


def _misspelt(paths: set[_Names], types: tuple[Type, ...]) -> Iterator[tuple[str, str]]:
    """KV325: a field that is a typo of one that the policy's kinds have."""
    for path in sorted(paths):
        ends = [_below(root, path[1:]) for root in types]
        if path[0] == "namespaceObject" or any(found for found, _ in ends):
            continue
        at = max(index for _, index in ends)
        owners = [_below(root, path[1 : at + 1])[0] for root in types]
        here = [owner for owner in owners if owner]
        known = {field for owner in here for field in field_names(owner)}
        name = path[at + 1]
        hint = field_hint(name, known, here)
        if not hint and known:
            # Newer versions of Kubernetes may have other fields, but hardly one of the same name.
            found = {one for root in types for one in _places(root, name)}
            places = sorted(found, key=lambda one: (len(one), len(_shown(one)), one))
            above = [one for one in places if one[:-1] == path[1 : len(one)]]
            place = _shown(next(iter((*above[::-1], *places)), ()))
            hint = f": it is in `{place}`" if place else ""
            if place and above and name != _ELEMENT:
                hint += " (an inner loop may hide the variable of an outer one)"
        if hint:
            yield "KV325", f"no kind that the policy matches has the field `{name}` here{hint}"
