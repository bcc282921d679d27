"""Results of `test` as JSON, YAML, Markdown, JUnit XML, TAP, GitHub annotations and HTML."""

import json
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

from kyvsim.model.diagnostic import Severity
from kyvsim.model.source import Location
from kyvsim.model.suite import ManifestOutcome, RowOutcome, SuiteOutcome
from kyvsim.report.diagnostics import diagnostic_json, place_json
from kyvsim.report.finding_formats import (
    annotation,
    annotation_of,
    attributes,
    case_element,
    document_head,
    error_case,
    escaped,
    suite_element,
)
from kyvsim.report.object_text import document_origin, hunks, json_document, marked_yaml, to_yaml
from kyvsim.report.page import TableEntry, ending_of, page, table_of
from kyvsim.report.results import rule_title
from kyvsim.report.run import ending_json
from kyvsim.report.style import (
    counted,
    markdown_lines,
    markdown_text,
    safe_line,
    safe_text,
    table_line,
)
from kyvsim.report.suite_text import (
    SuiteOptions,
    advice_lines,
    cells,
    change_text,
    columns,
    diff_text,
    every_diagnostic,
    mutants_json,
    reason,
    score_line,
    shown_rows,
    suite_ending,
    summary_line,
    survivor_cases,
    tally_of,
)


def _document(outcome: SuiteOutcome, options: SuiteOptions) -> dict[str, object]:
    rows = []
    for file, row in shown_rows(outcome, options):
        entry: dict[str, object] = {
            "manifest": file,
            "policy": row.policy,
            "rule": row.rule,
            "resource": row.resource,
            "result": row.result,
            "reason": row.reason,
            "message": row.message,
        }
        if row.skip:
            entry["skip"] = row.skip
        if row.location:
            entry["location"] = place_json(row.location)
        if row.difference:
            entry["difference"] = row.difference._asdict()
        rows.append(entry)
    return {
        "results": rows,
        "diagnostics": [diagnostic_json(diagnostic) for diagnostic in every_diagnostic(outcome)],
        "ending": ending_json(suite_ending(outcome)),
        "summary": tally_of(outcome)._asdict(),
        **({} if outcome.mutants is None else {"mutants": mutants_json(outcome.mutants)}),
    }


def render_json(outcome: SuiteOutcome, options: SuiteOptions) -> Iterator[str]:
    """Yield the document, with one row or diagnostic on each line."""
    yield from json_document("test", _document(outcome, options))


def render_yaml(outcome: SuiteOutcome, options: SuiteOptions) -> Iterator[str]:
    """Yield the document as a whole."""
    yield to_yaml({**_document(outcome, options), "kyvsim": document_origin("test")})


def render_markdown(outcome: SuiteOutcome, options: SuiteOptions) -> Iterator[str]:
    """Yield the table line by line, then the counts."""
    names = columns(options)
    yield table_line(names)
    yield table_line(("---",) * len(names))
    for number, (_, row) in enumerate(shown_rows(outcome, options), 1):
        yield table_line(cells(number, row, options, markdown_lines))
    yield f"\nKyverno {outcome.release}: {summary_line(outcome)}\n"
    if outcome.mutants is not None:
        mutants = outcome.mutants
        yield f"\n{score_line(mutants)}\n\n"
        for mutant in mutants.holes:
            shown = f"{mutant.location}: {change_text(mutant)}"
            yield f"- {markdown_text(shown)}\n"


def render_junit(outcome: SuiteOutcome, _: SuiteOptions) -> Iterator[str]:
    """Yield the document, one suite at a time; unusable input is an error of its suite.

    Undetected mutants are skipped cases of a separate suite: they do not fail a run.
    """
    suites = []
    for manifest in (ManifestOutcome("paths", (), outcome.diagnostics), *outcome.manifests):
        errors = (one for one in manifest.diagnostics if one.severity is Severity.ERROR)
        cases = [error_case(manifest.file, str(error)) for error in errors]
        cases += map(_case, manifest.rows)
        suites += [(manifest.file, cases)] if cases else []
    survivors = []
    for mutant in survivor_cases(outcome.mutants):
        names = {"classname": mutant.policy, "name": f"{mutant.place}: {mutant.title}"}
        skipped = f"<skipped{attributes({'message': 'no test detects this'})}/>"
        advice = f"<system-out>{escaped(mutant.advice)}</system-out>"
        survivors.append(("skip", case_element(names, skipped, advice)))
    every = [*survivors, *(case for _, cases in suites for case in cases)]
    yield document_head(f"kyvsim test (Kyverno {outcome.release})", every)
    for name, cases in suites:
        yield from suite_element(name, cases)
    if outcome.mutants is not None:
        score = attributes({"name": "score", "value": score_line(outcome.mutants)})
        head = f"    <properties><property{score}/></properties>\n"
        yield from suite_element("mutants", survivors, head)
    yield "</testsuites>\n"


def _case(row: RowOutcome) -> tuple[str, str]:
    """Return the status of a row, and its case."""
    owner = f"{row.policy}.{row.rule}" if row.rule else row.policy
    names = {"classname": owner, "name": row.resource or "all resources"}
    if row.failed:
        lines = [str(row.location or ""), row.message]
        lines += [diff_text(row.difference)] if row.difference else []
        text = escaped("\n".join(filter(None, lines)))
        kind = attributes({"message": reason(row), "type": row.reason})
        return "fail", case_element(names, f"<failure{kind}>{text}</failure>")
    if row.result == "Skip":
        skipped = f"<skipped{attributes({'message': row.message})}/>"
        return "skip", case_element(names, skipped)
    content = [f"<system-out>{escaped(reason(row))}</system-out>"] if row.skip else []
    return "pass", case_element(names, *content)


_IN_DESCRIPTION = str.maketrans({"\\": "\\\\", "#": "\\#"})


def render_tap(outcome: SuiteOutcome, _: SuiteOptions) -> Iterator[str]:
    """Yield the plan and then the test points; unusable input is a failed point.

    Version 13, which all TAP readers support; details are below a point as YAML. Undetected mutants
    are TODO points, which do not fail a run.
    """
    errors = [entry for entry in every_diagnostic(outcome) if entry.severity is Severity.ERROR]
    survivors = survivor_cases(outcome.mutants)
    rows_end = len(errors) + tally_of(outcome).total
    count = rows_end + len(survivors)
    yield "TAP version 13\n"
    yield f"1..{count}\n" if count else "1..0 # SKIP no rows\n"
    for number, diagnostic in enumerate(errors, 1):
        details = _details(f"{diagnostic.code}: {diagnostic.message}", diagnostic.location)
        yield f"{_point(number, 'inputs', passed=False)}\n{details}"
    rows = ((manifest.file, row) for manifest in outcome.manifests for row in manifest.rows)
    for number, (file, row) in enumerate(rows, len(errors) + 1):
        names = " / ".join(filter(None, (row.policy, row.rule, row.resource)))
        point = _point(number, f"{file}: {names}", passed=not row.failed)
        if row.failed:
            lines = diff_text(row.difference).splitlines() if row.difference else []
            yield f"{point}\n{_details(reason(row), row.location, row.message, lines)}"
        elif row.result == "Skip":
            yield f"{point.rstrip()} # SKIP {safe_line(row.message)}\n"
        else:
            yield f"{point}\n{_details(reason(row)) if row.skip else ''}"
    for number, mutant in enumerate(survivors, rows_end + 1):
        point = _point(number, f"mutant of {mutant.policy}: {mutant.title}", passed=False).rstrip()
        yield f"{point} # TODO no test detects this\n{_details(mutant.advice, mutant.place)}"
    if outcome.mutants is not None:
        yield f"# {safe_line(score_line(outcome.mutants))}\n"
    yield f"# Kyverno {outcome.release}\n"


def _point(number: int, name: str, *, passed: bool) -> str:
    shown = safe_line(name).translate(_IN_DESCRIPTION)
    return f"{'ok' if passed else 'not ok'} {number} - {shown}"


def _details(
    message: str, place: Location | None = None, text: str = "", lines: Iterable[str] = ()
) -> str:
    """Return a block of the small YAML subset that TAP readers support: all strings are quoted."""
    block = ["---", f"message: {_quoted(message)}"]
    block += [f"file: {_quoted(place.file)}"] if place else []
    block += [f"line: {place.line}", f"column: {place.column}"] if place and place.line else []
    block += [f"details: {_quoted(text)}"] if text else []
    listed = [f"  - {_quoted(line)}" for line in lines]
    block += ["difference:", *listed] if listed else []
    return "".join(f"  {line}\n" for line in [*block, "..."])


def _quoted(text: str) -> str:
    return json.dumps(safe_text(text), ensure_ascii=False)


def render_github(outcome: SuiteOutcome, options: SuiteOptions) -> Iterator[str]:
    """Yield a command for each diagnostic and failed row; the last line shows the counts."""
    yield from map(annotation_of, every_diagnostic(outcome))
    for _, row in shown_rows(outcome, options._replace(fail_only=True)):
        name = rule_title(row.policy, row.rule)
        lines = [f"{name}  {row.resource}" if row.resource else name, row.message]
        lines += [diff_text(row.difference)] if row.difference else []
        text = "\n".join(filter(None, lines))
        yield annotation(Severity.ERROR, row.location, reason(row), text)
    for mutant in outcome.mutants.holes if outcome.mutants else ():
        text = "\n".join(advice_lines(mutant))
        yield annotation(Severity.WARNING, mutant.location, change_text(mutant), text)
    yield f"{summary_line(outcome)}\n"
    if outcome.mutants is not None:
        yield f"{score_line(outcome.mutants)}\n"


_STYLES: Mapping[str, str] = MappingProxyType({"Fail": "bad", "Skip": "warn", "Pass": "good"})
"""Styles of results, worst first."""
_STATUSES: Final = tuple(map(str.lower, _STYLES))


def render_html(outcome: SuiteOutcome, options: SuiteOptions) -> Iterator[str]:
    """Yield the page in pieces; manifests with failed rows come first."""
    manifests = []
    for manifest in outcome.manifests:
        failed = [_page_row(row, options) for row in manifest.rows if row.failed]
        passed = () if options.fail_only else (row for row in manifest.rows if not row.failed)
        others = [_page_row(row, options) for row in passed]
        rows = counted(len(manifest.rows), "row")
        counts = f"{len(failed)} of {rows} failed" if failed else rows
        if failed or others:
            shown = {"file": manifest.file, "counts": counts, "failed": failed, "others": others}
            manifests.append(shown)
    manifests.sort(key=lambda manifest: not manifest["failed"])
    every = [(manifest.file, row) for manifest in outcome.manifests for row in manifest.rows]
    by_rule = (TableEntry(rule_title(row.policy, row.rule), row.result.lower()) for _, row in every)
    by_manifest = (TableEntry(file, row.result.lower()) for file, row in every)
    return page(
        "suite.html",
        ending=ending_of(suite_ending(outcome)),
        summary=summary_line(outcome),
        diagnostics=tuple(every_diagnostic(outcome)),
        tables=(table_of("rule", by_rule, _STATUSES), table_of("manifest", by_manifest, _STATUSES)),
        manifests=manifests,
        score=score_line(outcome.mutants) if outcome.mutants else "",
        survivors=survivor_cases(outcome.mutants),
    )


def _page_row(row: RowOutcome, options: SuiteOptions) -> dict[str, object]:
    shown = row.failed or options.detailed
    diff = row.difference
    return {
        "status": row.result.lower(),
        "style": _STYLES.get(row.result, ""),
        "policy": row.policy,
        "rule": rule_title(row.policy, row.rule),
        "resource": row.resource,
        "reason": reason(row),
        "message": row.message if shown and row.message != row.reason else "",
        "place": row.location,
        # The file with the expected object, and the differences.
        "file": diff.file if diff else "",
        "lines": [*hunks(marked_yaml(diff.expected, diff.actual))] if diff else [],
    }
