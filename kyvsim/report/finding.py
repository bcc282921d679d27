"""One result for all formats: with the same rule name, message and position everywhere.

A format selects what it shows, and the syntax. It never computes a position or a name.
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
    compile_rows,
    identity,
    row_title,
    silent_rows,
    title,
)
from kyvsim.report.run import Run
from kyvsim.report.style import RenderOptions, safe_line, safe_text

WEIGHTS = MappingProxyType(
    {"fail": Severity.ERROR, "error": Severity.ERROR, "warn": Severity.WARNING}
)
"""The severities of statuses in reports; others are `info`."""


class Finding(NamedTuple):
    """One result of a rule on an object.

    Names and texts are exactly Kyverno's; properties that start with `shown_` escape control
    characters and those that change the direction of text.
    """

    row: Row
    document: Document | None
    """The manifest of the object; None if it is not in a file."""
    location: Location | None
    """The field that failed, or the object; None without a manifest."""
    reasons: tuple[ReportedReason, ...] = ()
    """Why it failed, if requested: the first reason is at `location`."""

    @property
    def rule_location(self) -> Location:
        """The position of the rule; for an autogen rule, that of its source rule."""
        return rule_place(self.row)

    @property
    def place(self) -> Location:
        """`location`, or that of the rule: for formats that need a position."""
        return self.location or self.rule_location

    @property
    def end(self) -> Location | None:
        """The exclusive end of the marked part of the line; None if the line is unknown."""
        at, document = self.location, self.document
        if at is None or document is None or not at.line:
            return None
        excerpt = excerpt_of(document.line(at.line), at.column)
        return at._replace(column=at.column + len(excerpt.meant)) if excerpt else None

    @property
    def is_known(self) -> bool:
        """Whether it is a failure in the baseline of the run."""
        return self.row.result.baseline is BaselineState.UNCHANGED

    @property
    def weight(self) -> Severity:
        """Its severity in reports: `info` for known failures and for other statuses."""
        return Severity.INFO if self.is_known else WEIGHTS.get(self.row.status, Severity.INFO)

    @property
    def shown_title(self) -> str:
        """The object as `namespace/Kind/name`."""
        return safe_line(title(self.row.resource))

    @property
    def shown_name(self) -> str:
        """`policy / rule`, or only the policy if its rule has no name."""
        return safe_line(row_title(self.row))

    @property
    def shown_check(self) -> str:
        """`policy/rule`, without blanks, as an identifier for programs."""
        return safe_line("/".join(filter(None, (self.row.policy.key, self.row.result.rule.name))))

    @property
    def shown_text(self) -> str:
        """The message, or why a rule was skipped, and the note on a separate line."""
        result = self.row.result
        return safe_text("\n".join(filter(None, (result.message or result.own, result.note))))

    @property
    def shown_summary(self) -> str:
        """The same after the title of its object."""
        return f"{self.shown_title}: {self.shown_text or self.row.status}"


def finding_of(
    row: Row, response: EngineResponse, explain: Explain, *, with_reasons: bool = False
) -> Finding:
    """Return the finding of a row.

    If its result has no path of the failed field, the failure is explained, which evaluates the
    rule again. With `with_reasons`, it is always explained.
    """
    document = response.document
    at = failed_place(document, row.result.path) if row.result.path else None
    if row.status not in WEIGHTS or (at is not None and not with_reasons):
        return Finding(row, document, at or resource_place(response))

    if not with_reasons:
        seen_at = explained_place(row, response, explain)
        return Finding(row, document, seen_at or resource_place(response))
    reasons = failure_reasons(row, response, explain)
    seen_at = next((reason.seen_at for reason in reasons if reason.seen_at), None)
    return Finding(row, document, at or seen_at or resource_place(response), reasons)


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
    """Return a function that returns a finding's fingerprint, which is kept when lines move.

    It is a hash of rule, object, file and failed path; equal ones are numbered to be unique.
    """
    from hashlib import sha256  # noqa: PLC0415 — loads OpenSSL, which few runs need

    numbers: Counter[bytes] = Counter()

    def fingerprint(finding: Finding) -> str:
        policy, result, _, resource = finding.row
        parts = [policy.kind, policy.key, result.rule.name, result.path]
        file = finding.document.locate(()).file if finding.document else ""
        parts += [file, *identity(resource).values()]
        own = sha256(json.dumps(parts).encode()).digest()[:16]
        numbers[own] += 1
        if numbers[own] > 1:
            own = sha256(own + b"%d" % numbers[own]).digest()[:16]
        return own.hex()

    return fingerprint
