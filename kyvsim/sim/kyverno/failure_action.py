"""Whether a failed rule blocks a request in a namespace.

Source of the rules: upstream pkg/policycache/cache.go, where the first override that fits counts,
and one that names no namespace at all fits everywhere.
"""

from kyvsim.kube.labels import SelectorError, compile_selector
from kyvsim.kube.objects import Json, labels, object_key
from kyvsim.kube.wildcard import matches
from kyvsim.model.policy import Policy, Rule


def enforces(policy: Policy, rule: Rule, namespace: Json | None) -> bool:
    """Return whether a rule's failure denies a request.

    `namespace` is the Namespace of the request, None for cluster-scoped objects.
    """
    validate = rule.data.get("validate") or {}
    overrides = validate.get("failureActionOverrides") or policy.spec.get(
        "validationFailureActionOverrides"
    )
    for override in overrides or ():
        if _fits(override, namespace):
            return _is_enforce(override.get("action"))
    own = validate.get("failureAction")
    return _is_enforce(own if own is not None else policy.spec.get("validationFailureAction"))


def _is_enforce(action: Json) -> bool:
    return str(action or "Audit").lower() == "enforce"


def _fits(override: Json, namespace: Json | None) -> bool:
    names, selector = override.get("namespaces"), override.get("namespaceSelector")
    if not names and selector is None:
        return True
    if namespace is None:
        return False
    name = object_key(namespace).name
    if any(matches(pattern, name) for pattern in names or ()):
        return True
    if selector is None:
        return False
    try:
        return compile_selector(selector)(labels(namespace))
    except SelectorError:
        return False
