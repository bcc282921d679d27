"""Checks of everything outside the rules: name, annotations, timeouts, modes.

upstream: pkg/validation/policy/validate.go, api/kyverno/v1/spec_types.go
"""

from collections.abc import Iterable, Iterator
from itertools import product

from kyvsim.kubernetes.objects import Path
from kyvsim.kubernetes.wildcard import has_wildcard, matches
from kyvsim.languages.classic.validation.rule_parts import validation_error
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.policy import Policy
from kyvsim.policy.rule import FailureOverride

_LONGEST_NAME = 63
_AUTOGEN = "pod-policies.kyverno.io/autogen-controllers"


def check_match_conditions(policy: Policy) -> Iterator[Diagnostic]:
    """Webhook match conditions are CEL for the API server; the reference fails on them offline."""
    webhook = policy.tree.webhook
    if webhook and webhook.match_conditions:
        text = "spec.webhookConfiguration.matchConditions cannot be evaluated without a cluster"
        path = ("spec", "webhookConfiguration", "matchConditions")
        yield validation_error(policy, "KV102", text, path)


def check_identity(policy: Policy) -> Iterator[Diagnostic]:
    """The autogen annotation is not `all`, and the name is a valid label value."""
    if policy.annotations.get(_AUTOGEN) == "all":
        text = (
            "metadata.annotations: Forbidden: Autogen annotation does not support 'all' anymore,"
            " remove the annotation or set it to a valid value"
        )
        yield validation_error(policy, "KV103", text, ("metadata", "annotations", _AUTOGEN))
    if len(policy.name.encode()) > _LONGEST_NAME:
        text = f"name: Too long: may not be more than {_LONGEST_NAME} bytes"
        yield validation_error(policy, "KV104", text, ("metadata", "name"))


def check_deprecated_twins(policy: Policy) -> Iterator[Diagnostic]:
    """A deprecated field and its replacement are not both set."""
    spec, webhook = policy.tree, policy.tree.webhook
    has_timeout = webhook is not None and webhook.timeout_seconds is not None
    has_failure_policy = webhook is not None and bool(webhook.failure_policy)
    for old, new, are_both_set in (
        (
            "webhookTimeoutSeconds",
            "webhookConfiguration.timeoutSeconds",
            has_timeout and spec.webhook_timeout_seconds is not None,
        ),
        (
            "failurePolicy",
            "webhookConfiguration.failurePolicy",
            has_failure_policy and bool(spec.failure_policy),
        ),
        (
            "generateExistingOnPolicyUpdate",
            "generate[*].generateExisting",
            spec.generate_existing_on_policy_update is not None,
        ),
    ):
        if are_both_set:
            text = f"spec.{old}: Forbidden: remove the deprecated field and use spec.{new} instead"
            yield validation_error(policy, "KV105", text, ("spec", old))


def check_mutate_targets(policy: Policy) -> Iterator[Diagnostic]:
    """Mutating existing resources when a policy is updated requires targets."""
    for index, rule in enumerate(policy.rules):
        mutate = rule.tree.mutate
        if mutate is None or "mutate" not in rule.tree.operations or mutate.targets:
            continue
        of_policy = policy.tree.mutate_existing_on_policy_update
        if of_policy or mutate.mutate_existing_on_policy_update:
            text = (
                f"spec.mutateExistingOnPolicyUpdate: Forbidden: rules[{index}].mutate.targets has"
                " to be specified when mutateExistingOnPolicyUpdate is set"
            )
            yield validation_error(policy, "KV106", text, mutate.path)


def check_timeouts(policy: Policy) -> Iterator[Diagnostic]:
    """Webhook timeouts are between 1 and 30 seconds."""
    webhook = policy.tree.webhook
    for value, path in (
        (policy.tree.webhook_timeout_seconds, ("spec", "webhookTimeoutSeconds")),
        (webhook and webhook.timeout_seconds, ("spec", "webhookConfiguration", "timeoutSeconds")),
    ):
        if value is not None and not 1 <= value <= 30:
            text = (
                f"{'.'.join(path)}: Invalid value: {value}: the timeout value must be between"
                " 1 and 30 seconds"
            )
            yield validation_error(policy, "KV107", text, path)


def check_modes(policy: Policy) -> Iterator[Diagnostic]:
    """Admission or background processing is on; without admission there are only validate rules."""
    if policy.tree.admission is not False:
        return
    path = ("spec", "admission")
    if not policy.background:
        text = "disabling both admission and background processing is not allowed"
        yield validation_error(policy, "KV108", text, path)
    for rule in policy.rules:
        if rule.tree.operations - {"validate"}:
            text = "disabling admission processing is only allowed with validation policies"
            yield validation_error(policy, "KV108", text, path)
            return


# upstream: pkg/validation/policy/validate.go, validateNamespaces


def check_overrides(policy: Policy) -> Iterator[Diagnostic]:
    """No namespace is both in Enforce and Audit mode; a namespaced Policy has no overrides."""
    overrides = policy.tree.overrides
    path: Path = ("spec", "validationFailureActionOverrides")
    if policy.kind == "Policy":
        if overrides:
            text = (
                "spec.validationFailureActionOverrides: Forbidden: Use of"
                " validationFailureActionOverrides is supported only with ClusterPolicy"
            )
            yield validation_error(policy, "KV109", text, path)
        return
    for index, rule in enumerate(policy.rules):
        if rule.tree.validate:
            text_path = f"spec.rules[{index}].validate.validationFailureActionOverrides"
            yield from _conflicts(policy, rule.tree.validate.overrides, text_path)
    yield from _conflicts(policy, overrides, "spec.validationFailureActionOverrides")


def _conflicts(
    policy: Policy, overrides: Iterable[FailureOverride], text_path: str
) -> Iterator[Diagnostic]:
    seen: dict[bool, list[str]] = {True: [], False: []}
    for index, override in enumerate(overrides):
        if not override.action:
            yield validation_error(policy, "KV109", "invalid action", override.path)
            return
        enforced = override.action.lower() == "enforce"
        namespaces = override.namespaces or ()
        place = f"{text_path}[{index}].namespaces"
        shared = sorted(set(namespaces) & {n for n in seen[not enforced] if not has_wildcard(n)})
        seen[enforced] += namespaces
        text = ""
        if shared:
            text = f"conflicting namespaces found in path: {place}: {', '.join(shared)}"
        elif clash := _clash(audited=seen[False], enforced=seen[True]):
            text = f"path: {place}: {clash}"
        if text:
            yield validation_error(policy, "KV109", text, (*override.path, "namespaces"))
            return


def _clash(*, audited: list[str], enforced: list[str]) -> str:
    """Return a pattern that matches a name or pattern of the other action, or ""."""
    pairs = [*product(audited, enforced), *product(enforced, audited)]
    pairs = [pair for pair in pairs if has_wildcard(pair[0])]
    for pattern, name in pairs:
        if not has_wildcard(name) and matches(pattern, name):
            return f"wildcard pattern '{pattern}' matches with namespace '{name}'"
    for pattern, other in pairs:
        if matches(pattern, other):
            return f"wildcard pattern '{pattern}' conflicts with the pattern '{other}'"
    return ""
