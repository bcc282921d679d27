"""Policies that the API server evaluates for Kyverno, and native ones that Kyverno reports on."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from kyvsim.kubernetes.discovery import preferred_version
from kyvsim.kubernetes.objects import Json, KubernetesObject, ObjectKey, labels, object_key
from kyvsim.languages.cel.compile import wants_native_policy, why_no_native_policy
from kyvsim.languages.classic import native_twin as classic
from kyvsim.model.policy import Policy
from kyvsim.model.release import Release
from kyvsim.policy.tree import ResourceFilter
from kyvsim.simulator.api_server import ObjectStore
from kyvsim.simulator.api_server.authorizer import may
from kyvsim.simulator.api_server.store import find_resources
from kyvsim.simulator.configuration import ADMISSION
from kyvsim.simulator.context import SimulationContext

# Convert match and exclude blocks to the constraints of a Kubernetes admission policy.
#
# Filters of the same API group and version become one rule, with the names and operations of
# the first; of several filters the last one's selectors count. Source of the rules: upstream
# pkg/admissionpolicy/builder.go.


class UnclearKindError(Exception):
    """A kind that selects no resource, or more than one."""


def match_resources(
    match: Iterable[ResourceFilter], exclude: Iterable[ResourceFilter], store: ObjectStore
) -> Json:
    """Return the equivalent constraints; raises UnclearKindError."""
    matched, selectors = tuple(match), {}
    for one in matched:
        selector, names = one.namespace_selector, one.namespaces
        if names:
            label = "kubernetes.io/metadata.name"
            in_namespaces = {"key": label, "operator": "In", "values": list(names)}
            selector = {"matchExpressions": [in_namespaces]}
        selectors = {"namespaceSelector": selector, "objectSelector": one.selector}
    written = {
        **selectors,
        "resourceRules": _rules(matched, store, excludes=False),
        "excludeResourceRules": _rules(exclude, store, excludes=True),
    }
    return {name: value for name, value in written.items() if value}


def _rules(filters: Iterable[ResourceFilter], store: ObjectStore, *, excludes: bool) -> list[Json]:
    rules: list[Json] = []
    for one in filters:
        for kind in one.kinds:
            if kind == "*":
                rules.append(_rule(one, "*", "*", ("*",)))
                continue
            served = list(find_resources(kind, store))
            if len(served) != 1:
                raise UnclearKindError(f"no unique match for kind {kind}")
            group, version, resource, part, _ = served[0]
            resources = ["/".join(filter(None, (resource, part)))]
            if resources == ["pods"]:
                resources += ["pods/ephemeralcontainers"]
            of_group = (rule for rule in rules if group in rule["apiGroups"])
            known = next((rule for rule in of_group if version in rule["apiVersions"]), None)
            if known is None:
                rules.append(_rule(one, group, version, resources))
            else:
                known["resources"] = sorted((*known["resources"], *resources))
        if excludes and one.namespaces and not one.kinds:
            names = {"resourceNames": [*one.namespaces]}
            rules.append({**_rule(one, "", "v1", ("namespaces",)), **names})
    return rules


def _rule(
    one: ResourceFilter, group: str, version: str, resources: Iterable[str]
) -> dict[str, Json]:
    named = {"resourceNames": list(one.all_names)} if one.all_names else {}
    every = ["CREATE", "UPDATE", "CONNECT", "DELETE"]
    return {
        **named,
        "apiGroups": [group],
        "apiVersions": [version],
        "operations": [name for name in one.operations if name in every] or every,
        "resources": sorted(resources),
    }


# Whether the API server evaluates a policy for Kyverno, with a generated admission policy.
#
# While its status reports one, Kyverno does not evaluate the policy itself.
# Source of the rules: upstream pkg/controllers/admissionpolicygenerator (controller.go,
# generate-vap.go, generate-map.go).

_NATIVE = "admissionregistration.k8s.io"
_VALIDATING, _MUTATING = "ValidatingAdmissionPolicy", "MutatingAdmissionPolicy"
_CLASSIC = "validatingadmissionpolicy"
"""The field in the status of a ClusterPolicy."""
_SOURCES = frozenset({"ClusterPolicy", "MutatingPolicy", "ValidatingPolicy"})


class NativePolicyPlan(NamedTuple):
    """The admission policy to generate for a policy, or why there is none."""

    kind: str
    name: str
    why_not: str = ""
    """The message in the status of the policy; "" if one is generated."""
    of_rules: tuple[classic.NativeTwin, Json] | None = None
    """The parts of a ClusterPolicy for it, and its constraints."""

    @property
    def keys(self) -> tuple[ObjectKey, ObjectKey]:
        """The keys of the admission policy and its binding."""
        api_version = f"{_NATIVE}/{preferred_version(_NATIVE, self.kind)}"
        return (
            ObjectKey(api_version, self.kind, "", self.name),
            ObjectKey(api_version, f"{self.kind}Binding", "", f"{self.name}-binding"),
        )


def plan_of(policy: Policy, sim: SimulationContext) -> NativePolicyPlan | None:
    """Return the plan for a policy, None if an existing admission policy stays unchanged."""
    plan = _plan(policy, sim)
    if plan is None:
        return None
    # Check for missing permissions, which the status reports.
    verbs = ("create", "update", "list", "delete")
    for key in plan.keys:
        if not all(may(ADMISSION, verb, key._replace(name=""), sim.store) for verb in verbs):
            named = f"{key.kind[:-1]}ies" if key.kind.endswith("y") else f"{key.kind}s"
            return plan._replace(why_not=f"insufficient permissions to generate {named}")
    return plan


def _plan(policy: Policy, sim: SimulationContext) -> NativePolicyPlan | None:
    if policy.kind not in _SOURCES:
        return None
    release = sim.settings.release
    validates, mutates = (
        sim.settings.installation.value("features", f"generate{kind}", "enabled")
        for kind in (_VALIDATING, _MUTATING)
    )
    if policy.kind == "MutatingPolicy":
        plan = NativePolicyPlan(_MUTATING, f"mpol-{policy.name}")
        if mutates is not True and not wants_native_policy(policy, plan.kind):
            return None
        return plan._replace(why_not=why_no_native_policy(policy, plan.kind, release))
    if validates is False:
        return None
    if policy.kind == "ClusterPolicy":
        return _plan_of_rules(policy, sim)
    plan = NativePolicyPlan(_VALIDATING, f"vpol-{policy.name}")
    return plan._replace(why_not=why_no_native_policy(policy, plan.kind, release))


def _plan_of_rules(policy: Policy, sim: SimulationContext) -> NativePolicyPlan | None:
    """Return the plan for a ClusterPolicy; exceptions count even if rules ignore them."""
    stored = sim.store.list("kyverno.io/v2", "PolicyException", "")
    read = (sim.readers.exception(obj)[0] for obj in stored)
    exceptions = classic.counted_exceptions(policy, [one for one in read if one is not None])
    why_not = classic.why_no_native_twin(policy, exceptions)
    if why_not is None:
        return None
    plan = NativePolicyPlan(_VALIDATING, f"cpol-{policy.name}", why_not)
    if why_not:
        return plan
    twin = classic.native_twin(policy, exceptions)
    try:
        constraints = match_resources(twin.match, twin.exclude, sim.store)
    except UnclearKindError:
        return None
    return plan._replace(of_rules=(twin, constraints))


def with_plan(status: Json, plan: NativePolicyPlan) -> Json:
    """Return the status of a policy with its admission policy, or why there is none."""
    if "conditionStatus" not in status:
        return {**status, _CLASSIC: {"generated": not plan.why_not, "message": plan.why_not}}
    conditions = {**status["conditionStatus"], "message": plan.why_not}
    return {**status, "conditionStatus": conditions, "generated": not plan.why_not}


def with_twin_of(status: Json, before: Json) -> Json:
    """Return the status of a CEL policy with the admission policy of its former status."""
    if "generated" not in status or not before:
        return status
    message = (before.get("conditionStatus") or {}).get("message") or ""
    conditions = {**status["conditionStatus"], "message": message}
    return {**status, "conditionStatus": conditions, "generated": before.get("generated") is True}


def may_be_left(policy: Policy, release: Release) -> bool:
    """Return whether the API server may evaluate a policy instead of Kyverno."""
    if policy.kind == "ClusterPolicy":
        return classic.why_no_native_twin(policy, ()) == ""
    if policy.kind in _SOURCES:
        kind = policy.kind.replace("Policy", "AdmissionPolicy")
        return not why_no_native_policy(policy, kind, release)
    return False


def is_left_to_the_server(obj: KubernetesObject | None) -> bool:
    """Return whether the API server evaluates a stored policy instead of Kyverno."""
    if obj is None or obj["kind"] not in _SOURCES:
        return False
    status = obj.get("status") or {}
    return (status.get(_CLASSIC) or status).get("generated") is True


# The Kubernetes admission policies that Kyverno reports on: a label enables it.
#
# By default, its chart enables scans with ValidatingAdmissionPolicies only.
# Source of the rules: upstream pkg/controllers/report/utils/utils.go, charts/kyverno/values.yaml.

API_VERSION = "admissionregistration.k8s.io/v1"
_REPORT_SWITCHES: Mapping[str, tuple[str, bool]] = {
    _VALIDATING: ("validatingAdmissionPolicyReports", True),
    _MUTATING: ("mutatingAdmissionPolicyReports", False),
}
"""The chart's feature that enables scans with each kind, and its default."""
NATIVE_KINDS = frozenset(f"{kind}{part}" for kind in _REPORT_SWITCHES for part in ("", "Binding"))
"""The kinds whose objects affect scans."""


def reported_policies(sim: SimulationContext) -> Iterator[KubernetesObject]:
    """Yield the admission policies that scans evaluate, by kind and name."""
    for kind, (feature, usual) in _REPORT_SWITCHES.items():
        enabled = sim.settings.installation.value("features", feature, "enabled")
        if usual if enabled is None else enabled:
            for policy in sim.store.list(API_VERSION, kind, ""):
                if labels(policy).get("reports.kyverno.io/enabled") == "true":
                    yield policy


def bindings_of(policy: KubernetesObject, sim: SimulationContext) -> Iterator[KubernetesObject]:
    """Yield the bindings of a policy that scans evaluate, by name."""
    key = object_key(policy)
    for one in sim.store.list(API_VERSION, f"{key.kind}Binding", ""):
        left_out = key.kind == _VALIDATING and "reports.kyverno.io/disabled" in labels(one)
        if one["spec"].get("policyName") == key.name and not left_out:
            yield one
