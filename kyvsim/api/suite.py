"""`test`: runs the tests of manifests, alone or each as a case, and finds reasons of failures."""

import os
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from itertools import chain
from typing import NamedTuple, TypeAlias

from kyvsim.api.explain_rows import compile_explain
from kyvsim.api.processes import each_in_processes
from kyvsim.api.suite_inputs import ManifestInputs, read_test
from kyvsim.api.system import processors
from kyvsim.kubernetes.objects import object_key
from kyvsim.load.fingerprints import fingerprint
from kyvsim.load.folders import USUAL, Walking
from kyvsim.load.suite_manifest import find_manifests, read_manifests, what_is_there
from kyvsim.model.coverage import Coverage
from kyvsim.model.diagnostic import Diagnostic, Severity, listed, without_left_out
from kyvsim.model.result import (
    EngineResponse,
    Phase,
    PolicyResponse,
    ReportedReason,
    RuleResult,
    RuleStatus,
)
from kyvsim.model.source import Location
from kyvsim.model.suite import ExpectedRow, Manifest, ManifestOutcome, RowOutcome, SuiteOutcome
from kyvsim.report.diagnostics import rule_place
from kyvsim.report.explanations import failure_reasons
from kyvsim.report.results import Row
from kyvsim.suite.check import check_rows
from kyvsim.suite.compare import FindReasons, RowContext
from kyvsim.suite.coverage import CoverageRecorder, together
from kyvsim.suite.row_targets import RowSelector
from kyvsim.suite.run import OnRun, ResourceAnswers, observe

# Why the results of a test are what they are: rules that did not say what a row wants, explained.
#
# Each is evaluated once more, alone; rows that pass cost nothing.


def compile_suite_reasons(inputs: ManifestInputs) -> FindReasons:
    """Return what tells how rules of a test came to their results.

    Of a rule that passed that is only where it stands.
    """

    def reasons(
        answers: ResourceAnswers, response: PolicyResponse, result: RuleResult
    ) -> tuple[ReportedReason, ...]:
        request = answers.request
        seen = request.object if response.phase is Phase.MUTATE else response.object
        row = Row(response.policy, result, result.status.value, seen)
        if result.status is RuleStatus.PASS or request.is_payload:
            return (ReportedReason("", rule_place(row)),)

        key = object_key(request.object)
        documents = inputs.suite.resources
        document = next((one for one in documents if object_key(one.data) == key), None)
        about = EngineResponse(
            request.object, response.object, (response,), document, request=request
        )
        return failure_reasons(row, about, compile_explain(inputs.options, answers.world, ()))

    return reasons


# `test`: manifests found, run and checked, each by itself and several at a time.
#
# Codes: KV049 a folder without manifests, KV074 a selector that chooses none of the rows.

_FEW = 50
"""So many manifests run in one process faster than several processes start."""
_FIRST = 8
"""Manifests that are run before several processes start: they find loaded what most need."""

_USUAL_NAME = "kyverno-test.yaml"


class Reading(NamedTuple):
    """How the rows of all manifests are read."""

    selector: RowSelector = RowSelector()
    lenient: bool = False
    goldens: bool = False
    """Whether to tell what the files of expected objects should hold."""
    coverage: bool = False
    """Whether to tell what is reached in the policies."""
    walking: Walking = USUAL
    """How folders are walked."""
    stamped: bool = False
    """Whether to note what lies at the paths that are read, for who looks again."""


class SuiteRun(NamedTuple):
    """What `kyvsim test` is given."""

    paths: tuple[str, ...]
    file_name: str = _USUAL_NAME
    options: Reading = Reading()
    jobs: int = 0
    """How many processes at once; 0 for as many as there are processors, if it is worth it."""


Outcomes: TypeAlias = Iterator[tuple[ManifestOutcome, ...]]
"""What came of each file, as it comes."""


def run_tests(
    run: SuiteRun, watching: Callable[[Outcomes, int], Outcomes] | None = None
) -> SuiteOutcome:
    """Return what came of all manifests that the paths lead to, in their order.

    The order, and all that is said, do not depend on the number of processes. `watching` is given
    what comes of the files, with their number, and gives it back as it comes.
    """
    files, said = find_files(run)
    coming = run_files(files, run)
    outcomes = tuple(chain.from_iterable(watching(coming, len(files)) if watching else coming))
    points = (point for one in outcomes for point in one.points)
    coverage = together(points, os.path.realpath) if run.options.coverage else None
    passed_over = [name for one in outcomes for name in one.passed_over]
    if passed_over and not any(one.rows for one in outcomes):
        text = f"--test-case-selector matches no row: there are rows for {listed(passed_over)}"
        said = (*said, Diagnostic("KV074", Severity.WARNING, text))
    return suite_outcome(outcomes, said, coverage)


def suite_outcome(
    outcomes: tuple[ManifestOutcome, ...],
    said: tuple[Diagnostic, ...],
    coverage: Coverage | None = None,
) -> SuiteOutcome:
    """Return what came of all manifests, with what was said of their paths."""
    remarks, left_out = without_left_out(said)
    return SuiteOutcome(outcomes, remarks, coverage, left_out=left_out)


def find_files(run: SuiteRun) -> tuple[tuple[str, ...], tuple[Diagnostic, ...]]:
    """Return the files of manifests, each once, and what is wrong with the paths."""
    files: list[str] = []
    said: list[Diagnostic] = []
    empty: list[str] = []
    for path in run.paths:
        found, problems = find_manifests(path, run.file_name, run.options.walking)
        files += found
        said += problems
        if not found and all(one.severity is not Severity.ERROR for one in problems):
            empty.append(path)
    for path in empty:
        text = f"there is no `{run.file_name}` in or below this folder"
        # Who chooses a name for manifests means a folder of tests.
        is_meant = bool(files) or run.file_name != _USUAL_NAME
        meant = "" if is_meant else what_is_there(path, run.options.walking)
        said.append(Diagnostic("KV049", Severity.ERROR, text + meant, Location(path)))
    return tuple(dict.fromkeys(files)), tuple(said)


def run_files(files: tuple[str, ...], run: SuiteRun) -> Outcomes:
    """Yield what came of each file, in their order, by several processes if it is worth it."""
    jobs = run.jobs or (processors() if len(files) > _FEW else 1)
    work = partial(run_file, options=run.options)
    yield from each_in_processes(work, files, jobs, chunk=4, first=_FIRST)


def run_file(file: str, options: Reading) -> tuple[ManifestOutcome, ...]:
    """Return what came of each manifest in a file, and of the file where it holds none."""
    found = (fingerprint(file, options.walking),) if options.stamped else ()
    manifests, problems = read_manifests(file)
    outcomes = [run_manifest(manifest, options) for manifest in manifests]
    if problems or not outcomes:
        outcomes.insert(0, ManifestOutcome(file, (), problems))
    return tuple(one._replace(inputs=found + one.inputs) for one in outcomes)


def run_manifest(manifest: Manifest, options: Reading) -> ManifestOutcome:
    """Return what came of one manifest: its policies compiled once, every row checked."""
    rows = chosen_rows(manifest, options)
    if not rows:
        # Where it has none its policies are there to be reached all the same.
        file = manifest.document.file
        if manifest.rows:
            passed_over = tuple(row.policy for row in manifest.rows)
            return ManifestOutcome(file, (), (), passed_over=passed_over)
        unreached = CoverageRecorder(())
        if options.coverage:
            read_test(manifest, (), unreached.listen, options.walking)
        return ManifestOutcome(file, (), (no_rows(manifest),), points=unreached.points())
    recorder = CoverageRecorder(rows) if options.coverage else None
    listen = recorder.listen if recorder else None
    inputs = read_test(manifest, rows, listen, options.walking, stamped=options.stamped)
    begin = recorder.runs_of(inputs.suite, lenient=options.lenient) if recorder else None
    bench = None if inputs.unusable else row_context(manifest, inputs, begin)
    # Judging silent rows asks rules once more, which is no test of them.
    points = recorder.points() if recorder else ()
    outcomes: tuple[RowOutcome, ...] = ()
    if bench:
        bench = bench._replace(reasons=compile_suite_reasons(inputs))
        found = check_rows(rows, inputs.suite, bench, lenient=options.lenient)
        outcomes = tuple(
            placed(manifest, row, one, keep_goldens=options.goldens) for row, one in found
        )
    file = manifest.document.file
    return ManifestOutcome(
        file, outcomes, inputs.diagnostics, inputs.stamps, points, left_out=inputs.left_out
    )


def chosen_rows(manifest: Manifest, options: Reading) -> tuple[ExpectedRow, ...]:
    """Return the rows that are to be checked, narrowed to the resources that are selected."""
    narrowed = (options.selector.narrow(row, lenient=options.lenient) for row in manifest.rows)
    return tuple(row for row in narrowed if row is not None)


def row_context(
    manifest: Manifest, inputs: ManifestInputs, begin: OnRun | None = None
) -> RowContext:
    """Return what the rows of a manifest are checked against: its policies are evaluated here."""
    operations = (row.operation for row in manifest.rows if row.operation)
    observed = observe(inputs.suite, operations, begin)
    return RowContext(observed, inputs.files, inputs.refused, inputs.unread)


def placed(
    manifest: Manifest, row: ExpectedRow, outcome: RowOutcome, *, keep_goldens: bool
) -> RowOutcome:
    """Return an outcome with whole paths of expected files, and the place of a failed row."""

    def whole(file: str) -> str:
        return os.path.normpath(os.path.join(os.path.dirname(manifest.document.file), file))

    found = outcome
    if outcome.goldens:
        named = tuple(one._replace(file=whole(one.file)) for one in outcome.goldens)
        found = found._replace(goldens=named if keep_goldens else ())
    if not outcome.failed:
        return found
    found = found._replace(location=manifest.document.locate(row.path))
    if found.difference is None:
        return found
    return found._replace(difference=found.difference._replace(file=whole(found.difference.file)))


def no_rows(manifest: Manifest) -> Diagnostic:
    """Return the remark on a manifest that tests nothing."""
    text = "no rows under `results`: nothing is tested"
    return Diagnostic("KV042", Severity.WARNING, text, manifest.document.locate(()))


# Test manifests case by case, for programs that choose themselves which rows to check, and when.
#
# A case is an expected row for one of the resources that it names; rows are read strictly.

_ALL = "*"


class Case(NamedTuple):
    """What one row expects of one resource; of all that it means where they can't be told apart."""

    name: str
    """`policy/rule/resource`, `*` for what the row leaves open."""
    row: ExpectedRow


class CaseFile(NamedTuple):
    """What a file of tests holds: manifests, each with its cases."""

    manifests: tuple[tuple[Manifest, tuple[Case, ...]], ...]
    diagnostics: tuple[Diagnostic, ...]


class OpenManifest(NamedTuple):
    """A manifest whose inputs are read and whose policies have been evaluated."""

    diagnostics: tuple[Diagnostic, ...]
    check: Callable[[ExpectedRow], tuple[RowOutcome, ...]] | None
    """Returns what came of a row, at least one outcome; None where inputs could not be used."""


def read_cases(file: str) -> CaseFile:
    """Return the cases of a file; only the file itself is read."""
    manifests, problems = read_manifests(file)
    empty = tuple(no_rows(one) for one in manifests if not one.rows)
    found = tuple((one, tuple(_cases(one))) for one in manifests)
    return CaseFile(found, (*problems, *empty))


def open_manifest(manifest: Manifest) -> OpenManifest:
    """Return a manifest ready to be checked, case by case, in any order."""
    inputs = read_test(manifest, manifest.rows)
    if inputs.unusable:
        return OpenManifest(inputs.diagnostics, None)
    bench = row_context(manifest, inputs)._replace(reasons=compile_suite_reasons(inputs))

    def check(row: ExpectedRow) -> tuple[RowOutcome, ...]:
        found = check_rows((row,), inputs.suite, bench, lenient=False)
        return tuple(placed(manifest, row, one, keep_goldens=False) for _, one in found)

    return OpenManifest(inputs.diagnostics, check)


def _cases(manifest: Manifest) -> Iterator[Case]:
    for row in manifest.rows:
        for one in _one_by_one(row):
            names = [*(one.resources or ()), *("/".join(filter(None, spec)) for spec in one.specs)]
            parts = (one.policy, one.rule or _ALL, ",".join(names) or _ALL)
            yield Case("/".join(parts), one)


def _one_by_one(row: ExpectedRow) -> Iterator[ExpectedRow]:
    """Yield the row for each resource that it names.

    Where several files are expected, any of the resources may be the one that brings each about:
    such a row stays whole.
    """
    names = row.resources or ()
    if len(row.generated) > 1 or len(names) + len(row.specs) < 2:
        yield row
        return
    for name in names:
        yield row._replace(resources=(name,), specs=())
    for spec in row.specs:
        yield row._replace(resources=(), specs=(spec,))


# `test --watch`: manifests run again when something that they depend on has changed.

INTERVAL = 0.5
"""Seconds between two looks at the files."""
SETTLING = 0.1
"""Seconds from the first sign of a change to the run: editors save in several steps."""


class Round(NamedTuple):
    """What came of one run of all that had changed, and how everything stands after it."""

    fresh: SuiteOutcome
    """The manifests that have just run, and what is new about the paths."""
    whole: SuiteOutcome
    gone: tuple[str, ...] = ()
    """Files of manifests that are no longer there."""


class _Standing(NamedTuple):
    """What came of each file when it ran last."""

    outcomes: Mapping[str, tuple[ManifestOutcome, ...]]
    said: tuple[Diagnostic, ...]


class _Changes(NamedTuple):
    """What differs from how things stand."""

    files: tuple[str, ...]
    """All files of manifests that there are now."""
    said: tuple[Diagnostic, ...]
    stale: tuple[str, ...]
    gone: tuple[str, ...]
    any: bool


def watch_tests(run: SuiteRun, sleep: Callable[[float], None]) -> Iterator[Round]:
    """Yield a round of everything, then one whenever something has changed; this never ends.

    Between two looks `sleep` is called with seconds. A change during a run counts: what lay at a
    path is noted before it is read.
    """
    run = run._replace(options=run.options._replace(stamped=True))
    standing = _Standing({}, ())
    changes = _changes(run, standing)
    while True:
        fresh = dict(zip(changes.stale, run_files(changes.stale, run), strict=True))
        outcomes = {file: fresh.get(file) or standing.outcomes[file] for file in changes.files}
        news = () if changes.said == standing.said else changes.said
        standing = _Standing(outcomes, changes.said)
        yield Round(_joined(fresh, news), _joined(outcomes, changes.said), changes.gone)
        changes = _wait(run, standing, sleep)


def _wait(run: SuiteRun, standing: _Standing, sleep: Callable[[float], None]) -> _Changes:
    """Return what has changed, once something has; what is taken back at once does not count."""
    while True:
        sleep(INTERVAL)
        if _changes(run, standing).any:
            sleep(SETTLING)
            changes = _changes(run, standing)
            if changes.any:
                return changes


def _changes(run: SuiteRun, standing: _Standing) -> _Changes:
    files, said = find_files(run)
    walking = run.options.walking
    # Manifests share inputs: each is looked at once.
    look = cache(lambda path: fingerprint(path, walking))

    def is_stale(file: str) -> bool:
        outcomes = standing.outcomes.get(file)
        if outcomes is None:
            return True
        return any(look(found.path) != found for one in outcomes for found in one.inputs)

    stale = tuple(file for file in files if is_stale(file))
    there = frozenset(files)
    gone = tuple(file for file in standing.outcomes if file not in there)
    changed = bool(stale or gone) or said != standing.said
    return _Changes(files, said, stale, gone, changed)


def _joined(
    outcomes: Mapping[str, tuple[ManifestOutcome, ...]], said: tuple[Diagnostic, ...]
) -> SuiteOutcome:
    return suite_outcome(tuple(chain.from_iterable(outcomes.values())), said)
