"""Checks of variables in CEL: unused ones, absent objects, fields of another type."""

from collections.abc import Iterator, Mapping
from itertools import permutations
from types import MappingProxyType

from kyvsim.cel.nodes import Call, Literal, Node, Select
from kyvsim.kubernetes.discovery import lies_in_namespace
from kyvsim.lint.cel_policy import (
    MUTATING,
    VALIDATING,
    CelPolicy,
    is_name,
    matched_kinds,
    reads_field,
    selected,
)
from kyvsim.model.diagnostic import Diagnostic

# Unused variables: something is not checked that should be.

_KINDS_WITH_VARIABLES = frozenset({*VALIDATING, *MUTATING, "DeletingPolicy"})
"""Kinds whose expressions are all in fields of that name."""


def unread_variables(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV242: a variable that no expression reads."""
    if policy.kind not in _KINDS_WITH_VARIABLES or not policy.expressions:
        return
    whole, named = 0, set()
    for one in policy.expressions:
        for node in one.nodes():
            whole += is_name(node, "variables")
            if isinstance(node, Select) and is_name(node.operand, "variables"):
                named.add(node.field)
                whole -= 1
    if whole:
        return  # some expression takes all of them together
    for index, variable in enumerate(policy.spec.get("variables") or ()):
        if variable["name"] not in named:
            text = f"the variable `{variable['name']}` is never used"
            path = ("spec", "variables", index, "name")
            yield policy.warn("KV242", text, path)


# Comparisons of objects with null: an object that is not there is an empty map to Kyverno.
#
# Source of the rules: upstream pkg/cel/policies/vpol/engine/engine.go

_OBJECTS = ("object", "oldObject")


def null_objects(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV247: `object` or `oldObject` compared with null, which neither ever is."""
    if policy.kind != "ValidatingPolicy" or not _is_of_kubernetes(policy):
        return
    for one in policy.expressions:
        for name in dict.fromkeys(filter(None, map(_compared, one.nodes()))):
            text = (
                f"`{name}` is never null: without such an object it is an empty map (test "
                f"`request.operation` or `has({name}.metadata)`)"
            )
            yield policy.warn("KV247", text, one.path)


def _is_of_kubernetes(policy: CelPolicy) -> bool:
    mode = (policy.spec.get("evaluation") or {}).get("mode") or "Kubernetes"
    return bool(mode == "Kubernetes")


def _compared(node: Node) -> str:
    """Return which object a node compares with null, "" for none."""
    if not isinstance(node, Call) or node.function not in {"_==_", "_!=_"}:
        return ""
    for left, right in permutations(node.arguments):
        if isinstance(right, Literal) and right.value is None:
            return next((name for name in _OBJECTS if is_name(left, name)), "")
    return ""


# Objects that requests of the only operation of a policy do not have.
#
# At CREATE there is no old object, at DELETE no new one. To Kyverno's policies it is an empty map
# then, in which no field is; to Kubernetes' own it is null, so that a policy may test for that
# first.
#
# Source of the rules: upstream pkg/cel/policies/vpol/engine/engine.go

_ABSENT: Mapping[str, str] = MappingProxyType({"CREATE": "oldObject", "DELETE": "object"})


def absent_objects(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV248: a field of an object that never exists."""
    if policy.kind not in VALIDATING:
        return
    rules = (policy.spec.get("matchConstraints") or {}).get("resourceRules") or ()
    operations = {name for rule in rules for name in rule.get("operations") or ("*",)}
    only = operations.pop() if len(operations) == 1 else ""
    absent = _ABSENT.get(only)
    if absent is None:
        return
    if policy.kind != "ValidatingPolicy" and not policy.only_reads_fields(absent):
        return
    for one in policy.expressions:
        if any(reads_field(node, absent) for node in one.nodes()):
            text = f"`{absent}` has no fields at {only}, the only operation that the policy matches"
            yield policy.warn("KV248", text, one.path)


# Fields of `namespaceObject` in policies for cluster-scoped objects.
#
# Source of the rules: upstream pkg/cel/policies/vpol/engine/engine.go resolves it for requests
# with a namespace only

_NAMESPACE = "namespaceObject"
_NAMESPACE_GUARDS = frozenset({"kind", "resource", "namespace", "requestKind", "requestResource"})
"""Fields that distinguish namespaced objects from others."""
_KINDS_WITH_NAMESPACE = frozenset({*VALIDATING, *MUTATING, "GeneratingPolicy"})


def unguarded_namespaces(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV262: a field of the namespace of a cluster-scoped object."""
    if policy.kind not in _KINDS_WITH_NAMESPACE:
        return
    kinds = matched_kinds(policy.spec)
    outside = [one.kind for one in kinds if not lies_in_namespace(one.group, one.kind)]
    # A request for a Namespace has its own name as its namespace.
    if not outside or "Namespace" in outside or _has_namespace_guard(policy):
        return
    for one in policy.expressions:
        if any(reads_field(node, _NAMESPACE) for node in one.nodes()):
            text = (
                f"`{_NAMESPACE}` has no fields for a {outside[0]}, which is cluster-scoped (test "
                f"`{_NAMESPACE} != null` first)"
            )
            yield policy.warn("KV262", text, one.path)


def _has_namespace_guard(policy: CelPolicy) -> bool:
    """Return whether some expression may distinguish namespaced objects from others."""
    if any(isinstance(node, Select) and node.field in _NAMESPACE_GUARDS for node in policy.nodes()):
        return True
    return not policy.only_reads_fields(_NAMESPACE)


# Arithmetic of whole numbers with numbers of objects, which are doubles outside of clusters.
#
# Source of the rules: upstream cmd/cli/kubectl-kyverno/resource reads objects with float64 for
# all numbers

_SIGNS = "+-*/%"
_OPERATORS = frozenset(f"_{sign}_" for sign in _SIGNS)
_OBJECT_FIELDS = ("object.", "oldObject.", "request.object.", "request.oldObject.")


def number_arithmetic(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV252: arithmetic of a whole number and a field of an object."""
    if policy.kind not in VALIDATING:
        return
    for one in policy.expressions:
        for name, shown in dict.fromkeys(filter(None, map(_mixed, one.nodes()))):
            text = (
                f"`{shown}` has no value for objects read from files: numbers are doubles there "
                f"and integers in a cluster (`int({name})` is an integer in both)"
            )
            yield policy.warn("KV252", text, one.path)


def _mixed(node: Node) -> tuple[str, str] | None:
    """Return a field that a node computes with, and the expression; None for any other node."""
    if not isinstance(node, Call) or node.function not in _OPERATORS or len(node.arguments) != 2:
        return None
    left, right = node.arguments
    sign = node.function.strip("_")
    if _is_whole(right) and selected(left).startswith(_OBJECT_FIELDS):
        return selected(left), f"{selected(left)} {sign} {_literal_value(right)}"
    if _is_whole(left) and selected(right).startswith(_OBJECT_FIELDS):
        return selected(right), f"{_literal_value(left)} {sign} {selected(right)}"
    return None


def _is_whole(node: Node) -> bool:
    return isinstance(node, Literal) and node.value.__class__ is int


def _literal_value(node: Node) -> object:
    return node.value if isinstance(node, Literal) else ""
