"""The Kubernetes admission policies that Kyverno generates from its own policies."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType

from kyvsim.kubernetes.objects import (
    Json,
    KubernetesObject,
    ObjectKey,
    labels,
    metadata,
    object_key,
    text_field,
)
from kyvsim.model.policy import CelException, Policy
from kyvsim.simulator.api_server import StoreChange
from kyvsim.simulator.api_server.metadata import reference_to
from kyvsim.simulator.configuration import ADMISSION, MANAGED
from kyvsim.simulator.context import NOTICE
from kyvsim.simulator.events import left_to_the_server
from kyvsim.simulator.kyverno import Kyverno
from kyvsim.simulator.native_policies import NativePolicyPlan, plan_of, with_plan

# Convert a policy to the equivalent Kubernetes admission policy and its binding.
# Source of the rules: upstream pkg/admissionpolicy/builder.go. As in upstream, the failurePolicy of
# validating policies and the selectors and exclusions of MutatingPolicies are not copied.

_EXCLUDED = "reports.kyverno.io/disabled"
_LISTS = ("allowedImages", "allowedValues")
"""The variables with the values that exceptions allow: images, then other values."""
_RULE = ("apiGroups", "apiVersions", "operations", "resourceNames", "resources", "scope")


def built(
    plan: NativePolicyPlan, policy: KubernetesObject, exceptions: Sequence[CelException]
) -> tuple[KubernetesObject, KubernetesObject]:
    """Return the admission policy for a stored policy, and its binding."""
    spec = policy["spec"]
    if plan.of_rules is not None:
        twin, constraints = plan.of_rules
        bound = _without_empty(paramRef=twin.parameters, validationActions=list(twin.actions))
        made = _without_empty(matchConstraints=constraints, **twin.body)
    elif plan.kind.startswith("Mutating"):
        made, bound = _mutating(spec, exceptions), {}
    else:
        made = _validating(spec, exceptions)
        bound = {"validationActions": list(spec.get("validationActions") or ["Deny"])}
    excluded = {_EXCLUDED: "true"} if _EXCLUDED in labels(policy) else {}
    whole, binding = plan.keys
    return (
        _object(whole, policy, made, excluded),
        _object(binding, policy, {"policyName": plan.name, **bound}, {}),
    )


def _object(
    key: ObjectKey, policy: KubernetesObject, spec: Json, more: Mapping[str, str]
) -> KubernetesObject:
    owner = reference_to(policy)
    if policy["kind"] != "ClusterPolicy":
        owner["apiVersion"] = f"{_GROUP}/v1beta1"
    meta = {"name": key.name, "labels": {**MANAGED, **more}, "ownerReferences": [owner]}
    return {"apiVersion": key.api_version, "kind": key.kind, "metadata": meta, "spec": spec}


def _validating(spec: Json, exceptions: Sequence[CelException]) -> Json:
    variables = list(spec.get("variables") or ())
    for exception in exceptions:
        for values, name in zip((exception.images, exception.values), _LISTS, strict=True):
            if values:
                texts = ", ".join(f"'{one}'" for one in values)
                variables.append({"name": name, "expression": f"[{texts}]"})
    validations = []
    for one in spec.get("validations") or ():
        text = one["expression"]
        for name in _LISTS:
            text = text.replace(f"exceptions.{name}", f"variables.{name}")
        validations.append({**one, "expression": text})
    return _without_empty(
        matchConstraints=spec["matchConstraints"],
        matchConditions=[*(spec.get("matchConditions") or ()), *_negated(exceptions)],
        variables=variables,
        validations=validations,
        auditAnnotations=list(spec.get("auditAnnotations") or ()),
    )


def _mutating(spec: Json, exceptions: Sequence[CelException]) -> Json:
    rules = [
        {name: rule[name] for name in _RULE if name in rule}
        for rule in spec["matchConstraints"].get("resourceRules") or ()
    ]
    return _without_empty(
        matchConstraints={"resourceRules": rules},
        matchConditions=[*_negated(exceptions), *(spec.get("matchConditions") or ())],
        variables=list(spec.get("variables") or ()),
        mutations=list(spec.get("mutations") or ()),
        failurePolicy=spec.get("failurePolicy"),
        reinvocationPolicy=spec.get("reinvocationPolicy") or "Never",
    )


def _without_empty(**fields: Json) -> Json:
    return {name: value for name, value in fields.items() if value}


def _negated(exceptions: Iterable[CelException]) -> Iterator[Json]:
    for exception in exceptions:
        for one in exception.conditions:
            yield {"name": one.name, "expression": f"!({one.expression})"}


# Generates and updates admission policies.
#
# They are updated when the policy, an exception for it, or they themselves change; owner
# references delete them with the policy.
# Source of the rules: upstream pkg/controllers/admissionpolicygenerator.

_GROUP = "policies.kyverno.io"
_SOURCES = MappingProxyType(
    {"ClusterPolicy": "kyverno.io/v1"}
    | dict.fromkeys(("MutatingPolicy", "ValidatingPolicy"), f"{_GROUP}/v1")
)
"""The kinds for which admission policies are generated."""


class AdmissionPolicyGenerator:
    """Generates the admission policies of active policies, and keeps them up to date."""

    def __init__(self, kyverno: Kyverno) -> None:
        self._kyverno = kyverno
        self._sim = kyverno.sim
        self._client = kyverno.sim.client(ADMISSION)
        kyverno.policies.changed.append(self._reconcile)
        kyverno.sim.store.watch(self._observe)

    def _observe(self, change: StoreChange) -> None:
        """Reconcile the policies that a change affects."""
        old, new = change.old, change.new
        if old is not None and new is not None and old.get("spec") == new.get("spec"):
            return

        def renew(kind: str, name: str) -> None:
            obj = self._sim.store.get(_SOURCES[kind], kind, "", name)
            policy = self._sim.readers.policy(obj)[0] if obj is not None else None
            if policy is not None:
                self._reconcile(policy)

        for kind, name in _concerned(change.subject):
            actor = "admission-policy-generator"
            self._sim.scheduler.after(NOTICE, actor, partial(renew, kind, name))

    def _reconcile(self, policy: Policy) -> None:
        """Write or delete the admission policy for a policy, and update the policy's status."""
        plan = plan_of(policy, self._sim)
        stored = self._sim.store.get(policy.facts.api_version, policy.kind, "", policy.name)
        if plan is None or stored is None:
            return
        if plan.why_not:
            for key in plan.keys:
                if self._client.get(*key) is not None:
                    self._client.delete(key)
        elif not all(map(self._write, built(plan, stored, self._exceptions(policy.name)))):
            # The API server rejected one of them: the status of the policy stays unchanged.
            return
        else:
            self._kyverno.events.record(*left_to_the_server(self._sim, policy, plan.keys))
        status = stored.get("status")
        if status and with_plan(status, plan) != status:
            self._client.update({**stored, "status": with_plan(status, plan)}, "status")

    def _exceptions(self, name: str) -> list[CelException]:
        """Return the exceptions that name a CEL policy, whatever the kind in their reference."""
        stored = self._sim.store.list(f"{_GROUP}/v1", "PolicyException", "")
        read = (self._sim.readers.cel_exception(one)[0] for one in stored)
        now = self._sim.clock.now()
        return [
            one
            for one in read
            if one is not None
            and (one.expires is None or now < one.expires)
            and any(ref.name == name for ref in one.policies)
        ]

    def _write(self, made: KubernetesObject) -> bool:
        """Store an admission policy or a binding; return whether the API server accepted it."""
        before = self._client.get(*object_key(made))
        if before is None:
            return self._client.create(made).ok
        kept = {**labels(before), **labels(made)}
        meta = {**metadata(before), **metadata(made), "labels": kept}
        return self._client.update({**before, "metadata": meta, "spec": made["spec"]}).ok


def _concerned(subject: KubernetesObject) -> Iterator[tuple[str, str]]:
    """Yield kind and name of the policies that an object belongs to."""
    key = object_key(subject)
    if (key.group, key.kind) == (_GROUP, "PolicyException"):
        for one in subject["spec"].get("policyRefs") or ():
            if one.get("kind") in _SOURCES:
                yield one["kind"], one["name"]
    elif (key.group, key.kind) == ("kyverno.io", "PolicyException"):
        for one in subject["spec"].get("exceptions") or ():
            # A change of an exception for several rules is only noticed with another change.
            if "/" not in one["policyName"] and not (one.get("ruleNames") or ())[1:]:
                yield "ClusterPolicy", one["policyName"]
    elif key.group == "admissionregistration.k8s.io" and "AdmissionPolicy" in key.kind:
        for one in metadata(subject).get("ownerReferences") or ():
            if text_field(one, "kind") in _SOURCES:
                yield one["kind"], text_field(one, "name")
