"""A policy in CEL → the admission policy of Kubernetes that does the same, and its binding.

Source of the rules: upstream pkg/admissionpolicy/builder.go. Of a ValidatingPolicy the failure
policy is not copied, of a MutatingPolicy no selector and no exclusion, as there.
"""

from collections.abc import Iterable, Iterator, Sequence

from kyvsim.kube.discovery import preferred_version
from kyvsim.kube.objects import Json, labels, metadata, text_field
from kyvsim.sim.kyverno.generated import Plan

_GROUP = "admissionregistration.k8s.io"
_OWNER = "policies.kyverno.io/v1beta1"
_EXCLUDED = "reports.kyverno.io/disabled"
_LISTS = ("images", "allowedImages"), ("allowedValues", "allowedValues")
"""Fields of exceptions, and the variables that they become."""
_RULE = ("apiGroups", "apiVersions", "operations", "resourceNames", "resources", "scope")


def built(plan: Plan, policy: Json, exceptions: Sequence[Json]) -> tuple[Json, Json]:
    """Return the admission policy for a stored policy, and its binding."""
    spec = policy["spec"]
    validates = plan.kind.startswith("Validating")
    made = _validating(spec, exceptions) if validates else _mutating(spec, exceptions)
    bound: dict[str, Json] = {"policyName": plan.name}
    if validates:
        bound["validationActions"] = list(spec.get("validationActions") or ["Deny"])
    excluded = {_EXCLUDED: "true"} if _EXCLUDED in labels(policy) else {}
    return (
        _object((plan.kind, plan.name), policy, made, excluded),
        _object(plan.binding, policy, bound, {}),
    )


def _object(what: tuple[str, str], policy: Json, spec: Json, more: dict[str, str]) -> Json:
    kind, name = what
    owner = {
        "apiVersion": _OWNER,
        "kind": policy["kind"],
        "name": metadata(policy)["name"],
        "uid": text_field(metadata(policy), "uid"),
    }
    meta = {
        "name": name,
        "labels": {"app.kubernetes.io/managed-by": "kyverno", **more},
        "ownerReferences": [owner],
    }
    version = preferred_version(_GROUP, kind)
    return {"apiVersion": f"{_GROUP}/{version}", "kind": kind, "metadata": meta, "spec": spec}


def _validating(spec: Json, exceptions: Sequence[Json]) -> Json:
    return _said(
        matchConstraints=spec["matchConstraints"],
        matchConditions=[*(spec.get("matchConditions") or ()), *_negated(exceptions)],
        variables=[*(spec.get("variables") or ()), *_given(exceptions)],
        validations=[_without_exceptions(one) for one in spec.get("validations") or ()],
        auditAnnotations=list(spec.get("auditAnnotations") or ()),
    )


def _mutating(spec: Json, exceptions: Sequence[Json]) -> Json:
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


def _negated(exceptions: Iterable[Json]) -> Iterator[Json]:
    for exception in exceptions:
        for one in exception["spec"].get("matchConditions") or ():
            yield {"name": one["name"], "expression": f"!({one['expression']})"}


def _given(exceptions: Iterable[Json]) -> Iterator[Json]:
    for exception in exceptions:
        for field, name in _LISTS:
            values = exception["spec"].get(field)
            if values:
                texts = ", ".join(f"'{one}'" for one in values)
                yield {"name": name, "expression": f"[{texts}]"}


def _without_exceptions(validation: Json) -> Json:
    text = validation["expression"]
    for _, name in _LISTS:
        text = text.replace(f"exceptions.{name}", f"variables.{name}")
    return {**validation, "expression": text}
