"""Parts of results that all reports share: statuses, counts, changed objects, names, severities."""

import contextlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple, TypeVar

from kyvsim.kubernetes.labels import SelectorError, compile_selector
from kyvsim.kubernetes.objects import Json, KubernetesObject, ObjectKey, Path, metadata, object_key
from kyvsim.kubernetes.wildcard import matches
from kyvsim.model.policy import SEVERITIES, Override, Policy, Rule
from kyvsim.model.result import (
    EngineResponse,
    Phase,
    PolicyResponse,
    RuleResult,
    RuleStatus,
    report_message,
)

_T = TypeVar("_T")
NO_RESULT = "none"
"""The status of a rule without a result."""
QUIET = frozenset({"pass", "skip"})
"""Statuses that views for people count, but list only if details are requested."""


class Summary(NamedTuple):
    """The number of results by status."""

    passed: int = 0
    failed: int = 0
    warned: int = 0
    errors: int = 0
    skipped: int = 0

    def as_dict(self) -> dict[str, int]:
        """Return the counts by status name."""
        names = ("pass", "fail", "warn", "error", "skip")
        return dict(zip(names, self, strict=True))

    def less(self, known: Mapping[str, int]) -> "Summary":
        """Return the counts minus the given numbers by status."""
        return Summary(*(count - known.get(name, 0) for name, count in self.as_dict().items()))

    def __str__(self) -> str:
        return ", ".join(f"{name}: {count}" for name, count in self.as_dict().items())


def summary_of(statuses: Iterable[str]) -> Summary:
    """Return the numbers of some statuses."""
    counts = Counter(statuses)
    return Summary(*(counts[name] for name in Summary().as_dict()))


class Row(NamedTuple):
    """One result, as reported."""

    policy: Policy
    result: RuleResult
    status: str
    resource: KubernetesObject | None
    """The object that was evaluated: before the policy's patches for a mutate rule.

    For a MutatingPolicy, before the patches of all policies of this kind.
    """


_TOGETHER = frozenset({"MutatingPolicy", "NamespacedMutatingPolicy"})
"""Kinds whose policies are evaluated together: results refer to the object before all of them.

upstream: pkg/cel/policies/mpol/engine/engine.go `Handle`
"""


def compile_rows(
    *, audit_warn: bool, hidden: frozenset[str] = frozenset()
) -> Callable[[EngineResponse], Iterator[Row]]:
    """Return a function that yields a row for each result of a response, in order.

    Results whose status is in `hidden` are omitted, unless they have a note.
    """
    omits_passes = RuleStatus.PASS.value in hidden

    def rows(response: EngineResponse) -> Iterator[Row]:
        before = begun = response.trigger
        labels = response.namespace_labels or {}
        for answer in response.evaluated if omits_passes else response.responses:
            policy, resource = answer.policy, answer.object
            together = policy.kind in _TOGETHER
            if answer.phase is Phase.MUTATE:
                resource = begun if together else before
            for result in answer.results:
                status = result.status
                if status is RuleStatus.FAIL and only_warns(answer, labels, audit_warn=audit_warn):
                    status = RuleStatus.WARN
                word = status._value_
                if word not in hidden or result.note:
                    shown = result
                    if result.properties:
                        shown = result._replace(message=report_message(result, word))
                    yield Row(policy, shown, word, resource)
            if answer.changed:
                before = answer.object
                begun = begun if together else before

    return rows


def cached_by_rule(make: Callable[[Row], _T]) -> Callable[[Row], _T]:
    """Return a function that caches values that depend only on the rule and status of a row."""
    known: dict[tuple[Policy, str, Path, str, str], _T] = {}

    def cached(row: Row) -> _T:
        # The rule is not a key: for errors without a rule, a temporary one is created.
        rule = row.result.rule
        key = (row.policy, rule.name, rule.path, rule.variant, row.status)
        if key not in known:
            known[key] = make(row)
        return known[key]

    return cached


def only_warns(answer: PolicyResponse, labels: Mapping[str, Json], *, audit_warn: bool) -> bool:
    """Return whether failures of a policy are warnings: it is not scored, or only audits.

    The latter only counts with `audit_warn`. upstream: pkg/utils/report/results.go,
    cmd/cli/kubectl-kyverno/report/report.go
    """
    return not answer.policy.scored or (audit_warn and is_audit(answer, labels))


def silent_rows(response: EngineResponse) -> Iterator[Row]:
    """Yield a row for each rule without a result, which could not evaluate anything."""
    for answer in response.evaluated:
        for result in answer.silent:
            yield Row(answer.policy, result, NO_RESULT, answer.object)


def is_audit(answer: PolicyResponse, labels: Mapping[str, Json]) -> bool:
    """Return whether the policy's failure action for this object is Audit.

    The first rule that sets an action decides, then the policy's overrides, then its own action.
    upstream: pkg/engine/api/engineresponse.go `GetValidationFailureAction`
    """
    policy = answer.policy
    namespace = object_key(answer.object).namespace
    for facts in (rule.facts for rule in policy.rules):
        own, overrides = facts.action
        images = sorted(facts.image_actions, key=lambda action: action.lower() != "enforce")
        action = _override(overrides, namespace, labels) or own or "".join(images[:1])
        if action:
            return action.lower() != "enforce"
    action = _override(policy.facts.action.overrides, namespace, labels)
    return (action or policy.facts.action.own).lower() != "enforce"


def _override(overrides: Iterable[Override], namespace: str, labels: Mapping[str, Json]) -> str:
    for override in overrides:
        if override.action.lower() not in {"audit", "enforce"}:
            continue
        patterns = override.namespaces
        if patterns is None or any(matches(pattern, namespace) for pattern in patterns):
            with contextlib.suppress(SelectorError):
                if override.selector is None or compile_selector(override.selector)(labels):
                    return override.action
    return ""


_WEB_ADDRESS = r"https?://[!-~]+"
_DOCUMENTATION = frozenset({"documentation", "documentation-url", "docs", "url"})
_KUBERNETES = "https://kubernetes.io/docs/reference/access-authn-authz"
_PAGES: Mapping[str, str] = {
    "ValidatingPolicy": "validating-policy/",
    "MutatingPolicy": "mutating-policy/",
    "GeneratingPolicy": "generating-policy/",
    "DeletingPolicy": "deleting-policy/",
    "ImageValidatingPolicy": "image-validating-policy/",
    "CleanupPolicy": "cleanup-policy/",
    "ClusterCleanupPolicy": "cleanup-policy/",
    "ValidatingAdmissionPolicy": f"{_KUBERNETES}/validating-admission-policy/",
    "MutatingAdmissionPolicy": f"{_KUBERNETES}/mutating-admission-policy/",
}
"""Documentation of policy kinds: paths below Kyverno's site, or URLs."""


def title(obj: object) -> str:
    """Return `namespace/Kind/name`, without the namespace for a cluster-scoped object."""
    key = object_key(obj)
    if not key.name:
        prefix = metadata(obj).get("generateName")
        key = key._replace(name=f"{prefix}*" if isinstance(prefix, str) else "")
    return key_title(key)


def key_title(key: ObjectKey) -> str:
    """Return the title of an object's key."""
    return "/".join(part for part in (key.namespace, key.kind or "?", key.name) if part)


def short_title(obj: object) -> str:
    """Return `Kind namespace/name`, as used in sentences."""
    return short_title_of(object_key(obj))


def short_title_of(key: ObjectKey) -> str:
    """Return the same for an object's key."""
    return f"{key.kind or '?'} {'/'.join(part for part in (key.namespace, key.name) if part)}"


def identity(obj: object) -> dict[str, str]:
    """Return apiVersion, kind, namespace and name; missing ones are ""."""
    return identity_of(object_key(obj))


def identity_of(key: ObjectKey) -> dict[str, str]:
    """Return the same for an object's key."""
    api_version, kind, namespace, name = key
    return {"apiVersion": api_version, "kind": kind, "namespace": namespace, "name": name}


def severity_of(policy: Policy) -> str:
    """Return the severity annotation of a policy, one of SEVERITIES, or ""."""
    severity = policy.annotations.get("policies.kyverno.io/severity")
    return severity if severity in SEVERITIES else ""


def category_of(policy: Policy) -> str:
    """Return the category annotation of a policy, or ""."""
    category = policy.annotations.get("policies.kyverno.io/category")
    return category if isinstance(category, str) else ""


def documentation_of(policy: Policy) -> str:
    """Return the URL of a policy's documentation: its own, or that of its kind.

    Kyverno has no annotation for it. One with any prefix that is named `documentation`,
    `documentation-url`, `docs` or `url` is used if its value is a URL.
    """
    for key, value in policy.annotations.items():
        is_documentation = key.rpartition("/")[2].lower() in _DOCUMENTATION
        if is_documentation and isinstance(value, str) and re.fullmatch(_WEB_ADDRESS, value):
            return value
    page = _PAGES.get(policy.kind.removeprefix("Namespaced"), "cluster-policy/")
    return page if page.startswith("https:") else f"https://kyverno.io/docs/policy-types/{page}"


def rule_title(policy: str, rule: str) -> str:
    """Return `policy / rule`, or only the policy if its rule has no name."""
    return " / ".join(filter(None, (policy, rule)))


def written_title(policy: Policy, rule: Rule) -> str:
    """Return the title under which tables count a rule; for autogen rules, that of the source."""
    written = next((other for other in policy.rules if other.path == rule.path), rule)
    return rule_title(policy.key, written.name)


def row_title(row: Row) -> str:
    """Return the title of the rule of a row, with the name that Kyverno reports."""
    return rule_title(row.policy.key, row.result.rule.name)


class ChangedObject(NamedTuple):
    """An object that a rule patched (`before` is the old one) or created."""

    policy: Policy
    rule: str
    object: KubernetesObject
    before: KubernetesObject | None = None
    settings: Mapping[str, Json] = MappingProxyType({})
    """Settings of the rule for later changes of a generated object."""

    @property
    def author(self) -> str:
        """The policy and rule, as used in sentences."""
        rule = f", rule {self.rule}" if self.rule else ""
        return f"policy {self.policy.key}{rule}"


def has_changes(response: EngineResponse) -> bool:
    """Return whether a response may have changed or created anything."""
    return any(
        answer.changed or any(result.generated or result.targets for result in answer.results)
        for answer in response.evaluated
    )


def mutations(response: EngineResponse) -> list[PolicyResponse]:
    """Return the responses that changed more of the trigger than annotations about images."""
    return [
        answer
        for answer in response.evaluated
        if answer.changed and (answer.phase is Phase.MUTATE or bool(passed_rules(answer)))
    ]


def passed_rules(answer: PolicyResponse) -> list[str]:
    """Return the names of a policy's rules that passed."""
    return [result.rule.name for result in answer.results if result.status is RuleStatus.PASS]


def generated(response: EngineResponse) -> Iterator[ChangedObject]:
    """Yield the objects created for the trigger."""
    for policy, result in _results(response):
        for obj in result.generated:
            yield ChangedObject(policy, result.rule.name, obj, settings=result.rule.facts.upkeep)


def patched_targets(response: EngineResponse) -> Iterator[ChangedObject]:
    """Yield the existing objects that rules changed on behalf of the trigger."""
    for policy, result in _results(response):
        for target in result.targets:
            if target.changed:
                yield ChangedObject(policy, result.rule.name, target.object, target.before)


def _results(response: EngineResponse) -> Iterator[tuple[Policy, RuleResult]]:
    for answer in response.evaluated:
        for result in answer.results:
            if result.generated or result.targets:
                yield answer.policy, result


def digest(data: bytes) -> str:
    """Return the SHA-256 of data, in hexadecimal."""
    from hashlib import sha256  # noqa: PLC0415 — loads OpenSSL, which few runs need

    return sha256(data).hexdigest()
