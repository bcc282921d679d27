"""Results of `test` as text and as a table, and functions shared by all formats of `test`."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from kyvsim.model.comparison import DifferenceKind
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.result import Fact, RunEnding, RunVerdict
from kyvsim.model.source import Location
from kyvsim.model.suite import GoldenDifference, Mutants, RowOutcome, SuiteOutcome, SurvivingMutant
from kyvsim.report.coverage import ratio_json
from kyvsim.report.diagnostics import reason_lines
from kyvsim.report.equal import example_json, example_objects
from kyvsim.report.object_text import hunks, marked_yaml
from kyvsim.report.results import rule_title
from kyvsim.report.run import error_fact, info_fact, left_out_fact, verdict_fact, warning_fact
from kyvsim.report.style import (
    INDENT,
    MARK_STYLES,
    Paint,
    RenderOptions,
    TextLayout,
    aligned,
    counted,
    headline,
    layout_of,
    painter,
    safe_line,
    safe_text,
    truncated,
    wrapped,
)

_WORDS: Mapping[DifferenceKind, str] = {
    DifferenceKind.DENIAL_LOST: "the policy denies this, the mutant does not",
    DifferenceKind.DENIAL_GAINED: "the mutant denies this, the policy does not",
    DifferenceKind.ENFORCEMENT_LOST: "the policy denies this, the mutant only reports it",
    DifferenceKind.ENFORCEMENT_GAINED: "the mutant denies this, the policy only reports it",
    DifferenceKind.OBJECT: "the mutant changes this object differently",
    DifferenceKind.GENERATED: "the mutant generates different objects for this",
    DifferenceKind.DELETION: "only one of the two would delete this",
}


def mutant_lines(mutants: Mutants) -> Iterator[str]:
    """Yield the score, then each mutant that no test detects, with an example object."""
    yield f"{score_line(mutants)}\n"
    for mutant in mutants.holes:
        yield f"  {safe_line(str(mutant.location))}: {safe_line(change_text(mutant))}\n"
        yield f"    {mutant.location.line} | {safe_line(mutant.line.strip())}\n"
        yield from (f"    {safe_line(line)}\n" for line in advice_lines(mutant))


def score_line(mutants: Mutants) -> str:
    """Return the score of the mutants as text, with those that do not count."""
    ratio = mutants.score
    if ratio.total:
        shown = f"{ratio.percent}% ({ratio.reached} of {ratio.total}) detected by tests"
    else:
        shown = "no mutants"
    same = f", {mutants.same} equivalent" if mutants.same else ""
    untried = f", {mutants.untried} not tried (time limit)" if mutants.untried else ""
    return f"mutants: {shown}{same}{untried}"


def change_text(mutant: SurvivingMutant) -> str:
    """Return the change of a mutant as text."""
    was, now = truncated(mutant.was, 80), truncated(mutant.now, 80)
    if now:
        return f"{mutant.kind}: `{was}` became `{now}`"
    kind = "" if mutant.kind == "left out" else f"{mutant.kind}: "
    return f"{kind}`{was}` removed"


def advice_lines(mutant: SurvivingMutant) -> Iterator[str]:
    """Yield an object that a test could use, if there is one."""
    example = mutant.example
    if example is None:
        why = "no object was found" if mutant.looked_for else "there was no time to find an object"
        yield f"no test detects this; {why} that shows a difference"
        return
    request = "" if example.operation == "CREATE" else f", at {example.operation}"
    yield f"no test detects this; {_WORDS[example.difference]}{request}:"
    for name, lines in example_objects(example):
        if name:
            yield f"{name}:"
        yield from (f"  {line}" for line in lines)


def mutants_json(mutants: Mutants) -> dict[str, object]:
    """Return the score, its counts, and the mutants that no test detects."""
    ratio = ratio_json(mutants.score)
    return {
        "score": ratio["percent"] if ratio["total"] else None,
        "noticed": mutants.noticed,
        "notNoticed": len(mutants.holes),
        "same": mutants.same,
        "notTried": mutants.untried,
        "holes": [
            {
                "policy": mutant.policy,
                "kind": mutant.kind,
                "was": mutant.was,
                "now": mutant.now or None,
                "location": mutant.location._asdict(),
                "line": mutant.line,
                "lookedForExample": mutant.looked_for,
                "example": None if mutant.example is None else example_json(mutant.example),
            }
            for mutant in mutants.holes
        ],
    }


class SurvivorCase(NamedTuple):
    """A mutant that no test detects."""

    policy: str
    title: str
    """The change."""
    place: Location
    advice: str
    """An object for a test, as text of several lines."""


def survivor_cases(mutants: Mutants | None) -> tuple[SurvivorCase, ...]:
    """Return a case for each mutant that no test detects."""
    return tuple(
        SurvivorCase(one.policy, change_text(one), one.location, "\n".join(advice_lines(one)))
        for one in (mutants.holes if mutants else ())
    )


class SuiteOptions(NamedTuple):
    """Display options of a test report."""

    detailed: bool = False
    """Show messages."""
    fail_only: bool = False
    """Show failed rows only."""
    statistics: bool = False
    """Show only the counts of each rule."""
    colours: bool = False
    width: int = 80
    """Columns to which lines are wrapped."""


class SuiteTally(NamedTuple):
    """Counts over all rows."""

    total: int
    passed: int
    failed: int
    skipped: int
    """Rows of invalid policies, which Kyverno's command skips."""
    manifests: int


def tally_of(outcome: SuiteOutcome) -> SuiteTally:
    """Return the counts of an outcome."""
    results = [row.result for manifest in outcome.manifests for row in manifest.rows]
    passed, failed, skipped = (results.count(result) for result in ("Pass", "Fail", "Skip"))
    ran = sum(bool(manifest.rows) for manifest in outcome.manifests)
    return SuiteTally(len(results), passed, failed, skipped, ran)


def shown_rows(outcome: SuiteOutcome, options: SuiteOptions) -> Iterator[tuple[str, RowOutcome]]:
    """Yield the rows to show, in order, each with the file of its manifest."""
    for manifest in outcome.manifests:
        for row in manifest.rows:
            if row.failed or not options.fail_only:
                yield manifest.file, row


def every_diagnostic(outcome: SuiteOutcome) -> Iterator[Diagnostic]:
    """Yield all diagnostics without duplicates: first on the paths, then by manifest."""
    of_manifests = (entry for manifest in outcome.manifests for entry in manifest.diagnostics)
    yield from dict.fromkeys((*outcome.diagnostics, *of_manifests))


def suite_ending(outcome: SuiteOutcome) -> RunEnding:
    """Return the result of a test run."""
    diagnostics = tuple(every_diagnostic(outcome))
    missed, demands, tally = outcome.not_updated, outcome.demands, tally_of(outcome)
    text = f"{tally.failed} of {counted(tally.total, 'row')} failed"
    not_updated = f"{counted(missed, 'expected file')} not updated"
    too_low = int(not reaches_enough(outcome))
    facts = [
        error_fact(diagnostics),
        verdict_fact("notUpdated", missed, not_updated, RunVerdict.INCOMPLETE),
        verdict_fact("failed", tally.failed, text),
        verdict_fact("coverageTooLow", too_low, f"coverage is below {demands.coverage}%"),
    ]
    mutants = outcome.mutants
    if mutants is not None:
        # Mutants that were not tried might not be detected.
        survivors, untried = len(mutants.holes), mutants.untried
        total = mutants.score.total + untried
        is_low = not total or 100 * mutants.noticed < demands.score * total
        low = int(bool(demands.score) and is_low)
        facts += [
            verdict_fact("scoreTooLow", low, f"mutation score is below {demands.score}%"),
            info_fact("notNoticed", survivors, f"{counted(survivors, 'mutant')} not detected"),
            info_fact("notTried", untried, f"{counted(untried, 'mutant')} not tried"),
        ]
    if tally.total:
        skipped = f", {tally.skipped} skipped" if tally.skipped else ""
        text = "" if tally.failed else f"{tally.passed} passed{skipped}"
        facts.append(Fact("passed", tally.passed, text))
    else:
        verdict = RunVerdict.FAILED if demands.tests else RunVerdict.NOTHING
        facts.append(Fact("nothingChecked", 1, "no row was checked", verdict))
    aside = left_out_fact(len(tuple(everything_left_out(outcome))))
    return RunEnding((*facts, aside, warning_fact(diagnostics)), release=outcome.release)


def reaches_enough(outcome: SuiteOutcome) -> bool:
    """Return whether the required coverage was reached."""
    expected = outcome.demands.coverage
    if outcome.coverage is None or not expected:
        return True
    ratio = outcome.coverage.ratio
    return bool(ratio.total) and 100 * ratio.reached >= expected * ratio.total


def everything_left_out(outcome: SuiteOutcome) -> Iterator[Diagnostic]:
    """Yield the ignored documents in folders, without duplicates."""
    of_manifests = (entry for manifest in outcome.manifests for entry in manifest.left_out)
    yield from dict.fromkeys((*outcome.left_out, *of_manifests))


def unusable_manifests(outcome: SuiteOutcome) -> int:
    """Return the number of manifest files with an unusable input."""
    unusable = {
        manifest.file
        for manifest in outcome.manifests
        if any(diagnostic.severity is Severity.ERROR for diagnostic in manifest.diagnostics)
    }
    return len(unusable)


def summary_line(outcome: SuiteOutcome) -> str:
    """Return the counts as one line."""
    tally = tally_of(outcome)
    skipped = f", {tally.skipped} skipped" if tally.skipped else ""
    rows = f"{counted(tally.total, 'row')} in {counted(tally.manifests, 'manifest')}"
    return f"{rows}: {tally.passed} passed, {tally.failed} failed{skipped}"


_COLUMNS = ("ID", "POLICY", "RULE", "RESOURCE", "RESULT", "REASON", "MESSAGE")
_RESULT = _COLUMNS.index("RESULT")


def columns(options: SuiteOptions) -> tuple[str, ...]:
    """Return the names of the columns; there is one for messages if they are requested."""
    return _COLUMNS if options.detailed else _COLUMNS[:-1]


def cells(
    number: int, row: RowOutcome, options: SuiteOptions, shown: Callable[[str], str] = safe_line
) -> tuple[str, ...]:
    """Return the cells of a row as rendered by `shown`: by default escaped and on one line."""
    texts = [str(number), row.policy, row.rule, row.resource, row.result, reason(row)]
    if options.detailed:
        texts.append(row.message)
    return tuple(map(shown, texts))


def reason(row: RowOutcome) -> str:
    """Return the reason for a row's result, and for a skip its kind."""
    return f"{row.reason} (skip: {row.skip})" if row.skip else row.reason


def diff_lines(difference: GoldenDifference, paint: Paint) -> Iterator[str]:
    """Yield the lines: `-` is only in the file, `+` only in the policy's result."""
    yield paint("removed", f"--- expected: {safe_text(difference.file)}")
    yield paint("added", "+++ actual")
    for mark, line in hunks(marked_yaml(difference.expected, difference.actual)):
        text = "..." if mark == "@" else f"{mark} {safe_text(line)}"
        yield paint(MARK_STYLES[mark], text) if mark in MARK_STYLES else text


def diff_text(difference: GoldenDifference) -> str:
    """Return the lines as plain text."""
    return "\n".join(diff_lines(difference, lambda _name, text: text))


def render_text(outcome: SuiteOutcome, options: SuiteOptions) -> Iterator[str]:
    """Yield the view, one manifest at a time; the last line shows the counts."""
    layout = layout_of(RenderOptions(colours=options.colours, width=options.width))
    if options.statistics:
        yield from _by_rule(outcome, layout)
    for manifest in () if options.statistics else outcome.manifests:
        failed = sum(row.failed for row in manifest.rows)
        if not manifest.rows or (options.fail_only and not failed):
            continue
        word = layout.paint("fail", "FAIL") if failed else layout.paint("pass", "pass")
        rows = counted(len(manifest.rows), "row")
        # The number of rows that were skipped as expected, by kind.
        kinds = Counter(row.skip for row in manifest.rows if row.skip)
        listed = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
        skips = f"; skipped as expected: {listed}" if listed else ""
        counts = f"({f'{failed} of {rows} failed' if failed else rows}{skips})"
        yield f"{word}  {safe_line(manifest.file)}  {layout.paint('dim', counts)}\n"
        for row in manifest.rows:
            if row.failed or (options.detailed and not options.fail_only):
                yield from _row(row, layout)
    yield f"\n{summary_line(outcome)}\n" if outcome.total else f"{summary_line(outcome)}\n"
    if outcome.mutants is not None:
        yield "\n"
        yield from mutant_lines(outcome.mutants)


def _by_rule(outcome: SuiteOutcome, layout: TextLayout) -> Iterator[str]:
    counts: dict[str, list[int]] = {}
    for row in (row for manifest in outcome.manifests for row in manifest.rows):
        name = rule_title(row.policy, row.rule)
        counts.setdefault(name, [0, 0])[not row.failed] += 1
    room = layout.width - 7 * 2
    yield layout.paint("title", f"{'By rule':<{room}}{'fail':>7}{'pass':>7}") + "\n"
    for name, numbers in sorted(counts.items(), key=lambda item: (-item[1][0], item[0])):
        cells = "".join(f"{number or '-':>7}" for number in numbers)
        *lines, last = wrapped(safe_line(name), room, "    ", "  ")
        yield from (f"{line}\n" for line in (*lines, f"{last:<{room}}{cells}"))


def _row(row: RowOutcome, layout: TextLayout) -> Iterator[str]:
    name = rule_title(row.policy, row.rule)
    word = row.result.upper() if row.failed else row.result.lower()
    place = safe_line(str(row.location)) if row.location else ""
    about = f"{name}: {row.resource}" if row.resource else name
    yield headline(word, about, place, layout)
    texts = [reason(row), row.message if row.message != row.reason else ""]
    yield from (f"{line}\n" for text in texts if text for line in wrapped(text, layout.width))
    yield from reason_lines(row.reasons, layout)
    for line in diff_lines(row.difference, layout.paint) if row.difference else ():
        yield f"{INDENT}{line}\n"


def render_table(outcome: SuiteOutcome, options: SuiteOptions) -> Iterator[str]:
    """Yield the table line by line, then the counts; rows are never wrapped."""
    names = columns(options)
    shown = shown_rows(outcome, options)
    rows = [cells(number, row, options) for number, (_, row) in enumerate(shown, 1)]
    widths = [max(map(len, texts)) for texts in zip(names, *rows, strict=True)]
    paint = painter(colours=options.colours)
    yield f"{paint('title', aligned(names, widths))}\n"
    yield f"{'  '.join('-' * width for width in widths)}\n"

    for row in rows:
        padded = [f"{text:<{width}}" for text, width in zip(row, widths, strict=True)]
        padded[_RESULT] = paint(row[_RESULT].lower(), padded[_RESULT])
        yield f"{'  '.join(padded).rstrip()}\n"
    yield f"\n{summary_line(outcome)}\n"
    if outcome.mutants is not None:
        yield "\n"
        yield from mutant_lines(outcome.mutants)
