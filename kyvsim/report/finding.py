"""One result as every format shows it: the same rule name, message and place everywhere.

A format selects what it shows, and its syntax. It never computes a place or a name by itself.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.model.diagnostic import Severity
from kyvsim.model.result import BaselineState, EngineResponse, ReportedReason
from kyvsim.model.source import Document, Location
from kyvsim.report.diagnostics import (
    Explain,
    excerpt_of,
    explained_place,
    failed_place,
    failure_reasons,
    resource_place,
    rule_place,
)
from kyvsim.report.results import (
    Row,
    category_of,
    compile_rows,
    identity,
    rule_title,
    severity_of,
    silent_rows,
    title,
)
from kyvsim.report.run import Run
from kyvsim.report.style import RenderOptions, safe_line, safe_text

_WEIGHTS = MappingProxyType(
    {"fail": Severity.ERROR, "error": Severity.ERROR, "warn": Severity.WARNING}
)


class Finding(NamedTuple):
    """One result of a rule on an object.

    Names and texts are exactly Kyverno's; properties that start with `shown_` escape control
    characters and those that change the direction of text.
    """

    row: Row
    document: Document | None
    """The manifest of the object; None where no file holds it."""
    location: Location | None
    """The field that failed, or else the object; None without a manifest."""
    reasons: tuple[ReportedReason, ...] = ()
    """Why it failed, where that was requested: the first of them is at `location`."""

    @property
    def policy(self) -> str:
        """The name of the policy, behind its namespace if it has one."""
        return self.row.policy.key

    @property
    def rule(self) -> str:
        """The name of the rule in Kyverno's reports, such as `autogen-memory-limit`."""
        return self.row.result.rule.name

    @property
    def result(self) -> str:
        """The status: pass, fail, warn, error, skip, or none for a rule without a result."""
        return self.row.status

    @property
    def message(self) -> str:
        """Kyverno's message."""
        return self.row.result.message

    @property
    def note(self) -> str:
        """What kyvsim adds to it, or ""."""
        return self.row.result.note

    @property
    def path(self) -> str:
        """Where in the object a pattern failed, in Kyverno's notation, or ""."""
        return self.row.result.path

    @property
    def severity(self) -> str:
        """The severity that the policy gives itself, or ""."""
        return severity_of(self.row.policy)

    @property
    def category(self) -> str:
        """The category that the policy gives itself, or ""."""
        return category_of(self.row.policy)

    @property
    def rule_location(self) -> Location:
        """Where the rule is written; for one that autogen derived, the rule it comes from."""
        return rule_place(self.row)

    @property
    def place(self) -> Location:
        """`location`, or where the rule is written: for formats that need a place."""
        return self.location or self.rule_location

    @property
    def end(self) -> Location | None:
        """Where the marked part of the line ends, exclusive; None where the line is not known."""
        at, document = self.location, self.document
        if at is None or document is None or not at.line:
            return None
        excerpt = excerpt_of(document.line(at.line), at.column)
        return at._replace(column=at.column + len(excerpt.meant)) if excerpt else None

    @property
    def is_known(self) -> bool:
        """Whether it is a failure that the baseline of the run has."""
        return self.row.result.baseline is BaselineState.UNCHANGED

    @property
    def weight(self) -> Severity:
        """Its severity in reports: `info` for known failures, and for what did not fail."""
        return Severity.INFO if self.is_known else self.level_without_baseline

    @property
    def level_without_baseline(self) -> Severity:
        """`weight` without a baseline."""
        return _WEIGHTS.get(self.row.status, Severity.INFO)

    @property
    def shown_title(self) -> str:
        """The object as `namespace/Kind/name`."""
        return safe_line(title(self.row.resource))

    @property
    def shown_name(self) -> str:
        """`policy / rule`, or the policy alone where its rule has no name."""
        return safe_line(rule_title(self.policy, self.rule))

    @property
    def shown_check(self) -> str:
        """`policy/rule`, without blanks, as an identifier for programs."""
        return safe_line("/".join(filter(None, (self.policy, self.rule))))

    @property
    def shown_text(self) -> str:
        """The message, or why a rule was skipped without one, and the note on its own line."""
        message = self.message or self.row.result.own
        return safe_text("\n".join(filter(None, (message, self.note))))

    @property
    def shown_summary(self) -> str:
        """The same behind the object that it is about."""
        return f"{self.shown_title}: {self.shown_text or self.result}"


def finding_of(
    row: Row, response: EngineResponse, explain: Explain, *, with_reasons: bool = False
) -> Finding:
    """Return the finding of a row.

    If its result has no path of the failed field, the failure is explained, which evaluates the
    rule once more. `with_reasons` explains it in any case.
    """
    document = response.document
    at = failed_place(document, row.result.path) if row.result.path else None
    if row.status not in _WEIGHTS or (at is not None and not with_reasons):
        return Finding(row, document, at or resource_place(response))

    if not with_reasons:
        seen_at = explained_place(row, response, explain)
        return Finding(row, document, seen_at or resource_place(response))
    reasons = failure_reasons(row, response, explain)
    seen_at = next((reason.seen_at for reason in reasons if reason.seen_at), None)
    return Finding(row, document, at or seen_at or resource_place(response), reasons)


def compile_field_places(
    run: Run, options: RenderOptions
) -> Callable[[Row, EngineResponse], Location | None]:
    """Return a function that returns the failed field, with `options.detailed`, or None."""

    def field_place(row: Row, response: EngineResponse) -> Location | None:
        if not options.detailed:
            return None
        place = finding_of(row, response, run.explain).location
        return place if place != resource_place(response) else None

    return field_place


def compile_findings(
    run: Run, options: RenderOptions
) -> Callable[[EngineResponse], Iterator[Finding]]:
    """Return a function that yields the findings of a response that failed or have a note.

    With `options.detailed` it yields all. Rules without a result are last.
    """
    rows_of = compile_rows(audit_warn=run.audit_warn, hidden=options.hidden)

    def findings(response: EngineResponse) -> Iterator[Finding]:
        for row in (*rows_of(response), *silent_rows(response)):
            yield finding_of(row, response, run.explain)

    return findings


def compile_fingerprints() -> Callable[[Finding], str]:
    """Return a function that returns a fingerprint of a finding, which stays when lines move.

    It is made of rule, object, file and failed path; equal ones are numbered, so all are unique.
    """
    from hashlib import sha256  # noqa: PLC0415 — loads OpenSSL, which few runs need

    numbers: Counter[bytes] = Counter()

    def fingerprint(finding: Finding) -> str:
        parts = [finding.row.policy.kind, finding.policy, finding.rule, finding.path]
        file = finding.document.locate(()).file if finding.document else ""
        parts += [file, *identity(finding.row.resource).values()]
        own = sha256(json.dumps(parts).encode()).digest()[:16]
        numbers[own] += 1
        if numbers[own] > 1:
            own = sha256(own + b"%d" % numbers[own]).digest()[:16]
        return own.hex()

    return fingerprint
