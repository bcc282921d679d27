"""Which failures block a request, and the words of denials and warnings."""

from collections.abc import Iterable

from kyvsim.kubernetes.labels import SelectorError, compile_selector
from kyvsim.kubernetes.objects import Json, labels, object_key
from kyvsim.kubernetes.wildcard import matches
from kyvsim.model.policy import Override, Policy, Rule
from kyvsim.model.result import PolicyResponse, RuleResult, RuleStatus
from kyvsim.model.simulation import Reason
from kyvsim.simulator.api_server import ApiError
from kyvsim.yaml.text import folded_yaml

# Whether a failed rule blocks a request in a namespace.
#
# Source of the rules: upstream pkg/policycache/cache.go, where the first override that fits
# counts,
# and one that names no namespace at all fits everywhere.


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


# The words of denials and warnings.
#
# Source of the texts: upstream pkg/webhooks/utils (block.go, warning.go),
# pkg/webhooks/resource/mutation/mutation.go.

_TOLD = frozenset({RuleStatus.FAIL, RuleStatus.ERROR, RuleStatus.WARN})


def denial(webhook: str, message: str) -> ApiError:
    """Return a webhook's denial as the API server passes it on."""
    text = f'admission webhook "{webhook}" denied the request: {message}'
    return ApiError(400, "BadRequest", text, why=Reason.DENIED)


def blocked_message(subject: Json, responses: Iterable[PolicyResponse]) -> str:
    """Return why validation denies a request: policies, their rules, and what each says."""
    failures: dict[str, dict[str, str]] = {}
    for response in responses:
        said = {one.rule.name: one.message for one in response.results if one.status in _TOLD}
        if said:
            failures[response.policy.name] = said
    key = object_key(subject)
    place = f"{key.kind}/{key.namespace}/{key.name}"
    head = f"\n\nresource {place} was blocked due to the following policies \n\n"
    return head + folded_yaml(failures)


def mutation_failure(response: PolicyResponse) -> str:
    """Return why a failed mutation denies a request."""
    name = response.policy.name
    failed = (RuleStatus.FAIL, RuleStatus.ERROR)
    rules = [f"{one.rule.name}: {one.message}" for one in response.results if one.status in failed]
    told = f"failed to apply policy {name} rules [{' '.join(rules)}]"
    return f"mutation policy {name} error: {told}"


def warnings_of(responses: Iterable[PolicyResponse], *, mutating: bool = False) -> list[str]:
    """Return the warnings that a client sees: what failed, and mutations that want to be told."""
    return [
        f"policy {response.policy.name}.{one.rule.name}: {one.message}"
        for response in responses
        for one in response.results
        if one.status in _TOLD or (mutating and _tells_all(response, one))
    ]


def _tells_all(response: PolicyResponse, result: RuleResult) -> bool:
    return response.policy.facts.emits_warnings and result.status is not RuleStatus.SKIP
