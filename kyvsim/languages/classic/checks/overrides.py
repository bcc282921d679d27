"""Failure actions by namespace do not contradict each other.

upstream: pkg/validation/policy/validate.go, validateNamespaces
"""

from collections.abc import Iterable, Iterator
from itertools import product

from kyvsim.kube.objects import Json
from kyvsim.kube.wildcard import has_wildcard, matches
from kyvsim.languages.classic.checks.refusal import refuse
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.policy import Policy
from kyvsim.model.source import Path


def check_overrides(policy: Policy) -> Iterator[Diagnostic]:
    """No namespace is both enforced and audited; a namespaced Policy has no overrides."""
    overrides = policy.spec.get("validationFailureActionOverrides", ())
    path: Path = ("spec", "validationFailureActionOverrides")
    if policy.kind == "Policy":
        if overrides:
            text = (
                "spec.validationFailureActionOverrides: Forbidden: Use of"
                " validationFailureActionOverrides is supported only with ClusterPolicy"
            )
            yield refuse(policy, "KV109", text, path)
        return
    for index, rule in enumerate(policy.rules):
        found = rule.data.get("validate", {}).get("failureActionOverrides", ())
        text_path = f"spec.rules[{index}].validate.validationFailureActionOverrides"
        rule_path = (*rule.path, "validate", "failureActionOverrides")
        yield from _conflicts(policy, found, text_path, rule_path)
    yield from _conflicts(policy, overrides, "spec.validationFailureActionOverrides", path)


def _conflicts(
    policy: Policy, overrides: Iterable[Json], text_path: str, path: Path
) -> Iterator[Diagnostic]:
    seen: dict[bool, list[str]] = {True: [], False: []}
    for index, override in enumerate(overrides):
        if "action" not in override:
            yield refuse(policy, "KV109", "invalid action", (*path, index))
            return
        enforced = override["action"].lower() == "enforce"
        namespaces = override.get("namespaces", [])
        place = f"{text_path}[{index}].namespaces"
        shared = sorted(set(namespaces) & {n for n in seen[not enforced] if not has_wildcard(n)})
        seen[enforced] += namespaces
        text = ""
        if shared:
            text = f"conflicting namespaces found in path: {place}: {', '.join(shared)}"
        elif clash := _clash(audited=seen[False], enforced=seen[True]):
            text = f"path: {place}: {clash}"
        if text:
            yield refuse(policy, "KV109", text, (*path, index, "namespaces"))
            return


def _clash(*, audited: list[str], enforced: list[str]) -> str:
    """Return which pattern meets a name or pattern of the other action, or ""."""
    pairs = [*product(audited, enforced), *product(enforced, audited)]
    pairs = [pair for pair in pairs if has_wildcard(pair[0])]
    for pattern, name in pairs:
        if not has_wildcard(name) and matches(pattern, name):
            return f"wildcard pattern '{pattern}' matches with namespace '{name}'"
    for pattern, other in pairs:
        if matches(pattern, other):
            return f"wildcard pattern '{pattern}' conflicts with the pattern '{other}'"
    return ""
