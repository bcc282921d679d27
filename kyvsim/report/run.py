"""A run of policies over resources: baseline, counts, streamed documents, and exit status."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from kyvsim.kubernetes.objects import Json, ObjectKey, Path, object_key
from kyvsim.model.diagnostic import Diagnostic, Severity, strictly
from kyvsim.model.policy import SEVERITIES, Policy, Rule, Schedule
from kyvsim.model.release import NEWEST
from kyvsim.model.result import (
    Baseline,
    BaselineState,
    EngineResponse,
    Fact,
    KnownFailure,
    PassingPolicies,
    PolicyPasses,
    PolicyResponse,
    RuleStatus,
    RunEnding,
    RunVerdict,
    report_message,
)
from kyvsim.report.diagnostics import Explain
from kyvsim.report.object_text import yaml_lines
from kyvsim.report.results import Summary, identity_of, key_title, only_warns, severity_of
from kyvsim.report.style import RenderOptions, TextLayout, counted

if TYPE_CHECKING:
    from datetime import datetime

    from kyvsim.model.explanation import ObjectExplanation


_FAULTS: Final = frozenset({RuleStatus.FAIL, RuleStatus.ERROR, RuleStatus.WARN})


class BaselineMatches:
    """The failures and objects of a baseline that a run matched."""

    def __init__(self) -> None:
        self.failures: dict[KnownFailure, int] = {}
        """How often each occurred."""
        self.objects: set[ObjectKey] = set()
        self.spread: set[KnownFailure] = set()
        """Failures that occurred in several parts of the run."""

    def add(self, other: "BaselineMatches") -> None:
        """Add the matches of another part of the run."""
        self.spread |= other.spread
        for failure, number in other.failures.items():
            if failure in self.failures:
                self.spread.add(failure)
            self.failures[failure] = self.failures.get(failure, 0) + number
        self.objects |= other.objects

    def is_certain(self, baseline: Baseline | None) -> bool:
        """Return whether the parts marked the failures as the whole run would have.

        If a failure occurs more often than in the baseline, its first occurrences are known, but a
        part does not know about those in earlier parts.
        """
        if baseline is None:
            return True
        entries = baseline.entries
        return all(self.failures[key] <= entries[key].number for key in self.spread)


class FailureMarker:
    """Marks failures of responses as new or unchanged; without a baseline, all are unchanged."""

    def __init__(
        self, baseline: Baseline | None, matches: BaselineMatches, *, audit_warn: bool
    ) -> None:
        self._baseline = baseline
        self._met = matches
        self._audit_warn = audit_warn
        entries = baseline.entries if baseline else ()
        self._objects = frozenset(failure.object for failure in entries)

    def mark(self, response: EngineResponse) -> EngineResponse:
        """Return a response with its failures marked; the same object if there are none."""
        key = object_key(response.trigger)
        if key in self._objects:
            self._met.objects.add(key)
        marked = tuple(
            self._marked(answer, response, key) if isinstance(answer, PolicyResponse) else answer
            for answer in response.answers
        )
        if all(new is old for new, old in zip(marked, response.answers, strict=True)):
            return response
        return response._replace(answers=marked)

    def _marked(
        self, answer: PolicyResponse, response: EngineResponse, key: ObjectKey
    ) -> PolicyResponse:
        if not any(result.status in _FAULTS for result in answer.results):
            return answer
        labels = response.namespace_labels or {}
        warns = only_warns(answer, labels, audit_warn=self._audit_warn)
        results = list(answer.results)
        for index, result in enumerate(results):
            if result.status not in _FAULTS:
                continue
            is_warning = warns and result.status is RuleStatus.FAIL
            status = (RuleStatus.WARN if is_warning else result.status).value
            message = report_message(result, status) if result.properties else result.message
            failure = KnownFailure(
                policy=answer.policy.key,
                rule=result.rule.name,
                object=key,
                result=status,
                path=result.path,
                message="" if result.path else message,
            )
            if self._is_known(failure):
                note = "; ".join(filter(None, (result.note, "known: in the baseline")))
                results[index] = result._replace(baseline=BaselineState.UNCHANGED, note=note)
            else:
                results[index] = result._replace(baseline=BaselineState.NEW)
        return answer._replace(results=tuple(results))

    def _is_known(self, failure: KnownFailure) -> bool:
        known = self._baseline.entries.get(failure) if self._baseline else None
        if self._baseline and known is None:
            return False
        number = self._met.failures[failure] = self._met.failures.get(failure, 0) + 1
        return known is None or number <= known.number


_HEAD = """\
# Known failures: `kyvsim apply --baseline` accepts them, and fails only for new ones.
# Written by `kyvsim apply --write-baseline`: one entry for each failure, sorted.
apiVersion: kyvsim/v1
kind: Baseline
"""


def baseline_text(failures: Mapping[KnownFailure, int]) -> Iterator[str]:
    """Yield the baseline file of failures with their counts, one entry at a time, sorted."""
    yield _HEAD
    yield "failures:\n" if failures else "failures: []\n"
    for failure in sorted(failures):
        # In the usual reading order.
        resource = {name: text for name, text in identity_of(failure.object).items() if text}
        fields = {
            "policy": failure.policy,
            "rule": failure.rule,
            "resource": resource,
            "result": failure.result,
            "path": failure.path,
            "message": "" if failure.path else failure.message,
            "count": failures[failure] if failures[failure] > 1 else None,
        }
        lead = "- "
        for name, value in fields.items():
            if value or name in {"policy", "resource", "result"}:
                yield "\n".join([*yaml_lines({name: value}, lead, 2), ""])
                lead = "  "


class BaselineRemainder(NamedTuple):
    """The failures of a baseline after a run, with their counts."""

    matched: Mapping[KnownFailure, int]
    """Known failures that occurred."""
    stale: Mapping[KnownFailure, int]
    """Failures that no longer occur, although the policy was evaluated on the object."""
    not_evaluated: Mapping[KnownFailure, int]
    """Failures of policies or objects that the run did not evaluate."""


def remainder_of(
    baseline: Baseline, matches: BaselineMatches, policies: Iterable[Policy]
) -> BaselineRemainder:
    """Return which failures of a baseline occurred, are stale, or were not evaluated."""
    keys = {policy.key for policy in policies}
    matched: dict[KnownFailure, int] = {}
    stale: dict[KnownFailure, int] = {}
    not_evaluated: dict[KnownFailure, int] = {}
    for failure, entry in baseline.entries.items():
        present = min(matches.failures.get(failure, 0), entry.number)
        evaluated = failure.object in matches.objects and failure.policy in keys
        missing = stale if evaluated else not_evaluated
        if present:
            matched[failure] = present
        if present < entry.number:
            missing[failure] = entry.number - present
    return BaselineRemainder(matched, stale, not_evaluated)


def stale_diagnostics(baseline: Baseline, rest: BaselineRemainder) -> Iterator[Diagnostic]:
    """KV093: a failure of the baseline that no longer occurs, in the file's order."""
    for failure, number in rest.stale.items():
        rule = "/".join(filter(None, (failure.policy, failure.rule)))
        entry = baseline.entries[failure]
        fewer = f" ({number} of {entry.number})" if entry.number > 1 else ""
        named = key_title(failure.object)
        text = f"stale entry: `{rule}` no longer gives {failure.result} for `{named}`{fewer}"
        way_out = f"`--baseline {baseline.file} --write-baseline {baseline.file}` removes it"
        yield Diagnostic("KV093", Severity.WARNING, f"{text}: {way_out}", entry.place)


RuleKey: TypeAlias = tuple[str, str, str, Path]
"""Kind and key of a policy, name and path of a rule; autogen rules have their source's path."""

_STATUSES: Final = MappingProxyType({name: place for place, name in enumerate(Summary().as_dict())})
"""The index of each status in the counts."""
_MOST_GROUPS: Final = 10_000
"""Number of groups of results after which they are counted by rule."""


class ResultCounts:
    """Counts of one run; a new count needs a field here and a text in `run_ending`."""

    def __init__(self, *, audit_warn: bool = False) -> None:
        self._audit_warn = audit_warn
        self._by_rule: dict[RuleKey, list[int]] = {}
        # Many objects share the passes of policies, so these are counted together.
        self._passes: dict[tuple[PolicyPasses, ...], int] = {}
        self._results: dict[tuple[Policy, Rule, str], list[int]] = {}
        self.unchecked = 0
        """Number of rules that could not evaluate all of an object."""
        self.unmatched = 0
        """Resources that no rule matched."""
        self.unstable = 0
        """Policies that change an object again, or fail, when their rules run twice."""
        self.known = {"fail": 0, "warn": 0, "error": 0}
        """Number of results by status that are in the baseline."""
        self.known_failures: dict[tuple[str, str], int] = {}
        """Number of failures in the baseline by the kind and key of the policy."""
        self.severities: dict[str, int] = {}
        """Number of failures by severity of the policy, if the policies are not available."""
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
            number = self._results.get(group)
            if number is None:
                number = self._results[group] = [0]
            number[0] += 1
            if result.baseline is BaselineState.UNCHANGED:
                self.known[word] += 1
                if status is RuleStatus.FAIL:
                    key = policy.kind, policy.key
                    self.known_failures[key] = self.known_failures.get(key, 0) + 1
            self.unchecked += bool(result.unchecked)

    def _settle(self) -> None:
        for (policy, rule, status), (number,) in self._results.items():
            self.count((policy.kind, policy.key, rule.name, rule.path), status, number)
        # Many groups contain the same passes of a policy: merge these first.
        numbers: Counter[PolicyPasses] = Counter()
        for passes, number in self._passes.items():
            for policy_passes in passes:
                numbers[policy_passes] += number
        for together, number in numbers.items():
            policy = together.policy
            for rule in (result.rule for result in together.results):
                self.count((policy.kind, policy.key, rule.name, rule.path), "pass", number)
        self._passes.clear()
        self._results.clear()

    def count(self, rule: RuleKey, status: str, number: int = 1) -> None:
        """Count results of a rule with one status."""
        counts = self._by_rule.get(rule)
        if counts is None:
            counts = self._by_rule[rule] = [0] * len(_STATUSES)
        counts[_STATUSES[status]] += number

    def closed(self) -> "ResultCounts":
        """Return the counts in a form that can be sent to another process."""
        self._settle()
        return self

    def add(self, other: "ResultCounts") -> None:
        """Add the counts of another part of the run."""
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
        """Number of results in the baseline."""
        return sum(self.known.values())

    def summary(self) -> Summary:
        """Return the number of results so far by status."""
        numbers = self.by_rule().values()
        return Summary(*map(sum, zip(*numbers, strict=True))) if numbers else Summary()

    def by_rule(self) -> dict[RuleKey, Summary]:
        """Return the number of results by status for each rule with results."""
        self._settle()
        return {rule: Summary(*counts) for rule, counts in self._by_rule.items()}


class ExitTerms(NamedTuple):
    """Options that affect the exit status."""

    warn_exit_code: int = 0
    warn_no_pass: bool = False
    fail_on: str = ""
    """The lowest severity of policies whose failures count; "" if all count."""


class RenderedRun(NamedTuple):
    """All responses of a run as rendered in the chosen formats."""

    pieces: Sequence[Iterable[str]]
    """The text of each format; that of the parts of a run can be read several times."""
    lists: Sequence[Mapping[str, Iterable[str]]]
    """For each format, the texts for its tail in named lists; only lists with entries."""


class NotStreamable(Exception):  # noqa: N818 — not an error: rendering continues in one process
    """Parts of a run cannot be rendered separately, for the given reason."""


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
    """The keys of the exceptions, if all of them are known here."""
    terms: ExitTerms = ExitTerms()
    audit_warn: bool = False
    schedules: tuple[Schedule, ...] = ()
    """The schedules of policies that delete objects."""
    now: "datetime | None" = None
    """The time of the run, if it was given; only then does the output contain times."""
    checks_idempotence: bool = False
    """Whether responses include the changes of a second evaluation."""
    applied: bool = True
    """False if a file that all results depend on was rejected, so that there are no results."""
    final_checks: Callable[[int], tuple[Diagnostic, ...]] = lambda _matched: ()
    """Diagnostics known when all responses are read, given the number of matched resources."""
    skip_reasons: Callable[[], tuple[Diagnostic, ...]] = tuple
    """Explains a run whose results were all skipped."""
    explained: "Callable[[EngineResponse], ObjectExplanation | None]" = lambda _response: None
    """Explains the last response that was read; None if it cannot be explained."""
    left_out: tuple[Diagnostic, ...] = ()
    """Documents in folders that are neither policies nor manifests, with their positions."""
    mutates: bool = True
    """Whether policies can change objects."""
    is_part: bool = False
    """Whether this is a part of a run; its responses must not depend on those of other parts."""
    explain: Explain = lambda _response, _row: ()
    """Explains a result by evaluating the rule again, on that object alone."""
    rendered: RenderedRun | None = None
    """The text of the responses if other processes rendered them; then `responses` is empty."""
    baseline: Baseline | None = None
    """The known failures, from a file."""
    release: str = NEWEST.name
    """The release of Kyverno that is emulated."""
    deprecated: tuple[str, ...] = ()
    """What that release reports about deprecated kinds: a line for each document."""

    def strictly(self) -> "Run":
        """Return the run with every warning about input as an error."""
        later = self.final_checks
        return self._replace(
            diagnostics=strictly(self.diagnostics),
            final_checks=lambda matched: strictly(later(matched)),
        )

    def rest(self) -> BaselineRemainder | None:
        """Return the rest of the baseline when all responses are read; None without a baseline."""
        matches = self.result_counts.matches
        if self.baseline is None or matches is None:
            return None
        return remainder_of(self.baseline, matches, self.policies)

    def all_diagnostics(self) -> tuple[Diagnostic, ...]:
        """Return all diagnostics about the inputs when all responses are read."""
        return (*self.diagnostics, *self.final_diagnostics())

    def final_diagnostics(self) -> tuple[Diagnostic, ...]:
        """Return the diagnostics that are only known when all responses are read."""
        if not self.applied:
            return ()
        summary = self.result_counts.summary()
        skips = summary.skipped > 0 and summary == Summary(skipped=summary.skipped)
        found = self.final_checks(self.resource_count - self.result_counts.unmatched)
        return (*found, *self.skip_reasons()) if skips else found


# A document that a format of `apply` writes, response by response.
# Several formats need the same responses, which can be read once. So a format does not pull them:
# `api.apply` passes each response to it. Other processes can render parts of a run, which are
# joined here.

Lists: TypeAlias = Mapping[str, Iterable[str]]
"""Texts for the tail that were collected from the responses, in named lists."""


class StreamingDocument(NamedTuple):
    """One document: its head, the text of each response, its tail, in that order."""

    row: Callable[[EngineResponse], str]
    """Returns the text of a response, or "". For a part of a run, it is what `joined` reads; raises
    NotStreamable if the text depends on responses of other parts.
    """
    tail: Callable[[Lists], Iterable[str]]
    """Returns the end of the document, when all responses are read and all counts are known. Its
    argument is `lists`, or the non-empty lists of all parts of a run.
    """
    head: Callable[[], Iterable[str]] = lambda: ()
    lists: Mapping[str, list[str]] = MappingProxyType({})
    """Texts that the tail needs from the responses, one line each, by name; filled by `row`."""
    lead: str = ""
    """Text before the first text that is not empty."""
    skipped: int = 0
    """Number of characters to omit from that first text: the separator of two texts."""
    joined: Callable[[Iterable[str]], Iterable[str]] = lambda pieces: pieces
    """Returns the text of all responses, given the texts of all parts in order."""
    counted: Callable[[], str] = lambda: ""
    """Returns the text of responses that a part has only counted, for `joined`."""


def complete_lines(pieces: Iterable[str]) -> Iterator[str]:
    """Yield the lines of a text in pieces, which need not end at line ends."""
    rest = ""
    for piece in pieces:
        *lines, rest = f"{rest}{piece}".split("\n")
        yield from lines


BeginDocument: TypeAlias = Callable[[Run, RenderOptions], StreamingDocument]
"""Begins a document, without reading responses."""


class DocumentSet(NamedTuple):
    """The documents to write for a run, in the chosen formats."""

    formats: int
    begin: Callable[[Run], Sequence[StreamingDocument]]
    """Called for a run or a part of it."""


def ending_line(ending: RunEnding) -> str:
    """Return the closing line: verdict, reasons and exit status."""
    return f"{ending.verdict.value}: {' · '.join(_ending_texts(ending))}"


def _ending_texts(ending: RunEnding, seconds: float | None = None) -> list[str]:
    texts = [fact.text for fact in ending.ranked if fact.text]
    texts += [f"Kyverno {ending.release}"] if ending.release else []
    texts += [] if seconds is None else [f"{seconds:.1f} s"]
    return [*texts, f"exit status {ending.status}"]


def ending_json(ending: RunEnding) -> dict[str, object]:
    """Return the verdict, exit status, counts by name, and closing line as JSON data."""
    return {
        "verdict": ending.verdict.value,
        "exitStatus": ending.status,
        **({"kyverno": ending.release} if ending.release else {}),
        "counts": {fact.key: fact.number for fact in ending.facts},
        "text": ending_line(ending),
    }


def error_fact(diagnostics: Iterable[Diagnostic]) -> Fact:
    """Return the number of errors about inputs; each is also reported individually."""
    errors = [diagnostic for diagnostic in diagnostics if diagnostic.severity is Severity.ERROR]
    files = {error.location.file if error.location else "" for error in errors}
    text = f"{counted(len(errors), 'error')} in {counted(len(files), 'input')}"
    return verdict_fact("inputErrors", len(errors), text, RunVerdict.INCOMPLETE)


def warning_fact(diagnostics: Iterable[Diagnostic]) -> Fact:
    """Return the number of warnings about inputs."""
    warnings = sum(diagnostic.severity is Severity.WARNING for diagnostic in diagnostics)
    return info_fact("warnings", warnings, counted(warnings, "warning"))


def info_fact(key: str, number: int, text: str) -> Fact:
    """Return a fact that does not affect the exit status; it has no text if the number is 0."""
    return Fact(key, number, text if number else "")


def left_out_fact(number: int) -> Fact:
    """Return the number of ignored documents in folders: neither policies nor manifests."""
    return info_fact("leftOut", number, f"{counted(number, 'document')} ignored (--show-ignored)")


def verdict_fact(key: str, number: int, text: str, verdict: RunVerdict = RunVerdict.FAILED) -> Fact:
    """Return a fact that gives a run this verdict, unless its number is 0."""
    return Fact(key, number, text, verdict) if number else Fact(key, number, "")


_STYLES: Mapping[RunVerdict, str] = {
    RunVerdict.INCOMPLETE: "error",
    RunVerdict.FAILED: "fail",
    RunVerdict.WARNED: "warn",
    RunVerdict.NOTHING: "warn",
    RunVerdict.PASSED: "pass",
}


def closing_lines(
    ending: RunEnding, layout: TextLayout, seconds: float | None = None
) -> Iterator[str]:
    """Yield the closing line, wrapped between facts.

    `seconds` is the duration of the run; None if outputs of runs are to be comparable.
    """
    name = ending.verdict.value
    start, line = f"{layout.paint(_STYLES[ending.verdict], name)}: ", ""
    for fact in _ending_texts(ending, seconds):
        longer = f"{line} · {fact}" if line else fact
        if line and len(longer) > layout.width - len(name) - len(": "):
            yield f"{start}{line} ·\n"
            start, line = " " * (len(name) + 2), fact
        else:
            line = longer
    yield f"{start}{line}\n"


def run_ending(run: Run) -> RunEnding:
    """Return the result of a run; input errors outrank failures, which outrank warnings.

    All responses must have been read.

    upstream: cmd/cli/kubectl-kyverno/commands/apply/command.go `exit`
    """
    counts, terms = run.result_counts, run.terms
    summary = counts.summary().less(counts.known)
    diagnostics = run.all_diagnostics()
    results = counted(sum(counts.summary()), "result")
    lenient = _lenient(run)
    failed = summary.failed - lenient
    text = f"{counted(counts.unstable, 'mutation')} not idempotent"
    idempotence = verdict_fact("notIdempotent", counts.unstable, text)
    if run.checks_idempotence and not counts.unstable:
        idempotence = Fact("notIdempotent", 0, "all mutations are idempotent")
    text = f"{counted(summary.warned, 'result')} with status warn" if summary.warned else ""
    heavy = RunVerdict.WARNED if summary.warned and terms.warn_exit_code else RunVerdict.PASSED
    below = f"{lenient} of {results} failed below --fail-on {terms.fail_on}"
    unmatched = f" ({counts.unmatched} unmatched)" if counts.unmatched else ""
    resources = f"{counted(run.resource_count, 'resource')}{unmatched}" if run.applied else ""
    unchecked = f"{counted(counts.unchecked, 'check')} incomplete"
    facts = (
        error_fact(diagnostics),
        Fact("notApplied", int(not run.applied), "" if run.applied else "nothing was evaluated"),
        verdict_fact("failed", failed, f"{failed} of {results} failed"),
        *((info_fact("belowFailOn", lenient, below),) if terms.fail_on else ()),
        verdict_fact("errors", summary.errors, f"{summary.errors} of {results} ended in error"),
        idempotence,
        Fact("warned", summary.warned, text, heavy),
        *_baseline_facts(run),
        *(_checked(run, summary) if run.applied else ()),
        Fact("resources", run.resource_count, resources),
        Fact("unmatched", counts.unmatched, ""),
        info_fact("unchecked", counts.unchecked, unchecked),
        left_out_fact(len(frozenset(run.left_out))),
        warning_fact(diagnostics),
    )
    return RunEnding(facts, terms.warn_exit_code, run.release)


def _lenient(run: Run) -> int:
    """Return the number of failures below --fail-on; policies without severity always count."""
    if not run.terms.fail_on:
        return 0
    counts = run.result_counts
    lesser = SEVERITIES[SEVERITIES.index(run.terms.fail_on) + 1 :]
    lesser_policies = (policy for policy in run.policies if severity_of(policy) in lesser)
    policies = {(policy.kind, policy.key) for policy in lesser_policies}
    by_rule = counts.by_rule().items()
    failed = sum(summary.failed for rule, summary in by_rule if rule[:2] in policies)
    shown = sum(counts.severities.get(severity, 0) for severity in lesser)
    return shown + failed - sum(counts.known_failures.get(policy, 0) for policy in policies)


def _baseline_facts(run: Run) -> Iterator[Fact]:
    if run.result_counts.matches is None:
        return
    covered = run.result_counts.covered
    yield info_fact("inBaseline", covered, f"{counted(covered, 'failure')} in the baseline")
    rest = run.rest()
    if rest is not None:
        aside = sum(rest.not_evaluated.values())
        text = f"{counted(aside, 'failure')} of the baseline not evaluated"
        yield info_fact("baselineNotLookedAt", aside, text)


def _checked(run: Run, summary: Summary) -> Iterator[Fact]:
    skipped = f", {summary.skipped} skipped" if summary.skipped else ""
    bad = summary.failed + summary.errors + run.result_counts.unstable
    good = "" if bad else f"{summary.passed} passed{skipped}" if summary.passed else ""
    yield Fact("passed", summary.passed, good)
    if run.terms.warn_no_pass and run.terms.warn_exit_code and not summary.passed:
        yield Fact("nonePassed", 1, "nothing passed", RunVerdict.WARNED)
    if not (bad or summary.passed or summary.warned or run.result_counts.covered):
        skipped = f"{summary.skipped} of {counted(summary.skipped, 'result')} skipped"
        text = skipped if summary.skipped else "no rule matched"
        yield Fact("nothingChecked", 1, text, RunVerdict.NOTHING)


FIGURES: Final = MappingProxyType(
    {"notIdempotent": "not idempotent", "inBaseline": "in the baseline"}
)
"""Labels of counts whose names are not their labels."""


def figures(run: Run) -> dict[str, int]:
    """Return the counts by name; those of idempotence and the baseline only if checked."""
    unstable = {"notIdempotent": run.result_counts.unstable} if run.checks_idempotence else {}
    known = {"inBaseline": run.result_counts.covered} if run.result_counts.matches else {}
    return {**run.result_counts.summary().as_dict(), **unstable, **known}


def counts_line(run: Run) -> str:
    """Return the counts as one line."""
    return ", ".join(f"{FIGURES.get(name, name)}: {n}" for name, n in figures(run).items())
