"""The results and changes of a run as an HTML page: ending, by rule, by object.

The objects with the worst results come first, so rendered objects are stored until all responses
are read.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from kyvsim.kubernetes.objects import metadata
from kyvsim.model.explanation import ObjectExplanation
from kyvsim.model.result import EngineResponse
from kyvsim.report.diagnostics import resource_place
from kyvsim.report.explain import explained_rule
from kyvsim.report.finding import Finding, compile_findings
from kyvsim.report.object_text import Marked, hunks, marked_yaml, yaml_lines
from kyvsim.report.page import TableEntry, ending_of, page, part, stored, table_of
from kyvsim.report.results import (
    NO_RESULT,
    generated,
    mutations,
    patched_targets,
    severity_of,
    short_title,
    title,
)
from kyvsim.report.run import FIGURES, Lists, Run, StreamingDocument, figures, run_ending
from kyvsim.report.style import RenderOptions
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
_MOST_OBJECTS: Final = 20


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

    def row(response: EngineResponse) -> str:
        rows = sorted(findings(response), key=lambda finding: _STATUSES.index(_status(finding)))
        changes = list(_changes(response, options))
        if rows or changes:
            trigger, explained = response.trigger, run.explained(response)
            kind = trigger.get("kind") if trigger.__class__ is dict else None
            shown = {
                "title": title(trigger),
                "kind": str(kind or ""),
                "namespace": str(metadata(trigger).get("namespace") or ""),
                "place": resource_place(response),
                "findings": [_shown(finding, explained) for finding in rows],
                "changes": changes,
            }
            worst = _status(rows[0]) if rows else _STATUSES[-1]
            lists[worst].append(json.dumps(part("object", shown)))
            for finding in rows:
                severity = severity_of(finding.row.policy)
                counted = finding.shown_name, severity, shown["title"], _status(finding)
                lists[_COUNTS].append(json.dumps(counted))
        return ""

    return StreamingDocument(row=row, tail=tail, lists=lists)


def _shown(finding: Finding, explained: ObjectExplanation | None) -> dict[str, object]:
    policy, own, status, _ = finding.row
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
        "rule_place": finding.rule_location,
        "why": why,
    }


def values_of(run: Run, options: RenderOptions, lists: Lists) -> dict[str, Any]:
    """Return the values of a run for templates, when all responses have been read."""
    # Without details, only passes with a note are reported, so their number is unknown.
    statuses = _STATUSES if options.detailed else _STATUSES[:_FAULTS]
    sections = (stored(json.loads(text)) for status in _STATUSES for text in lists.get(status, ()))
    rows = [json.loads(text) for text in lists.get(_COUNTS, ())]
    rules = (TableEntry(name, status, severity) for name, severity, _, status in rows)
    objects = (TableEntry(name, status) for _, _, name, status in rows)
    return {
        "header": header(run),
        "ending": ending_of(run_ending(run)),
        "figures": [
            (FIGURES.get(name, name), number, STYLES.get(name, ""))
            for name, number in figures(run).items()
        ],
        "tables": [
            table_of("rule", rules, statuses),
            table_of("object", objects, statuses, _MOST_OBJECTS),
        ],
        "diagnostics": run.all_diagnostics(),
        "sections": sections,
    }


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
