"""Whether a failed rule blocks a request in a namespace.

Source of the rules: upstream pkg/policycache/cache.go, where the first override that fits counts,
and one that names no namespace at all fits everywhere.
"""

from kyvsim.kube.labels import SelectorError, compile_selector
from kyvsim.kube.objects import Json, labels, object_key
from kyvsim.kube.wildcard import matches
from kyvsim.model.facts import Override
from kyvsim.model.policy import Policy, Rule


def enforces(policy: Policy, rule: Rule, namespace: Json | None) -> bool:
    """Return whether a rule's failure denies a request.

    `namespace` is the Namespace of the request, None for cluster-scoped objects.
    """
    own, overrides = rule.facts.action
    of_policy = policy.facts.action
    for override in overrides or of_policy.overrides:
        if _fits(override, namespace):
            return _is_enforce(override.action)
    return _is_enforce(own or of_policy.own)


def _is_enforce(action: str) -> bool:
    return action.lower() == "enforce"


def _fits(override: Override, namespace: Json | None) -> bool:
    names, selector = override.namespaces, override.selector
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
