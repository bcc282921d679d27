"""Failures that are known from a baseline, distinguished while the responses of a run stream by."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from kyvsim.kubernetes.objects import Json, ObjectKey, object_key
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.policy import Policy
from kyvsim.model.result import (
    Baseline,
    BaselineState,
    EngineResponse,
    KnownFailure,
    PolicyResponse,
    RuleStatus,
    report_message,
)
from kyvsim.report.object_text import yaml_lines
from kyvsim.report.results import identity_of, key_title, only_warns

_FAULTS: Final = frozenset({RuleStatus.FAIL, RuleStatus.ERROR, RuleStatus.WARN})
_NOTE: Final = "known: in the baseline"


class BaselineMatches:
    """The failures and objects of a baseline that a run matched."""

    def __init__(self) -> None:
        self.failures: dict[KnownFailure, int] = {}
        """How often each occurred."""
        self.objects: set[ObjectKey] = set()
        self.spread: set[KnownFailure] = set()
        """Failures that occurred in several parts of the run."""

    def add(self, other: "BaselineMatches") -> None:
        """Add the matches of a part of the run."""
        self.spread |= other.spread
        for failure, number in other.failures.items():
            if failure in self.failures:
                self.spread.add(failure)
            self.failures[failure] = self.failures.get(failure, 0) + number
        self.objects |= other.objects

    def is_certain(self, baseline: Baseline | None) -> bool:
        """Return whether parts marked the failures as the whole run would have.

        If a failure occurs more often than in the baseline, its first occurrences are known, and
        a part does not know those in earlier parts.
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
        """Return a response with its failures marked; itself where there are none."""
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
        """Return a policy's response with its failures marked; the same one if there are none."""
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
                note = "; ".join(filter(None, (result.note, _NOTE)))
                results[index] = result._replace(baseline=BaselineState.UNCHANGED, note=note)
            else:
                results[index] = result._replace(baseline=BaselineState.NEW)
        return answer._replace(results=tuple(results))

    def _is_known(self, failure: KnownFailure) -> bool:
        """Return whether a failure is known, and count it."""
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
    """Yield the file of failures with their numbers, an entry at a time, sorted."""
    yield _HEAD
    yield "failures:\n" if failures else "failures: []\n"
    for failure in sorted(failures):
        # In the order in which people read them.
        resource = {name: text for name, text in identity_of(failure.object).items() if text}
        fields: dict[str, Json] = {
            "policy": failure.policy,
            **({"rule": failure.rule} if failure.rule else {}),
            "resource": resource,
            "result": failure.result,
        }
        if failure.path or failure.message:
            fields |= {"path": failure.path} if failure.path else {"message": failure.message}
        if failures[failure] > 1:
            fields["count"] = failures[failure]
        lead = "- "
        for name, value in fields.items():
            yield "\n".join([*yaml_lines({name: value}, lead, 2), ""])
            lead = "  "


# What of a baseline a run has not met, and what is left of it.
#
# Codes: KV093 a failure of the baseline that occurs no more.


class BaselineRemainder(NamedTuple):
    """A baseline after a run, each failure with how many of it there are."""

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
    """Yield a warning for each failure of a baseline that occurs no more, in the file's order."""
    for failure, number in rest.stale.items():
        rule = "/".join(filter(None, (failure.policy, failure.rule)))
        entry = baseline.entries[failure]
        fewer = f" ({number} of {entry.number})" if entry.number > 1 else ""
        named = key_title(failure.object)
        text = f"stale entry: `{rule}` no longer gives {failure.result} for `{named}`{fewer}"
        way_out = f"`--baseline {baseline.file} --write-baseline {baseline.file}` removes it"
        yield Diagnostic("KV093", Severity.WARNING, f"{text}: {way_out}", entry.place)
