"""Checks of CEL validations and variables: constant, unreachable or unused ones, absent objects."""

from collections.abc import Iterator, Mapping
from itertools import pairwise, permutations
from types import MappingProxyType

from kyvsim.cel import CelBudgetError, CelError, CompileError, compile_expression
from kyvsim.cel.nodes import Call, Literal, Loop, Node, Select, children, dotted_name
from kyvsim.kubernetes.discovery import is_namespaced_in_cluster
from kyvsim.kubernetes.objects import Json, Path
from kyvsim.lint.cel_policy import (
    MUTATING,
    VALIDATING,
    CelPolicy,
    ParsedExpression,
    is_name,
    matched_kinds,
    reads_field,
    selected,
)
from kyvsim.model import ports
from kyvsim.model.diagnostic import Diagnostic, listed

# Constant tests: they have the same result for every object.

_BY_CHANCE = frozenset({"time.now", "random", "random.random"})
_CONDITIONS = frozenset({"matchConditions", "conditions"})


def constant_tests(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV240: a validation that is always true, or a condition that is always or never true."""
    for one in policy.expressions:
        if one.path[-1] != "expression":
            continue
        value = constant_value(one, policy)
        if one.list_name == "validations" and value is True and policy.kind in VALIDATING:
            text = f"`{one.text}` is always true: the validation checks nothing"
            yield policy.warn("KV240", text, one.path)
        elif one.list_name in _CONDITIONS and value is not None:
            effect = "it excludes nothing" if value else "the policy does nothing"
            holds = "is always true" if value else "is never true"
            text = f"the condition `{one.text}` {holds}: {effect}"
            yield policy.warn("KV240", text, one.path)


def constant_value(expression: ParsedExpression, policy: CelPolicy) -> bool | None:
    """Return the value of a constant boolean expression, None for any other."""
    if any(_by_chance(node) for node in expression.nodes()):
        return None
    try:
        program = compile_expression(expression.text, policy.env)
        if program.reads:
            return None
        found = program.evaluate([None] * len(policy.env.variables))
    except (CompileError, CelError, CelBudgetError, ports.BudgetError):
        return None
    return found if found.__class__ is bool else None


def _by_chance(node: object) -> bool:
    if not isinstance(node, Call):
        return False
    name = node.function
    return name in _BY_CHANCE or (node.target is not None and name in {"now", "random"})


# Validations behind one that is never true: the first that fails ends a policy.
#
# Source of the rules: upstream pkg/cel/policies/vpol/compiler/policy.go


def unreached_validations(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV241: validations that are never evaluated."""
    tests = [
        one
        for one in policy.expressions
        if one.list_name == "validations" and one.path[-1] == "expression"
    ]
    for one, following in pairwise(tests):
        if constant_value(one, policy) is False:
            text = (
                f"this validation is never evaluated: the validation `{one.text}` before it "
                "always fails"
            )
            yield policy.warn("KV241", text, following.path)
            return


# Messages that are never shown, because there is a message expression.
#
# Source of the rules: upstream pkg/cel/policies/vpol/compiler/policy.go


def unshown_messages(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV249: a `message` that a `messageExpression` replaces."""
    for one in policy.spec.validations:
        if one.message and one.message_expression.strip():
            text = (
                "this message is never shown: `messageExpression` takes precedence, even if it "
                "cannot be evaluated"
            )
            yield policy.warn("KV249", text, (*one.path, "message"))


# What validations demand of every container of a list.

_OBJECTS = ("object", "request.object")
_SPECS = ("spec", "spec.template.spec", "spec.jobTemplate.spec.template.spec")
_LISTS = frozenset(f"{name}.{spec}.containers" for name in _OBJECTS for spec in _SPECS)
_SHARED = frozenset({"image", "securityContext"})
"""What matters of containers of each sort alike; probes, ports and such do not."""
_SUBRESOURCES = frozenset({"pods/ephemeralcontainers"})
_WORKLOADS = frozenset(
    {
        *("Pod", "Deployment", "DaemonSet", "ReplicaSet", "StatefulSet", "Job", "CronJob"),
        *("ReplicationController", "PodTemplate"),
    }
)


def container_checks(policy: CelPolicy) -> Iterator[tuple[Path, list[str]]]:
    """Yield the validations that demand something of each of `containers`, in policies on Pods.

    With the path of each come the fields of containers that it looks at.
    """
    kinds = {one.kind for one in matched_kinds(policy.spec, _SUBRESOURCES)}
    if policy.kind not in VALIDATING or not kinds or not kinds <= _WORKLOADS:
        return
    names = {(*one.path, "expression"): one.name for one in policy.spec.variables}
    variables = {
        f"variables.{names[one.path]}"
        for one in policy.expressions
        if one.path in names and dotted_name(one.root) in _LISTS
    }
    for one in policy.expressions:
        if one.list_name == "validations" and one.path[-1] == "expression":
            lists = _LISTS | variables
            fields = {field for node in one.nodes() for field in _demanded(node, lists)}
            if fields:
                yield one.path, sorted(fields)


def names_anywhere(value: Json, *words: str) -> bool:
    """Return whether one of some words is in a string of a specification, in any case."""
    if value.__class__ is str:
        return any(word in value.lower() for word in words)
    if value.__class__ is dict:
        return any(names_anywhere(one, *words) for one in value.values())
    return value.__class__ is list and any(names_anywhere(one, *words) for one in value)


def _demanded(node: Node, lists: frozenset[str]) -> Iterator[str]:
    inner, wanted = node, "all"
    if isinstance(node, Call) and node.function == "!_":
        inner, wanted = node.arguments[0], "exists"
    if not isinstance(inner, Loop) or inner.kind != wanted:
        return
    if dotted_name(inner.source) not in lists:
        return
    pending = [one for one in (inner.test, inner.result) if one is not None]
    while pending:
        here = pending.pop()
        pending += children(here)
        is_shared = isinstance(here, Select) and here.field in _SHARED
        if is_shared and isinstance(here, Select) and is_name(here.operand, inner.variables[-1]):
            yield here.field


# Checks of `containers` in policies that never name `initContainers`.

_INIT_CONTAINERS = ("initcontainer", "allcontainer")


def only_containers(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV257: a check of `containers` that skips `initContainers`."""
    if names_anywhere(policy.spec.data, *_INIT_CONTAINERS):
        return
    for path, names in container_checks(policy):
        text = (
            f"only `containers` are checked for {listed(names)}: nothing in the policy "
            "mentions `initContainers`"
        )
        yield policy.warn("KV257", text, path)


# Checks of containers in policies on `pods/ephemeralcontainers` that never look at those.
#
# Requests for that resource change nothing else of a Pod.

_EPHEMERAL = "pods/ephemeralcontainers"


def ephemeral_containers(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV264: a subresource that a policy matches without reading its only field."""
    texts = [one.text for one in policy.expressions]
    if names_anywhere(texts, "ephemeral", "allcontainer", "subresource"):
        return
    if not any(container_checks(policy)):
        return
    for rule in policy.spec.resource_rules:
        if _EPHEMERAL in rule.resources:
            text = (
                "no expression of the policy mentions `ephemeralContainers`: containers that "
                f"are added through `{_EPHEMERAL}` are not checked"
            )
            path = (*rule.path, "resources", rule.resources.index(_EPHEMERAL))
            yield policy.warn("KV264", text, path)


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
    for variable in policy.spec.variables:
        if variable.name not in named:
            text = f"the variable `{variable.name}` is never used"
            yield policy.warn("KV242", text, (*variable.path, "name"))


# Comparisons of objects with null: an object that is not there is an empty map to Kyverno.
#
# Source of the rules: upstream pkg/cel/policies/vpol/engine/engine.go

_OBJECT_NAMES = ("object", "oldObject")


def null_objects(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV247: `object` or `oldObject` compared with null, which neither ever is."""
    if policy.kind != "ValidatingPolicy" or policy.spec.evaluation.mode != "Kubernetes":
        return
    for one in policy.expressions:
        for name in dict.fromkeys(filter(None, map(_compared, one.nodes()))):
            text = (
                f"`{name}` is never null: without such an object it is an empty map (test "
                f"`request.operation` or `has({name}.metadata)`)"
            )
            yield policy.warn("KV247", text, one.path)


def _compared(node: Node) -> str:
    if not isinstance(node, Call) or node.function not in {"_==_", "_!=_"}:
        return ""
    for left, right in permutations(node.arguments):
        if isinstance(right, Literal) and right.value is None:
            return next((name for name in _OBJECT_NAMES if is_name(left, name)), "")
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
    rules = policy.spec.resource_rules
    operations = {name for rule in rules for name in rule.operations or ("*",)}
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
    outside = [one.kind for one in kinds if not is_namespaced_in_cluster(one.group, one.kind)]
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
