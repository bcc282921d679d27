"""Checks of CEL validations: constant ones, unreachable ones, containers that are not checked."""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from kyvsim.cel import CelBudgetError, CelError, CompileError, compile_expression
from kyvsim.cel.nodes import Call, Loop, Node, Select, children, dotted_name
from kyvsim.kubernetes.objects import Json
from kyvsim.lint.cel_policy import VALIDATING, CelPolicy, ParsedExpression, is_name, matched_kinds
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
    for index, one in enumerate(policy.spec.get("validations") or ()):
        if one.get("message") and (one.get("messageExpression") or "").strip():
            text = (
                "this message is never shown: `messageExpression` takes precedence, even if it "
                "cannot be evaluated"
            )
            path = ("spec", "validations", index, "message")
            yield policy.warn("KV249", text, path)


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


class ContainerCheck(NamedTuple):
    """A validation that looks at `containers`."""

    expression: ParsedExpression
    fields: tuple[str, ...]
    """What it looks at of each of them."""


def container_checks(policy: CelPolicy) -> Iterator[ContainerCheck]:
    """Yield the validations that demand something of each of `containers`, in policies on Pods."""
    kinds = {one.kind for one in matched_kinds(policy.spec, _SUBRESOURCES)}
    if policy.kind not in VALIDATING or not kinds or not kinds <= _WORKLOADS:
        return
    variables = {
        f"variables.{policy.spec['variables'][one.path[2]]['name']}"
        for one in policy.expressions
        if one.list_name == "variables" and dotted_name(one.root) in _LISTS
    }
    for one in policy.expressions:
        if one.list_name == "validations" and one.path[-1] == "expression":
            lists = _LISTS | variables
            fields = {field for node in one.nodes() for field in _demanded(node, lists)}
            if fields:
                yield ContainerCheck(one, tuple(sorted(fields)))


def names_anywhere(value: Json, *words: str) -> bool:
    """Return whether one of some words is in a string of a specification, in any case."""
    if value.__class__ is str:
        return any(word in value.lower() for word in words)
    if value.__class__ is dict:
        return any(names_anywhere(one, *words) for one in value.values())
    return value.__class__ is list and any(names_anywhere(one, *words) for one in value)


def _demanded(node: Node, lists: frozenset[str]) -> Iterator[str]:
    """Yield the fields that a node looks at of every element of one of some lists."""
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
    if names_anywhere(policy.spec, *_INIT_CONTAINERS):
        return
    for one in container_checks(policy):
        text = (
            f"only `containers` are checked for {listed(one.fields)}: nothing in the policy "
            "mentions `initContainers`"
        )
        yield policy.warn("KV257", text, one.expression.path)


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
    rules = policy.spec["matchConstraints"]["resourceRules"]
    for number, rule in enumerate(rules):
        names = rule.get("resources") or ()
        if _EPHEMERAL in names:
            text = (
                "no expression of the policy mentions `ephemeralContainers`: containers that "
                f"are added through `{_EPHEMERAL}` are not checked"
            )
            path = ("spec", "matchConstraints", "resourceRules", number, "resources")
            yield policy.warn("KV264", text, (*path, names.index(_EPHEMERAL)))
