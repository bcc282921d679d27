"""Checks of what CEL policies match: `matchConstraints` and conditions."""

from collections.abc import Iterator

from kyvsim.cel.nodes import Select
from kyvsim.kubernetes.objects import Json
from kyvsim.lint.cel_policy import VALIDATING, CelPolicy, selected
from kyvsim.model.diagnostic import Diagnostic

# Policies without constraints: they match nothing here, or everything.
#
# Source of the rules: upstream pkg/cel/matching; admission refuses them

_KINDS = frozenset({"ValidatingPolicy", "GeneratingPolicy"})


def no_constraints(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV250: a policy without `matchConstraints`; KV255: one whose constraints have no rule."""
    mode = (policy.spec.get("evaluation") or {}).get("mode") or "Kubernetes"
    if mode != "Kubernetes":
        return
    constraints = policy.spec.get("matchConstraints")
    if constraints is not None and not constraints.get("resourceRules"):
        text = (
            "the policy evaluates objects of every kind: `matchConstraints` has no "
            "`resourceRules` (a cluster refuses the policy)"
        )
        place = ("spec", "matchConstraints")
        yield policy.warn("KV255", text, place)
    if constraints is None and policy.kind in _KINDS:
        text = (
            "the policy matches nothing: it has no `matchConstraints` (a cluster refuses the "
            "policy)"
        )
        yield policy.warn("KV250", text, ("spec",))


# DeletingPolicies that delete whatever they match.
#
# Source of the rules: upstream pkg/cel/policies/dpol/compiler/policy.go

_SELECTORS = ("objectSelector", "namespaceSelector")


def no_conditions(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV256: a DeletingPolicy without `conditions`, selectors and names."""
    if policy.kind != "DeletingPolicy" or policy.spec.get("conditions"):
        return
    constraints = policy.spec.get("matchConstraints") or {}
    rules = constraints.get("resourceRules") or ()
    narrowed = any(any((constraints.get(name) or {}).values()) for name in _SELECTORS)
    if rules and not narrowed and not any(rule.get("resourceNames") for rule in rules):
        text = "the policy deletes every object of the kinds it names: it has no `conditions`"
        yield policy.warn("KV256", text, ("spec",))


# Policies whose excluded resources are all that they match.

_LISTS = ("apiGroups", "apiVersions", "resources", "operations")


def excluded_resources(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV270: excluded resources that cover everything the policy matches."""
    constraints = policy.spec.get("matchConstraints") or {}
    rules = constraints.get("resourceRules") or ()
    excluded = constraints.get("excludeResourceRules") or ()
    if rules and all(any(_covers(out, one) for out in excluded) for one in rules):
        text = (
            "the policy never matches: `excludeResourceRules` excludes everything that it matches"
        )
        path = ("spec", "matchConstraints", "excludeResourceRules")
        yield policy.warn("KV270", text, path)


def _covers(out: Json, one: Json) -> bool:
    """Return whether what one rule matches another matches, as far as that is certain."""
    names = out.get("resourceNames")
    if names and not set(one.get("resourceNames") or ("",)) <= set(names):
        return False
    if out.get("scope", "*") not in {"*", one.get("scope", "*")}:
        return False
    return all(_is_wider(out.get(name) or (), one.get(name) or ()) for name in _LISTS)


def _is_wider(out: Json, one: Json) -> bool:
    return bool(one) and ("*" in out or set(one) <= set(out))


# Policies on the controllers of Pods by name that leave one of them out.
#
# The Pods themselves are not named either, so what such a controller makes is never looked at.

_OTHERS = frozenset({"deployments", "daemonsets", "statefulsets", "replicasets", "jobs"})
_LEFT_OUT = "replicationcontrollers"


def unseen_controllers(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV268: a policy on all Pod controllers except ReplicationControllers."""
    if policy.kind not in VALIDATING:
        return
    rules = (policy.spec.get("matchConstraints") or {}).get("resourceRules") or ()
    names = {name for rule in rules for name in rule.get("resources") or ("*",)}
    named = names >= _OTHERS and names.isdisjoint({"pods", _LEFT_OUT})
    if not named or any("*" in name for name in names):
        return
    fields = {
        node.field for one in policy.expressions for node in one.nodes() if isinstance(node, Select)
    }
    if "template" in fields:
        text = (
            f"neither `{_LEFT_OUT}` nor `pods` is matched along with the other Pod controllers: "
            "Pods of a ReplicationController are not checked"
        )
        path = ("spec", "matchConstraints", "resourceRules")
        yield policy.warn("KV268", text, path)


# Users in policies that background scans evaluate: scans have no request.
#
# Source of the rules: upstream pkg/controllers/report/utils/scanner.go

_USER = "request.userInfo."


def scanned_users(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV251: a field of the user in a policy that background scans evaluate."""
    background = (policy.spec.get("evaluation") or {}).get("background") or {}
    if policy.kind != "ValidatingPolicy" or background.get("enabled") is False:
        return
    for one in policy.expressions:
        names = (selected(node) for node in one.nodes())
        for name in dict.fromkeys(name for name in names if name.startswith(_USER)):
            if name.count(".") == 2 and not policy.tests_presence(name):
                text = (
                    f"`{name}` has no value in background scans or when no user is given: set "
                    "`spec.evaluation.background.enabled: false`, or test it with `has`"
                )
                yield policy.warn("KV251", text, one.path)
