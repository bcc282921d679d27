"""One run of policies over resources, its counts, and the documents that are written of it."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from kyvsim.kubernetes.objects import Json, Path
from kyvsim.model.diagnostic import Diagnostic, strictly
from kyvsim.model.policy import Policy, Rule, Schedule
from kyvsim.model.result import (
    BaselineState,
    EngineResponse,
    PassingPolicies,
    PolicyPasses,
    PolicyResponse,
    RuleStatus,
)
from kyvsim.report.baseline import BaselineMatches, BaselineRemainder, remainder_of
from kyvsim.report.explanations import Explain
from kyvsim.report.results import Summary, only_warns
from kyvsim.report.style import RenderOptions

if TYPE_CHECKING:
    from datetime import datetime

    from kyvsim.model.explanation import ObjectExplanation
    from kyvsim.model.result import Baseline

RuleKey: TypeAlias = tuple[str, str, str, Path]
"""Kind and key of a policy, name and place of one of its rules: derived rules are where the
written one does."""

_STATUSES: Final = MappingProxyType({name: place for place, name in enumerate(Summary().as_dict())})
"""The place of each status among counts."""
_MOST_GROUPS: Final = 10_000
"""So many groups of results are distinguished before they are counted by rule."""


class ResultCounts:
    """Counts of one run; a further count has its place here and its words in `run_ending`."""

    def __init__(self, *, audit_warn: bool = False) -> None:
        self._audit_warn = audit_warn
        self._by_rule: dict[RuleKey, list[int]] = {}
        # Many objects share the passes of policies: they are counted together.
        self._passes: dict[tuple[PolicyPasses, ...], int] = {}
        self._results: dict[tuple[Policy, Rule, str], int] = {}
        self.unchecked = 0
        """How often a rule could not evaluate all of an object."""
        self.unmatched = 0
        """Resources that no rule matched."""
        self.unstable = 0
        """Policies that change an object again, or fail, when their rules run a second time."""
        self.known = {"fail": 0, "warn": 0, "error": 0}
        """How many results of these statuses the baseline has."""
        self.known_failures: dict[tuple[str, str], int] = {}
        """How many failures of a policy, by kind and key, the baseline has."""
        self.severities: dict[str, int] = {}
        """How many failures are of policies of each severity, where those are not available."""
        self.matches: BaselineMatches | None = None
        """None without a baseline."""

    def add_response(self, response: EngineResponse) -> None:
        """Count the results of a response."""
        passes, results = self._passes, self._results
        matched = False
        for answer in response.answers:
            if isinstance(answer, PassingPolicies):
                matched = True
                passes[answer.passes] = passes.get(answer.passes, 0) + 1
            elif answer.results or answer.silent:
                matched = True
                self._count(answer, response.namespace_labels or {})
        if len(passes) + len(results) >= _MOST_GROUPS:
            self._settle()
        self.unmatched += not matched
        self.unstable += len(response.repeated)

    def _count(self, answer: PolicyResponse, labels: Mapping[str, Json]) -> None:
        policy, _, _, results, _, silent = answer
        warns = only_warns(answer, labels, audit_warn=self._audit_warn)
        self.unchecked += len(silent)
        for result in results:
            status = result.status
            if warns and status is RuleStatus.FAIL:
                status = RuleStatus.WARN
            word = status.value
            group = policy, result.rule, word
            self._results[group] = self._results.get(group, 0) + 1
            if result.baseline is BaselineState.UNCHANGED:
                self.known[word] += 1
                if status is RuleStatus.FAIL:
                    key = policy.kind, policy.key
                    self.known_failures[key] = self.known_failures.get(key, 0) + 1
            self.unchecked += bool(result.unchecked)

    def _settle(self) -> None:
        """Count by rule what was distinguished so far."""
        for (policy, rule, status), number in self._results.items():
            self.count((policy.kind, policy.key, rule.name, rule.path), status, number)
        # Many groups have the same passes of a policy in them: these are put together first.
        numbers: Counter[PolicyPasses] = Counter()
        for passes, number in self._passes.items():
            for policy_passes in passes:
                numbers[policy_passes] += number
        for policy_passes, number in numbers.items():
            for result in policy_passes.results:
                rule = result.rule
                self.count(
                    (policy_passes.policy.kind, policy_passes.policy.key, rule.name, rule.path),
                    "pass",
                    number,
                )
        self._passes.clear()
        self._results.clear()

    def count(self, rule: RuleKey, status: str, number: int = 1) -> None:
        """Count results of a rule that have one status."""
        counts = self._by_rule.get(rule)
        if counts is None:
            counts = self._by_rule[rule] = [0] * len(_STATUSES)
        counts[_STATUSES[status]] += number

    def closed(self) -> "ResultCounts":
        """Return the counts, which can be taken to another process now."""
        self._settle()
        return self

    def add(self, other: "ResultCounts") -> None:
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
            self.known_failures[policy] = self.known_failures.get(policy, 0) + number
        if self.matches is None:
            self.matches = other.matches
        elif other.matches:
            self.matches.add(other.matches)

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


class ExitTerms(NamedTuple):
    """Options that affect the exit status."""

    warn_exit_code: int = 0
    warn_no_pass: bool = False
    fail_on: str = ""
    """The least severity of a policy whose failures count; "" where all count."""


class RenderedRun(NamedTuple):
    """All responses of a run as the chosen formats write them."""

    pieces: Sequence[Iterable[str]]
    """For each format their text, which can be read once."""
    lists: Sequence[Mapping[str, Iterable[str]]]
    """For each format what follows on them in lists by name; of those that have entries."""


class NotStreamable(Exception):  # noqa: N818 — not an error: rendering continues in one process
    """The output of parts of a run would be different from that of the whole; with the reason."""


class Run(NamedTuple):
    """One run of policies over resources: the inputs, and the responses, which can be read once."""

    policies: tuple[Policy, ...]
    resource_count: int
    rule_count: int
    """Rules after autogen."""
    exception_count: int
    diagnostics: tuple[Diagnostic, ...]
    responses: Iterator[EngineResponse]
    """One for each resource, in input order."""
    result_counts: ResultCounts
    """Complete when all responses are read."""
    exceptions: tuple[str, ...] = ()
    """The keys of the exceptions, where all of them are known here."""
    terms: ExitTerms = ExitTerms()
    audit_warn: bool = False
    schedules: tuple[Schedule, ...] = ()
    """Of the policies that act at times."""
    now: "datetime | None" = None
    """The time of the run, where it was given: times in its output mean something later then."""
    checks_idempotence: bool = False
    """Whether responses have the changes of a second evaluation."""
    applied: bool = True
    """False if a file was rejected on which all results depend, so that there are none."""
    final_checks: Callable[[int], tuple[Diagnostic, ...]] = lambda _matched: ()
    """Diagnostics known when all responses are read, given how many resources a rule matched."""
    explained: "Callable[[EngineResponse], ObjectExplanation | None]" = lambda _response: None
    """Explains the response that was read last; None if it cannot be explained."""
    left_out: tuple[Diagnostic, ...] = ()
    """What was left out of folders, being neither policies nor manifests: where, and what it is."""
    is_part: bool = False
    """Whether it is a part of a run: no response of it may have to do with those of others."""
    explain: Explain = lambda _response, _row: ()
    """Explains a result: the rule is evaluated once more, on that object alone."""
    rendered: RenderedRun | None = None
    """The text of the responses, where other processes rendered them; there are no `responses`."""
    baseline: "Baseline | None" = None
    """The failures that are known from a file."""

    def strictly(self) -> "Run":
        """Return the run with every warning about input made an error."""
        later = self.final_checks
        return self._replace(
            diagnostics=strictly(self.diagnostics),
            final_checks=lambda matched: strictly(later(matched)),
        )

    def rest(self) -> BaselineRemainder | None:
        """Return what is left of the baseline, once all responses are read; None without one."""
        matches = self.result_counts.matches
        if self.baseline is None or matches is None:
            return None
        return remainder_of(self.baseline, matches, self.policies)

    def all_diagnostics(self) -> tuple[Diagnostic, ...]:
        """Return all diagnostics about the inputs, once all responses are read."""
        return (*self.diagnostics, *self.final_diagnostics())

    def final_diagnostics(self) -> tuple[Diagnostic, ...]:
        """Return the diagnostics that are only known when all responses are read."""
        if not self.applied:
            return ()
        return self.final_checks(self.resource_count - self.result_counts.unmatched)


# A document while it is written: what a format of `apply` makes of a run, response by response.
#
# Several formats need the same responses, which can be read once. So a format does not pull them:
# `api.apply` gives it each response as it comes. Other processes can render parts of a run, which
# are joined here.

Lists: TypeAlias = Mapping[str, Iterable[str]]
"""What follows on the responses, in lists by name."""


class StreamingDocument(NamedTuple):
    """One document: its head, the text of each response, its tail, in that order."""

    row: Callable[[EngineResponse], str]
    """Returns the text of a response, "" for nothing.

    Of a part of a run it raises NotStreamable where that depends on responses of other parts.
    """
    tail: Callable[[Lists], Iterable[str]]
    """What follows when all responses have been read, and the run has all its counts.

    It is given `lists`, or those of all parts of a run: of these the ones that have entries.
    """
    head: Callable[[], Iterable[str]] = lambda: ()
    lists: Mapping[str, list[str]] = MappingProxyType({})
    """What a tail needs of the responses, by name: texts of one line, added while they are read."""
    lead: str = ""
    """What comes before the first text that is not empty."""
    skipped: int = 0
    """How many characters of that first text are left out: the separator of two of them."""
    joined: Callable[[Iterable[str]], Iterable[str]] = lambda pieces: pieces
    """Returns the text of all responses, given the texts of all parts in order."""
    counted: Callable[[], str] = lambda: ""
    """Returns the text of responses that a part has only counted so far, for `joined`."""


BeginDocument: TypeAlias = Callable[[Run, RenderOptions], StreamingDocument]
"""Begins a document. Nothing is read of the responses yet."""


class DocumentSet(NamedTuple):
    """The documents that are written of one run, in the formats that are chosen."""

    formats: int
    begin: Callable[[Run], Sequence[StreamingDocument]]
    """Called for a run or a part of it."""
