"""What a run tells as a whole: counted while its responses stream by, whatever shows them."""

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeAlias

from kyvsim.kube.objects import Json
from kyvsim.model.policy import Policy
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
from kyvsim.report.summary import Summary, only_warns

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


class _Counted:
    """How many objects have the same results of a policy."""

    __slots__ = ("number", "results", "rules")

    def __init__(self, rules: list[tuple[RuleKey, str]]) -> None:
        self.rules = rules
        """Each with the status of its result."""
        self.number = 1
        self.results: tuple[RuleResult, ...] = ()
        """They are known by their identity."""


class Course:
    """Counts of one run; a further count has its place here and its words in `run_ending`."""

    __slots__ = (
        "_audit_warn",
        "_by_rule",
        "_kept",
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
        # Many objects share the passes of policies: they are counted together. What is kept here
        # keeps its identity.
        self._passes: dict[int, int] = {}
        self._kept: list[tuple[PolicyPasses, ...]] = []
        # So are other results of a policy.
        self._results: dict[int, _Counted] = {}
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
        passes, results = self._passes, self._results
        for response in responses:
            matched = False
            for answer in response.answers:
                if isinstance(answer, PassingPolicies):
                    matched = True
                    key = id(answer.passes)
                    passes[key] = passes[key] + 1 if key in passes else self._first(answer.passes)
                    continue
                if answer.results or answer.silent:
                    matched = True
                known = None if answer.silent else results.get(id(answer.results))
                if known is not None:
                    known.number += 1
                else:
                    self._count(answer, response.namespace_labels or {})
            self.unmatched += not matched
            self.unstable += len(response.repeated)
            yield response

    def _count(self, answer: PolicyResponse, labels: Mapping[str, Json]) -> None:
        policy, _, _, results, _, silent = answer
        warns = only_warns(answer, labels, audit_warn=self._audit_warn)
        counted = _Counted([(_key(policy, one), _status(one, warns=warns)) for one in results])
        self.unchecked += len(silent)
        is_odd = bool(silent)
        for (_, status), result in zip(counted.rules, results, strict=True):
            if result.baseline is BaselineState.UNCHANGED:
                is_odd = True
                self.known[status] += 1
                if status == RuleStatus.FAIL.value:
                    self._count_known((policy.kind, policy.key), 1)
            if result.unchecked:
                is_odd = True
                self.unchecked += 1
        if is_odd or self._audit_warn:  # other objects may have the same results as warnings
            self._count_all(counted)
            return
        if len(self._results) >= _MOST_KEPT:
            self._count_results()
        counted.results = results
        self._results[id(results)] = counted

    def _count_results(self) -> None:
        for one in self._results.values():
            self._count_all(one)
        self._results.clear()

    def _count_all(self, counted: "_Counted") -> None:
        for rule, status in counted.rules:
            self.count(rule, status, counted.number)

    def _first(self, passes: tuple[PolicyPasses, ...]) -> int:
        """Keep passes that are new; return how often they have come up."""
        if len(self._kept) >= _MOST_KEPT:
            self._count_passes()
        self._kept.append(passes)
        return 1

    def _count_passes(self) -> None:
        # Many groups have the same passes of a policy in them: these are put together first.
        numbers: dict[int, int] = {}
        each: dict[int, PolicyPasses] = {}
        for passes in self._kept:
            number = self._passes[id(passes)]
            for one in passes:
                key = id(one)
                if key in numbers:
                    numbers[key] += number
                else:
                    numbers[key], each[key] = number, one
        for key, (policy, results) in each.items():
            for result in results:
                self.count(_key(policy, result), "pass", numbers[key])
        self._passes.clear()
        self._kept.clear()

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
        self._count_results()
        self._count_passes()
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
        self._count_results()
        self._count_passes()
        return {rule: Summary(*counts) for rule, counts in self._by_rule.items()}


def _key(policy: Policy, result: RuleResult) -> RuleKey:
    rule = result.rule
    return policy.kind, policy.key, rule.name, rule.path


def _status(result: RuleResult, *, warns: bool) -> str:
    status = result.status
    return (RuleStatus.WARN if warns and status is RuleStatus.FAIL else status).value
