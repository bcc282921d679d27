"""Rows as findings: what formats tell of them that put remarks beside the lines of a manifest.

Texts show characters that control or reorder what a terminal shows as visible escapes.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator
from types import MappingProxyType

from kyvsim.model.diagnostic import Severity
from kyvsim.model.result import BaselineState, EngineResponse
from kyvsim.model.source import Location
from kyvsim.report.look import Look
from kyvsim.report.places import failed_place, resource_place, rule_place
from kyvsim.report.run import Run
from kyvsim.report.style import safe_line, safe_text
from kyvsim.report.subject import identity, title
from kyvsim.report.summary import Row, Rows, compile_rows, silent_rows
from kyvsim.report.text_blocks import untold

_WEIGHTS = MappingProxyType(
    {"fail": Severity.ERROR, "error": Severity.ERROR, "warn": Severity.WARNING}
)


def compile_findings(run: Run, look: Look) -> Rows:
    """Return a function that yields the rows of a response that find fault, or have a note.

    With `look.detailed` it yields all. Rules without a result come last.
    """
    rows_of = compile_rows(audit_warn=run.audit_warn, untold=untold(look))

    def findings(response: EngineResponse) -> Iterator[Row]:
        yield from rows_of(response)
        yield from silent_rows(response)

    return findings


def is_known(row: Row) -> bool:
    """Return whether a row is a failure that the baseline of the run has."""
    return row.result.baseline is BaselineState.UNCHANGED


def weight(row: Row) -> Severity:
    """Return how much a row weighs: what finds no fault, or a known one, is information."""
    return Severity.INFO if is_known(row) else weight_by_itself(row)


def weight_by_itself(row: Row) -> Severity:
    """Return how much a row would weigh without a baseline."""
    return _WEIGHTS.get(row.status, Severity.INFO)


def place_of(row: Row, response: EngineResponse) -> Location:
    """Return the place that a finding is about: what failed, else its object, else its rule."""
    found = failed_place(response.document, row.result.path) if row.result.path else None
    return found or resource_place(response) or rule_place(row)


def name_of(row: Row) -> str:
    """Return `policy / rule`, or the policy alone where its rule has no name."""
    return safe_line(" / ".join(filter(None, (row.policy.key, row.result.rule.name))))


def check_of(row: Row) -> str:
    """Return `policy/rule`, a name without blanks, as programs want one."""
    return safe_line("/".join(filter(None, (row.policy.key, row.result.rule.name))))


def said_of(row: Row) -> str:
    """Return all that is said of a row: its message, and its note in a line of its own."""
    return safe_text("\n".join(filter(None, (row.result.message, row.result.note))))


def told_of(row: Row) -> str:
    """Return the same with the object that it is said of."""
    said = said_of(row) or row.status
    return f"{safe_line(title(row.resource))}: {said}"


def compile_fingerprints() -> Callable[[Row, EngineResponse], str]:
    """Return a function that gives a row a name that it keeps when lines move.

    It is made of the rule, the object, its file and the failing path. No two rows have the same:
    where they agree in all that, they are counted.
    """
    seen: Counter[bytes] = Counter()

    def fingerprint(row: Row, response: EngineResponse) -> str:
        place = resource_place(response)
        parts = [row.policy.kind, row.policy.key, row.result.rule.name, row.result.path]
        parts += [place.file if place else "", *identity(row.resource).values()]
        own = hashlib.sha256(json.dumps(parts).encode()).digest()[:16]
        seen[own] += 1
        if seen[own] > 1:
            own = hashlib.sha256(own + b"%d" % seen[own]).digest()[:16]
        return own.hex()

    return fingerprint
