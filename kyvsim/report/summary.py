"""Which status a result has in reports, and how many there are of each."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple, TypeAlias, TypeVar

from kyvsim.kubernetes.labels import SelectorError, compile_selector
from kyvsim.kubernetes.objects import Json, object_key
from kyvsim.kubernetes.wildcard import matches
from kyvsim.model.policy import Override, Policy, RuleFacts
from kyvsim.model.result import (
    EngineResponse,
    Phase,
    PolicyResponse,
    RuleResult,
    RuleStatus,
    report_message,
)
from kyvsim.model.source import Path

_Told = TypeVar("_Told")
NO_RESULT = "none"
"""What stands for a status where a rule has no result."""
QUIET = frozenset({"pass", "skip"})
"""Statuses that views for people count, but list only when details are requested."""


class Summary(NamedTuple):
    """How many results have each status."""

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
        """Return the counts without some of each status."""
        return Summary(*(count - known.get(name, 0) for name, count in self.as_dict().items()))

    def __str__(self) -> str:
        return ", ".join(f"{name}: {count}" for name, count in self.as_dict().items())


def summary_of(statuses: Iterable[str]) -> Summary:
    """Return how often each status is among some."""
    counts = Counter(statuses)
    return Summary(*(counts[name] for name in Summary().as_dict()))


class Row(NamedTuple):
    """One result as reports show it."""

    policy: Policy
    result: RuleResult
    status: str
    resource: Json
    """The object the rule looked at: before the policy's patches for a mutate rule.

    For one of a MutatingPolicy, before the patches of all of them.
    """


_TOGETHER = frozenset({"MutatingPolicy", "NamespacedMutatingPolicy"})
"""Kinds whose policies are evaluated as one, and tell of the object that was given to them.

upstream: pkg/cel/policies/mpol/engine/engine.go `Handle`
"""
Rows: TypeAlias = Callable[[EngineResponse], Iterator[Row]]


def compile_rows(*, audit_warn: bool, untold: frozenset[str] = frozenset()) -> Rows:
    """Return a function that yields a row for each result of a response, in order.

    Results whose status is in `untold` are left out, unless they have a note.
    """
    passes_untold = RuleStatus.PASS.value in untold

    def rows(response: EngineResponse) -> Iterator[Row]:
        before = begun = response.trigger
        labels = response.namespace_labels or {}
        for answer in response.evaluated if passes_untold else response.responses:
            policy, resource = answer.policy, answer.object
            together = policy.kind in _TOGETHER
            if answer.phase is Phase.MUTATE:
                resource = begun if together else before
            for result in answer.results:
                status = result.status
                if status is RuleStatus.FAIL and only_warns(answer, labels, audit_warn=audit_warn):
                    status = RuleStatus.WARN
                word = status._value_
                if word not in untold or result.note:
                    shown = _with_own_message(result, word) if result.properties else result
                    yield Row(policy, shown, word, resource)
            if answer.changed:
                before = answer.object
                begun = begun if together else before

    return rows


def once_a_rule(tell: Callable[[Row], _Told]) -> Callable[[Row], _Told]:
    """Return a function that tells the same of rows, and makes it once for a rule and a status.

    Nothing else of a row may make a difference to what is told.
    """
    known: dict[tuple[Policy, str, Path, str, str], _Told] = {}

    def told(row: Row) -> _Told:
        # Not the rule's own identity: what is no rule's fault has one made for it, and forgotten.
        rule = row.result.rule
        key = (row.policy, rule.name, rule.path, rule.variant, row.status)
        if key not in known:
            known[key] = tell(row)
        return known[key]

    return told


def only_warns(answer: PolicyResponse, labels: Mapping[str, Json], *, audit_warn: bool) -> bool:
    """Return whether failures of a policy are warnings: it is not scored, or only audits.

    The latter counts with `audit_warn` alone.
    upstream: pkg/utils/report/results.go, cmd/cli/kubectl-kyverno/report/report.go
    """
    return not answer.policy.scored or (audit_warn and is_audit(answer, labels))


def _with_own_message(result: RuleResult, status: str) -> RuleResult:
    return result._replace(message=report_message(result, status))


def silent_rows(response: EngineResponse) -> Iterator[Row]:
    """Yield a row for each rule that has no result, because it could look at nothing."""
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
    actions = (_rule_action(rule.facts, namespace, labels) for rule in policy.rules)
    action = next((found for found in actions if found), "")
    action = action or _override(policy.facts.action.overrides, namespace, labels)
    return not _enforces(action or policy.facts.action.own)


def _rule_action(facts: RuleFacts, namespace: str, labels: Mapping[str, Json]) -> str:
    own, overrides = facts.action
    images = facts.image_actions
    enforcing = next((action for action in images if _enforces(action)), "")
    return _override(overrides, namespace, labels) or own or enforcing or "".join(images[:1])


def _override(overrides: Iterable[Override], namespace: str, labels: Mapping[str, Json]) -> str:
    """Return the action of the first override that fits the namespace, or ""."""
    for override in overrides:
        if override.action.lower() not in {"audit", "enforce"}:
            continue
        in_namespaces = override.namespaces is None or any(
            matches(pattern, namespace) for pattern in override.namespaces
        )
        if in_namespaces and _selects(override.selector, labels):
            return override.action
    return ""


def _selects(selector: Json, labels: Mapping[str, Json]) -> bool:
    if selector is None:
        return True
    try:
        return bool(compile_selector(selector)(labels))
    except SelectorError:
        return False


def _enforces(action: str) -> bool:
    return action.lower() == "enforce"
