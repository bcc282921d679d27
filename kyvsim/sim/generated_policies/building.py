"""A policy → the admission policy of Kubernetes that does the same, and its binding.

Source of the rules: upstream pkg/admissionpolicy/builder.go. Of what validates the failure policy
is not copied, of a MutatingPolicy no selector and no exclusion, as there.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from kyvsim.kube.objects import Json, ObjectKey, labels, metadata, text_field
from kyvsim.languages.classic.native_twin import NativeTwin
from kyvsim.model.exception import CelException
from kyvsim.sim.kyverno.generated import Plan

_OWNER = "policies.kyverno.io/v1beta1"
_EXCLUDED = "reports.kyverno.io/disabled"
_LISTS = ("allowedImages", "allowedValues")
"""The variables that hold what exceptions let pass: images, then other values."""
_RULE = ("apiGroups", "apiVersions", "operations", "resourceNames", "resources", "scope")


def built(plan: Plan, policy: Json, exceptions: Sequence[CelException]) -> tuple[Json, Json]:
    """Return the admission policy for a stored policy, and its binding."""
    spec, bound = _specs(plan, policy["spec"], exceptions)
    excluded = {_EXCLUDED: "true"} if _EXCLUDED in labels(policy) else {}
    whole, binding = plan.keys
    return (
        _object(whole, policy, spec, excluded),
        _object(binding, policy, {"policyName": plan.name, **bound}, {}),
    )


def _specs(plan: Plan, spec: Json, exceptions: Sequence[CelException]) -> tuple[Json, Json]:
    if plan.of_rules is not None:
        return _of_rules(*plan.of_rules)
    if plan.kind.startswith("Mutating"):
        return _mutating(spec, exceptions), {}
    actions = list(spec.get("validationActions") or ["Deny"])
    return _validating(spec, exceptions), {"validationActions": actions}


def _of_rules(twin: NativeTwin, constraints: Json) -> tuple[Json, Json]:
    bound = _said(paramRef=twin.parameters, validationActions=list(twin.actions))
    return _said(matchConstraints=constraints, **twin.body), bound


def _object(key: ObjectKey, policy: Json, spec: Json, more: Mapping[str, str]) -> Json:
    owner = {
        "apiVersion": policy["apiVersion"] if policy["kind"] == "ClusterPolicy" else _OWNER,
        "kind": policy["kind"],
        "name": metadata(policy)["name"],
        "uid": text_field(metadata(policy), "uid"),
    }
    meta = {
        "name": key.name,
        "labels": {"app.kubernetes.io/managed-by": "kyverno", **more},
        "ownerReferences": [owner],
    }
    return {"apiVersion": key.api_version, "kind": key.kind, "metadata": meta, "spec": spec}


def _validating(spec: Json, exceptions: Sequence[CelException]) -> Json:
    return _said(
        matchConstraints=spec["matchConstraints"],
        matchConditions=[*(spec.get("matchConditions") or ()), *_negated(exceptions)],
        variables=[*(spec.get("variables") or ()), *_given(exceptions)],
        validations=[_without_exceptions(one) for one in spec.get("validations") or ()],
        auditAnnotations=list(spec.get("auditAnnotations") or ()),
    )


def _mutating(spec: Json, exceptions: Sequence[CelException]) -> Json:
    rules = [
        {name: rule[name] for name in _RULE if name in rule}
        for rule in spec["matchConstraints"].get("resourceRules") or ()
    ]
    return _said(
        matchConstraints={"resourceRules": rules},
        matchConditions=[*_negated(exceptions), *(spec.get("matchConditions") or ())],
        variables=list(spec.get("variables") or ()),
        mutations=list(spec.get("mutations") or ()),
        failurePolicy=spec.get("failurePolicy"),
        reinvocationPolicy=spec.get("reinvocationPolicy") or "Never",
    )


def _said(**fields: Json) -> Json:
    return {name: value for name, value in fields.items() if value}


def _negated(exceptions: Iterable[CelException]) -> Iterator[Json]:
    for exception in exceptions:
        for one in exception.conditions:
            yield {"name": one["name"], "expression": f"!({one['expression']})"}


def _given(exceptions: Iterable[CelException]) -> Iterator[Json]:
    for exception in exceptions:
        for values, name in zip((exception.images, exception.values), _LISTS, strict=True):
            if values:
                texts = ", ".join(f"'{one}'" for one in values)
                yield {"name": name, "expression": f"[{texts}]"}


def _without_exceptions(validation: Json) -> Json:
    text = validation["expression"]
    for name in _LISTS:
        text = text.replace(f"exceptions.{name}", f"variables.{name}")
    return {**validation, "expression": text}
