"""What a run tells as a whole: counted while its responses stream by, whatever shows them."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeAlias

from kyvsim.kubernetes.objects import Json
from kyvsim.model.policy import Policy, Rule
from kyvsim.model.result import (
    BaselineState,
    EngineResponse,
    PassingPolicies,
    PolicyPasses,
    PolicyResponse,
    RuleResult,
    RuleStatus,
)
from kyvsim.model.source import Path
from kyvsim.report.results import Summary, only_warns

if TYPE_CHECKING:
    from kyvsim.report.known_failures import Met

RuleKey: TypeAlias = tuple[str, str, str, Path]
"""Kind and key of a policy, name and place of one of its rules: derived rules stand where the
written one does."""

_STATUSES: Mapping[str, int] = MappingProxyType(
    {name: place for place, name in enumerate(Summary().as_dict())}
)
"""The place of each status among counts."""
_MOST_KEPT: Final = 10_000
"""So many groups of results are told apart before they are counted by rule."""


class Course:
    """Counts of one run; a further count has its place here and its words in `run_ending`."""

    __slots__ = (
        "_audit_warn",
        "_by_rule",
        "_passes",
        "_results",
        "known",
        "known_failures",
        "met",
        "severities",
        "unchecked",
        "unmatched",
        "unstable",
    )

    def __init__(self, *, audit_warn: bool = False) -> None:
        self._audit_warn = audit_warn
        self._by_rule: dict[RuleKey, list[int]] = {}
        # Many objects share the passes of policies: they are counted together.
        self._passes: dict[tuple[PolicyPasses, ...], int] = {}
        self._results: dict[tuple[Policy, Rule, str], int] = {}
        self.unchecked = 0
        """How often a rule could not look at all of an object that it would have checked."""
        self.unmatched = 0
        """Resources that no rule matched."""
        self.unstable = 0
        """Policies that change an object again, or fail, when their rules run a second time."""
        self.known = {"fail": 0, "warn": 0, "error": 0}
        """How many results of these statuses the baseline has."""
        self.known_failures: dict[tuple[str, str], int] = {}
        """How many failures of a policy, by kind and key, the baseline has."""
        self.severities: dict[str, int] = {}
        """How many failures are of policies of each severity, where those are not at hand."""
        self.met: Met | None = None
        """What of the baseline was met; None where the run has none."""

    def watching(self, responses: Iterable[EngineResponse]) -> Iterator[EngineResponse]:
        """Yield the responses, counting."""
        passes = self._passes
        for response in responses:
            matched = False
            for answer in response.answers:
                if isinstance(answer, PassingPolicies):
                    matched = True
                    passes[answer.passes] = passes.get(answer.passes, 0) + 1
                elif answer.results or answer.silent:
                    matched = True
                    self._count(answer, response.namespace_labels or {})
            if len(passes) + len(self._results) >= _MOST_KEPT:
                self._settle()
            self.unmatched += not matched
            self.unstable += len(response.repeated)
            yield response

    def _count(self, answer: PolicyResponse, labels: Mapping[str, Json]) -> None:
        policy, _, _, results, _, silent = answer
        warns = only_warns(answer, labels, audit_warn=self._audit_warn)
        self.unchecked += len(silent)
        for result in results:
            status = _status(result, warns=warns)
            group = policy, result.rule, status
            self._results[group] = self._results.get(group, 0) + 1
            if result.baseline is BaselineState.UNCHANGED:
                self.known[status] += 1
                if status == RuleStatus.FAIL.value:
                    self._count_known((policy.kind, policy.key), 1)
            self.unchecked += bool(result.unchecked)

    def _settle(self) -> None:
        """Count by rule what was told apart so far."""
        for (policy, rule, status), number in self._results.items():
            self.count(_key(policy, rule), status, number)
        # Many groups have the same passes of a policy in them: these are put together first.
        numbers: Counter[PolicyPasses] = Counter()
        for passes, number in self._passes.items():
            for one in passes:
                numbers[one] += number
        for one, number in numbers.items():
            for result in one.results:
                self.count(_key(one.policy, result.rule), "pass", number)
        self._passes.clear()
        self._results.clear()

    def count(self, rule: RuleKey, status: str, number: int = 1) -> None:
        """Count results of a rule that have one status."""
        counts = self._by_rule.get(rule)
        if counts is None:
            counts = self._by_rule[rule] = [0] * len(_STATUSES)
        counts[_STATUSES[status]] += number

    def _count_known(self, policy: tuple[str, str], number: int) -> None:
        self.known_failures[policy] = self.known_failures.get(policy, 0) + number

    def closed(self) -> "Course":
        """Return the counts, which can be taken to another process now."""
        self._settle()
        return self

    def add(self, other: "Course") -> None:
        """Take in the counts of a part of the run."""
        for rule, summary in other.by_rule().items():
            for status, number in summary.as_dict().items():
                self.count(rule, status, number)
        self.unchecked += other.unchecked
        self.unmatched += other.unmatched
        self.unstable += other.unstable
        for status, number in other.known.items():
            self.known[status] += number
        for policy, number in other.known_failures.items():
            self._count_known(policy, number)
        if self.met is None:
            self.met = other.met
        elif other.met:
            self.met.add(other.met)

    @property
    def covered(self) -> int:
        """How many results the baseline has."""
        return sum(self.known.values())

    def summary(self) -> Summary:
        """Return how many results so far have each status."""
        numbers = self.by_rule().values()
        return Summary(*map(sum, zip(*numbers, strict=True))) if numbers else Summary()

    def by_rule(self) -> dict[RuleKey, Summary]:
        """Return the same of each rule that has results."""
        self._settle()
        return {rule: Summary(*counts) for rule, counts in self._by_rule.items()}


def _key(policy: Policy, rule: Rule) -> RuleKey:
    return policy.kind, policy.key, rule.name, rule.path


def _status(result: RuleResult, *, warns: bool) -> str:
    status = result.status
    return (RuleStatus.WARN if warns and status is RuleStatus.FAIL else status).value
