"""The results and changes of a run as an HTML page: ending, by rule, by object.

The objects with the worst results come first, so rendered objects are stored until all responses
are read: only as many as a page shows.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import nsmallest
from itertools import islice
from typing import Any, Final

from kyvsim.kubernetes.objects import metadata
from kyvsim.model.explanation import ObjectExplanation
from kyvsim.model.result import EngineResponse
from kyvsim.report.diagnostics import resource_place
from kyvsim.report.explain import explained_rule
from kyvsim.report.finding import (
    WEIGHTS,
    Finding,
    compile_findings,
    finding_of,
    recurring_keys,
)
from kyvsim.report.object_text import Marked, hunks, marked_yaml, yaml_lines
from kyvsim.report.page import (
    MOST_OBJECTS,
    Line,
    Table,
    TableEntry,
    ending_of,
    page,
    part,
    stored,
    table_of,
)
from kyvsim.report.results import (
    NO_RESULT,
    generated,
    mutations,
    patched_targets,
    rule_title,
    severity_of,
    short_title,
    title,
)
from kyvsim.report.run import FIGURES, Lists, Run, StreamingDocument, figures, run_ending
from kyvsim.report.style import RenderOptions, safe_line
from kyvsim.report.text_blocks import author_of, header

STYLES: Mapping[str, str] = {
    "fail": "bad",
    "error": "bad",
    "warn": "warn",
    NO_RESULT: "warn",
    "pass": "good",
}
"""Styles of statuses; others have no colour."""
_KNOWN: Final = "known"
"""The status of failures that are in the baseline."""
_STATUSES: Final = ("fail", "error", "warn", NO_RESULT, _KNOWN, "pass", "skip")
"""Worst first."""
_FAULTS: Final = 5
"""Number of these that are failures."""
_COUNTS: Final = "counts"
_MOST_LINES: Final = 20
"""Number of objects in the table of results by object."""


def begin(run: Run, options: RenderOptions) -> StreamingDocument:
    """Begin the page: findings and changes by object; with `options.detailed`, all rows."""
    return streaming_page(
        run, options, lambda lists: page("run.html", **values_of(run, options, lists))
    )


def streaming_page(
    run: Run, options: RenderOptions, tail: Callable[[Lists], Iterable[str]]
) -> StreamingDocument:
    """Begin a page; `tail` gets the lists that `values_of` converts to values."""
    findings = compile_findings(run, options)
    lists: dict[str, list[str]] = {name: [] for name in (*_STATUSES, _COUNTS)}
    shown: Counter[str] = Counter()

    def row(response: EngineResponse) -> str:
        rows = sorted(findings(response), key=lambda finding: _STATUSES.index(_status(finding)))
        changes = list(_changes(response, options))
        if not rows and not changes:
            return ""
        counted = [
            (finding.shown_name, severity_of(finding.row.policy), _status(finding))
            for finding in rows
        ]
        lists[_COUNTS].append(json.dumps((title(response.trigger), counted)))
        worst = _status(rows[0]) if rows else _STATUSES[-1]
        if shown[worst] < MOST_OBJECTS:
            shown[worst] += 1
            rows = [
                finding_of(found.row, response, run.explain, with_reasons=True)
                if found.row.status in WEIGHTS and not found.is_known
                else found
                for found in rows
            ]
            section = part("object", _section(run, response, rows, changes))
            lists[worst].append(json.dumps(section))
        return ""

    return StreamingDocument(row=row, tail=tail, lists=lists)


def _section(
    run: Run,
    response: EngineResponse,
    rows: Iterable[Finding],
    changes: list[dict[str, object]],
) -> dict[str, object]:
    """Return the values of an object for its template."""
    trigger, explained = response.trigger, run.explained(response)
    kind = trigger.get("kind") if trigger.__class__ is dict else None
    return {
        "title": title(trigger),
        "kind": str(kind or ""),
        "namespace": str(metadata(trigger).get("namespace") or ""),
        "place": resource_place(response),
        "findings": [_shown(finding, explained) for finding in rows],
        "changes": changes,
    }


def _shown(finding: Finding, explained: ObjectExplanation | None) -> dict[str, object]:
    policy, own, status, _ = finding.row
    reasons = finding.reasons
    text = "no result" if status == NO_RESULT else status
    why = None
    for rule in explained.rules if explained else ():
        is_own = any(result.rule is own.rule for result in rule.results)
        if explained and is_own and rule.policy is policy:
            why = explained_rule(rule, explained)
            break
    return {
        "status": _status(finding),
        "status_text": f"{status}, {_KNOWN}" if finding.is_known else text,
        "style": STYLES.get(_status(finding), ""),
        "policy": policy.key,
        "rule": finding.shown_name,
        "severity": severity_of(policy),
        "message": finding.shown_text,
        "place": finding.place,
        "reasons": reasons,
        "rule_place": reasons[0].place if reasons else finding.rule_location,
        "why": why,
    }


def values_of(run: Run, options: RenderOptions, lists: Lists) -> dict[str, Any]:
    """Return the values of a run for templates, when all responses have been read."""
    # Without details, only passes with a note are reported, so their number is unknown.
    statuses = _STATUSES if options.detailed else _STATUSES[:_FAULTS]
    sections = (stored(json.loads(text)) for status in _STATUSES for text in lists.get(status, ()))
    counts = lists.get(_COUNTS, ())
    rules = (
        TableEntry(name, status, severity)
        for _, found in map(json.loads, counts)
        for name, severity, status in found
    )
    return {
        "header": header(run),
        "ending": ending_of(run_ending(run)),
        "figures": [
            (FIGURES.get(name, name), number, STYLES.get(name, ""))
            for name, number in figures(run).items()
        ],
        "listed": frozenset(statuses),
        "tables": [
            _with_passes(table_of("rule", rules, statuses), run),
            table_by_object(counts, statuses),
        ],
        "diagnostics": run.all_diagnostics(),
        "sections": islice(sections, MOST_OBJECTS),
        "further": max(sum(1 for _ in counts) - MOST_OBJECTS, 0),
    }


def _with_passes(table: Table, run: Run) -> Table:
    """Return the table of rules with passed and skipped results, which are counted for the run."""
    totals = run.result_counts.summary().as_dict()
    quiet = tuple(one for one in ("pass", "skip") if totals[one] and one not in table.columns)
    numbers: dict[str, list[int]] = {}
    for (_, policy, rule, _), summary in run.result_counts.by_rule().items():
        name = safe_line(rule_title(policy, rule))
        known = numbers.get(name, [0] * len(quiet))
        numbers[name] = [
            number + summary.as_dict()[status] for number, status in zip(known, quiet, strict=True)
        ]
    none = [0] * len(quiet)
    lines = [
        line._replace(counts=(*line.counts, *numbers.pop(line.name, none))) for line in table.lines
    ]
    lines += [
        Line(name, "", (*(0 for _ in table.columns), *counts)) for name, counts in numbers.items()
    ]
    columns = (*table.columns, *quiet)
    return table._replace(columns=columns, lines=tuple(lines), unlisted=frozenset(quiet))


def table_by_object(counts: Iterable[str], statuses: Sequence[str]) -> Table:
    """Return the table of the objects with most results, as `table_of` does for all of them.

    Only the counts of objects that occur several times are stored.
    """
    recurring = recurring_keys(name for name, _ in map(json.loads, counts))
    merged: dict[str, tuple[int, Counter[str]]] = {}
    lines = 0
    occurring: set[str] = set()

    def entries() -> Iterator[tuple[tuple[int, ...], int, str]]:
        nonlocal lines
        for number, (name, found) in enumerate(map(json.loads, counts)):
            own = Counter(status for _, _, status in found if status in statuses)
            occurring.update(own)
            if own and name in recurring:
                merged.setdefault(name, (number, Counter()))[1].update(own)
            elif own:
                lines += 1
                yield ranked(own), number, name
        lines += len(merged)
        yield from ((ranked(own), number, name) for name, (number, own) in merged.items())

    def ranked(own: Mapping[str, int]) -> tuple[int, ...]:
        return tuple(-own.get(status, 0) for status in statuses)

    most = nsmallest(_MOST_LINES, entries())
    columns = tuple(status for status in statuses if status in occurring)
    places = [statuses.index(status) for status in columns]
    shown = tuple(Line(name, "", tuple(-rank[place] for place in places)) for rank, _, name in most)
    return Table("object", columns, shown, lines - len(shown))


def _status(finding: Finding) -> str:
    """Return the status of a finding on the page, one of _STATUSES."""
    return _KNOWN if finding.is_known else finding.row.status


def _changes(response: EngineResponse, options: RenderOptions) -> Iterator[dict[str, object]]:
    before = response.trigger
    for answer in mutations(response):
        lines = hunks(marked_yaml(before, answer.object) if options.objects else [])
        yield _change("mutated", "", (author_of(answer), answer.policy.key), lines)
        before = answer.object
    for change in patched_targets(response):
        old = change.object if change.before is None else change.before
        lines = hunks(marked_yaml(old, change.object) if options.objects else [])
        author = change.author, change.policy.key
        yield _change("patched", short_title(change.object), author, lines)
    for change in generated(response):
        new = (("+", line) for line in (yaml_lines(change.object) if options.objects else ()))
        author = change.author, change.policy.key
        yield _change("generated", short_title(change.object), author, new)


def _change(
    status: str, what: str, author: tuple[str, str], lines: Iterable[Marked]
) -> dict[str, object]:
    shown = tuple(lines)
    marks = Counter(mark for mark, _ in shown)
    return {
        "status": status,
        "what": what,
        "author": author[0],
        "policy": author[1],
        "lines": shown,
        "size": " ".join(f"{mark}{marks[mark]}" for mark in "+-" if marks[mark]),
    }
