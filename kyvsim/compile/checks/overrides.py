"""Failure actions by namespace do not contradict each other.

upstream: pkg/validation/policy/validate.go, validateNamespaces
"""

from collections.abc import Iterable, Iterator

from kyvsim.compile.checks.refusal import refuse
from kyvsim.kube.objects import Json
from kyvsim.kube.wildcard import has_wildcard, matches
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
        enforced = override.get("action", "").lower() == "enforce"
        namespaces = override.get("namespaces", [])
        seen[enforced] += namespaces
        problem = _conflict(namespaces, seen[not enforced])
        if problem:
            place = f"{text_path}[{index}].namespaces"
            shared, _, reason = problem.partition("\n")
            text = (
                f"path: {place}: {reason}"
                if reason
                else f"conflicting namespaces found in path: {place}: {shared}"
            )
            yield refuse(policy, "KV109", text, (*path, index, "namespaces"))
            return


def _conflict(mine: list[str], theirs: list[str]) -> str:
    """Return the namespaces in both lists, or a line break and which patterns meet, or ""."""
    shared = sorted({name for name in mine if not has_wildcard(name)} & set(theirs))
    if shared:
        return ", ".join(shared)
    for pattern, name in (*_pairs(mine, theirs), *_pairs(theirs, mine)):
        if has_wildcard(pattern) and matches(pattern, name):
            if has_wildcard(name):
                return f"\nwildcard pattern '{pattern}' conflicts with the pattern '{name}'"
            return f"\nwildcard pattern '{pattern}' matches with namespace '{name}'"
    return ""


def _pairs(patterns: list[str], names: list[str]) -> Iterator[tuple[str, str]]:
    return ((pattern, name) for pattern in patterns for name in names)
