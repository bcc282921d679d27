"""The outcome of tests as JUnit XML: a suite for each manifest, a case for each row.

Mutants that no test notices are skipped cases of a suite of their own: they fail no run.
"""

from collections.abc import Iterator, Sequence

from kyvsim.model.diagnostic import Severity
from kyvsim.model.suite import ManifestOutcome, RowOutcome, SuiteOutcome
from kyvsim.report.hole_cases import HoleCase, hole_cases, score_of
from kyvsim.report.junit import attributes, escaped
from kyvsim.report.suite_rows import Sight, diff_text, reason


def render(outcome: SuiteOutcome, sight: Sight) -> Iterator[str]:
    """Yield the document a suite at a time; what could not be used is an error of its suite.

    Characters that XML 1.0 does not have become U+FFFD.
    """
    del sight  # every format for programs holds all rows
    manifests = [one for one in _with_paths(outcome) if one.rows or _errors(one)]
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    holes = hole_cases(outcome.mutants)
    yield f"<testsuites{attributes(_counts(*manifests, holes=len(holes)))}>\n"
    for one in manifests:
        yield from _suite(one)
    if outcome.mutants is not None:
        yield from _mutants(score_of(outcome.mutants), holes)
    yield "</testsuites>\n"


def _with_paths(outcome: SuiteOutcome) -> Iterator[ManifestOutcome]:
    if outcome.diagnostics:
        yield ManifestOutcome("paths", (), outcome.diagnostics)
    yield from outcome.manifests


def _errors(manifest: ManifestOutcome) -> list[str]:
    return [str(one) for one in manifest.diagnostics if one.severity is Severity.ERROR]


def _counts(*manifests: ManifestOutcome, holes: int = 0) -> dict[str, str]:
    rows = [row for one in manifests for row in one.rows]
    errors = sum(len(_errors(one)) for one in manifests)
    return {
        "tests": str(len(rows) + errors + holes),
        "failures": str(sum(row.failed for row in rows)),
        "errors": str(errors),
        "skipped": str(sum(row.result == "Skip" for row in rows) + holes),
    }


def _suite(manifest: ManifestOutcome) -> Iterator[str]:
    yield f"  <testsuite{attributes({'name': manifest.file, **_counts(manifest)})}>\n"
    for text in _errors(manifest):
        yield f"    <testcase{attributes({'classname': manifest.file, 'name': 'inputs'})}>\n"
        yield f"      <error{attributes({'message': text})}/>\n    </testcase>\n"
    for row in manifest.rows:
        yield from _case(row)
    yield "  </testsuite>\n"


def _mutants(score: str, holes: Sequence[HoleCase]) -> Iterator[str]:
    yield f"  <testsuite{attributes({'name': 'mutants', **_counts(holes=len(holes))})}>\n"
    told = attributes({"name": "score", "value": score})
    yield f"    <properties><property{told}/></properties>\n"
    for one in holes:
        name = f"{one.place}: {one.title}"
        yield f"    <testcase{attributes({'classname': one.policy, 'name': name})}>\n"
        yield f"      <skipped{attributes({'message': 'no test notices'})}/>\n"
        yield f"      <system-out>{escaped(one.advice)}</system-out>\n    </testcase>\n"
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
