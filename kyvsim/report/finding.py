"""One result for all formats: with the same rule name, message and position everywhere.

A format selects what it shows, and the syntax. It never computes a position or a name.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from types import MappingProxyType
from typing import Final, NamedTuple

from kyvsim.kubernetes.objects import Json
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
    digest,
    identity,
    row_title,
    silent_rows,
    title,
)
from kyvsim.report.run import Run, complete_lines
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


class Fingerprint(NamedTuple):
    """Identifies a finding, also when lines move. Equal ones are numbered: see `FindingWriter`."""

    object: str
    """A hash of the object and its file, of 16 characters."""
    own: str
    """A hash of rule, object, file and failed path, of 32 characters."""


def fingerprint_of(finding: Finding) -> Fingerprint:
    """Return the fingerprint of a finding."""
    policy, result, _, resource = finding.row
    file = finding.document.locate(()).file if finding.document else ""
    about = [file, *identity(resource).values()]
    parts = [policy.kind, policy.key, result.rule.name, result.path, *about]
    about_digest, whole = (digest(json.dumps(one).encode()) for one in (about, parts))
    return Fingerprint(about_digest[:16], whole[:32])


_APART: Final = "\x1e"
"""Separates the entries of an object; JSON never contains it."""
_BITS: Final = 1 << 26
"""The size of a set of hashes: false members are rare up to some millions of objects."""


class FindingWriter:
    """Writes JSON entries of findings with unique fingerprints, separated by commas.

    Equal fingerprints are numbered in the order of the run. Only findings on objects that occur
    several times can have equal ones, except those of one object. So when parts are joined, they
    are read twice: first to find these objects. Memory does not grow with the number of findings.
    """

    def __init__(
        self,
        run: Run,
        entries: Callable[[EngineResponse], Iterable[tuple[Finding, dict[str, object]]]],
        put: Callable[[dict[str, Json], str], None],
    ) -> None:
        """Store what yields the findings of a response with their data, and adds a fingerprint."""
        self._is_part = run.is_part
        self._entries = entries
        self._put = put
        self._numbers: Counter[str] = Counter()
        self.is_empty = True

    def row(self, response: EngineResponse) -> str:
        """Return the entries of a response; for a part of a run, a line for `joined`."""
        found = [(fingerprint_of(finding), data) for finding, data in self._entries(response)]
        self.is_empty = self.is_empty and not found
        texts = []
        for fingerprint, data in found:
            if self._is_part:
                self._put(data, fingerprint.own)
                texts.append(f"{''.join(fingerprint)}{json.dumps(data)}")
            else:
                self._put(data, _unique(fingerprint.own, self._numbers))
                texts.append(f",\n  {json.dumps(data)}")
        return f"{_APART.join(texts)}\n" if self._is_part and texts else "".join(texts)

    def joined(self, pieces: Iterable[str]) -> Iterator[str]:
        """Yield the entries of all parts; `pieces` is read twice."""
        objects = ({text[:16] for text in line} for line in self._lines(pieces))
        recurring = recurring_keys(chain.from_iterable(objects))
        for line in self._lines(pieces):
            own: Counter[str] = Counter()
            for text in line:
                key, fingerprint, entry = text[:16], text[16:48], text[48:]
                unique = _unique(fingerprint, self._numbers if key in recurring else own)
                if unique != fingerprint:
                    data = json.loads(entry)
                    self._put(data, unique)
                    entry = json.dumps(data)
                self.is_empty = False
                yield f",\n  {entry}"

    def _lines(self, pieces: Iterable[str]) -> Iterator[list[str]]:
        return (line.split(_APART) for line in complete_lines(pieces))


def _unique(fingerprint: str, numbers: Counter[str]) -> str:
    numbers[fingerprint] += 1
    number = numbers[fingerprint]
    if number == 1:
        return fingerprint
    return digest(bytes.fromhex(fingerprint) + b"%d" % number)[:32]


def recurring_keys(keys: Iterable[str]) -> set[str]:
    """Return the keys that occur several times, and a few others; takes 8 MB for any number."""
    bits, recurring = bytearray(_BITS // 8), set()
    for key in keys:
        byte, bit = divmod(hash(key) % _BITS, 8)
        if bits[byte] >> bit & 1:
            recurring.add(key)
        bits[byte] |= 1 << bit
    return recurring
