"""The outcome of tests as JUnit XML: a suite for each manifest, a case for each row."""

from collections.abc import Iterator

from kyvsim.model.diagnostic import Severity
from kyvsim.model.suite import ManifestOutcome, RowOutcome, SuiteOutcome
from kyvsim.report.junit_xml import attributes, escaped
from kyvsim.report.suite_diff import diff_text
from kyvsim.report.suite_rows import reason
from kyvsim.report.suite_run import Sight


def render(outcome: SuiteOutcome, sight: Sight) -> Iterator[str]:
    """Yield the document a suite at a time; what could not be used is an error of its suite.

    Characters that XML 1.0 does not have become U+FFFD.
    """
    del sight  # every format for programs holds all rows
    manifests = [one for one in _with_paths(outcome) if one.rows or _errors(one)]
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    yield f"<testsuites{attributes(_counts(*manifests))}>\n"
    for one in manifests:
        yield from _suite(one)
    yield "</testsuites>\n"


def _with_paths(outcome: SuiteOutcome) -> Iterator[ManifestOutcome]:
    if outcome.diagnostics:
        yield ManifestOutcome("paths", (), outcome.diagnostics)
    yield from outcome.manifests


def _errors(manifest: ManifestOutcome) -> list[str]:
    return [str(one) for one in manifest.diagnostics if one.severity is Severity.ERROR]


def _counts(*manifests: ManifestOutcome) -> dict[str, str]:
    rows = [row for one in manifests for row in one.rows]
    errors = sum(len(_errors(one)) for one in manifests)
    return {
        "tests": str(len(rows) + errors),
        "failures": str(sum(row.failed for row in rows)),
        "errors": str(errors),
        "skipped": str(sum(row.result == "Skip" for row in rows)),
    }


def _suite(manifest: ManifestOutcome) -> Iterator[str]:
    yield f"  <testsuite{attributes({'name': manifest.file, **_counts(manifest)})}>\n"
    for text in _errors(manifest):
        yield f"    <testcase{attributes({'classname': manifest.file, 'name': 'inputs'})}>\n"
        yield f"      <error{attributes({'message': text})}/>\n    </testcase>\n"
    for row in manifest.rows:
        yield from _case(row)
    yield "  </testsuite>\n"


def _case(row: RowOutcome) -> Iterator[str]:
    owner = f"{row.policy}.{row.rule}" if row.rule else row.policy
    head = (
        f"    <testcase{attributes({'classname': owner, 'name': row.resource or 'all resources'})}"
    )
    if row.result == "Pass" and not row.skip:
        yield f"{head}/>\n"
        return
    yield f"{head}>\n      {_told(row)}\n    </testcase>\n"


def _told(row: RowOutcome) -> str:
    if row.failed:
        lines = [str(row.location or ""), row.message]
        lines += [diff_text(row.difference)] if row.difference else []
        text = escaped("\n".join(filter(None, lines)))
        kind = attributes({"message": reason(row), "type": row.reason})
        return f"<failure{kind}>{text}</failure>"
    if row.result == "Skip":
        return f"<skipped{attributes({'message': row.message})}/>"
    return f"<system-out>{escaped(reason(row))}</system-out>"
