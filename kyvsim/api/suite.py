"""`test`: runs test manifests and explains failures."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from itertools import chain
from typing import NamedTuple, TypeAlias

from kyvsim.api.explain_rows import compile_explain
from kyvsim.api.mismatches import mismatches
from kyvsim.api.processes import each_in_processes
from kyvsim.api.suite_inputs import ManifestInputs, read_test
from kyvsim.api.system import processors
from kyvsim.engine.evaluate import evaluate
from kyvsim.engine.explain import Recorder, explanation_of
from kyvsim.kubernetes.objects import changed_fields, object_key, path_text
from kyvsim.languages import compile_policies
from kyvsim.load.fingerprints import fingerprint
from kyvsim.load.folders import USUAL, Walking
from kyvsim.load.suite_manifest import find_manifests, hint_for_folder, read_manifests
from kyvsim.model.coverage import Coverage
from kyvsim.model.diagnostic import Diagnostic, Severity, has_errors, listed, without_left_out
from kyvsim.model.policy import Policy, Rule
from kyvsim.model.release import NEWEST, Release
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
from kyvsim.report.diagnostics import failure_reasons, rule_place
from kyvsim.report.results import Row
from kyvsim.suite.check import check_rows
from kyvsim.suite.compare import FindMismatches, FindReasons, RowContext
from kyvsim.suite.coverage import CoverageRecorder, merged_coverage
from kyvsim.suite.row_targets import RowSelector
from kyvsim.suite.run import OnRun, ResourceAnswers, observe

# Explanations of unexpected results: the rule is evaluated again.


def compile_suite_reasons(inputs: ManifestInputs) -> FindReasons:
    """Return a function that explains test results; for passed rules, only with the position.

    The mutations that changed the object before the rule come last.
    """

    def reasons(
        answers: ResourceAnswers, response: PolicyResponse, result: RuleResult
    ) -> tuple[ReportedReason, ...]:
        request = answers.request
        seen = request.object if response.phase is Phase.MUTATE else response.object
        row = Row(response.policy, result, result.status.value, seen)
        if result.status is RuleStatus.PASS or request.is_payload:
            return (ReportedReason("", rule_place(row)), *_earlier_mutations(answers, response))

        key = object_key(request.object)
        documents = inputs.suite.resources
        document = next((one for one in documents if object_key(one.data) == key), None)
        about = EngineResponse(
            request.object, response.object, (response,), document, request=request
        )
        found = failure_reasons(row, about, compile_explain(inputs.options, answers.world, ()))
        return (*found, *_earlier_mutations(answers, response))

    return reasons


_LISTED = 3
"""The number of changed fields that a reason lists."""


def _earlier_mutations(
    answers: ResourceAnswers, response: PolicyResponse
) -> Iterator[ReportedReason]:
    """Yield what changed the object of a response before it was evaluated, and which fields."""
    before: object = answers.request.object
    for one in answers.mutations:
        if one.policy is response.policy and one.phase is response.phase:
            return
        fields = [f"`{path_text(path)}`" for path in changed_fields(before, one.object)]
        more = f" and {len(fields) - _LISTED} more" if len(fields) > _LISTED else ""
        applied = [result for result in one.results if result.status is RuleStatus.PASS]
        names = [result.rule.name for result in applied if result.rule.name]
        title = " / ".join(filter(None, (one.policy.key, ", ".join(names))))
        text = f"changed before by `{title}`: {', '.join(fields[:_LISTED])}{more}"
        place = one.policy.document.locate(applied[0].rule.path if applied else ())
        yield ReportedReason(text, place)
        before = one.object


def compile_suite_mismatches(inputs: ManifestInputs) -> FindMismatches:
    """Return a function that explains why rules do not match a resource of a test."""

    def reasons(
        answers: ResourceAnswers, policy: Policy, rules: Iterable[Rule]
    ) -> tuple[ReportedReason, ...]:
        if answers.request.is_payload:
            return ()
        recorder = Recorder()
        policies, _ = compile_policies((policy,), inputs.options._replace(tracer=recorder))
        response = evaluate(policies, answers.request, answers.world)
        found = explanation_of(response, recorder.taken(), policies)
        paths = {rule.path for rule in rules}
        return tuple(
            reason for rule, reason in mismatches(found, in_test=True) if rule.rule.path in paths
        )

    return reasons


# Codes: KV049 a folder without manifests, KV074 a selector that matches no row.

_FEW = 50
"""Maximum number of manifests for which one process is faster than several."""
_FIRST = 8
"""Number of manifests that run before processes are forked, so that these share loaded modules."""

_USUAL_NAME = "kyverno-test.yaml"


class Reading(NamedTuple):
    """Options for reading and running manifests."""

    selector: RowSelector = RowSelector()
    lenient: bool = False
    goldens: bool = False
    """Whether to keep the contents of expected files."""
    coverage: bool = False
    walking: Walking = USUAL
    stamped: bool = False
    """Whether to record the fingerprints of the paths that are read."""
    release: Release = NEWEST


class SuiteRun(NamedTuple):
    """The inputs of `kyvsim test`."""

    paths: tuple[str, ...]
    file_name: str = _USUAL_NAME
    options: Reading = Reading()
    jobs: int = 0
    """Number of processes; 0 for one per processor if it is worth it."""


Outcomes: TypeAlias = Iterator[tuple[ManifestOutcome, ...]]


def run_tests(
    run: SuiteRun, watching: Callable[[Outcomes, int], Outcomes] | None = None
) -> SuiteOutcome:
    """Return the outcomes of all manifests in the paths, in their order.

    The result does not depend on the number of processes. `watching` is given the outcomes of files
    and their number, and yields the outcomes.
    """
    files, diagnostics = find_files(run)
    coming = run_files(files, run)
    outcomes = tuple(chain.from_iterable(watching(coming, len(files)) if watching else coming))
    points = (point for outcome in outcomes for point in outcome.points)
    coverage = merged_coverage(points, os.path.realpath) if run.options.coverage else None
    passed_over = [name for outcome in outcomes for name in outcome.passed_over]
    if passed_over and not any(outcome.rows for outcome in outcomes):
        text = f"--test-case-selector matches no row: there are rows for {listed(passed_over)}"
        diagnostics = (*diagnostics, Diagnostic("KV074", Severity.WARNING, text))
    outcome = suite_outcome(outcomes, diagnostics, coverage)
    return outcome._replace(release=run.options.release.name)


def suite_outcome(
    outcomes: tuple[ManifestOutcome, ...],
    diagnostics: tuple[Diagnostic, ...],
    coverage: Coverage | None = None,
) -> SuiteOutcome:
    """Return the outcome of all manifests, with the diagnostics of their paths."""
    remarks, left_out = without_left_out(diagnostics)
    return SuiteOutcome(outcomes, remarks, coverage, left_out=left_out)


def find_files(run: SuiteRun) -> tuple[tuple[str, ...], tuple[Diagnostic, ...]]:
    """Return the manifest files without duplicates, and the diagnostics of the paths."""
    files: list[str] = []
    diagnostics: list[Diagnostic] = []
    empty: list[str] = []
    for path in run.paths:
        manifests, problems = find_manifests(path, run.file_name, run.options.walking)
        files += manifests
        diagnostics += problems
        if not manifests and not has_errors(problems):
            empty.append(path)
    for path in empty:
        text = f"there is no `{run.file_name}` in or below this folder"
        # A custom name for manifests shows that the folder contains tests.
        is_meant = bool(files) or run.file_name != _USUAL_NAME
        hint = "" if is_meant else hint_for_folder(path, run.options.walking)
        diagnostics.append(Diagnostic("KV049", Severity.ERROR, text + hint, Location(path)))
    return tuple(dict.fromkeys(files)), tuple(diagnostics)


def run_files(files: tuple[str, ...], run: SuiteRun) -> Outcomes:
    """Yield the outcomes of each file, in order."""
    jobs = run.jobs or (processors() if len(files) > _FEW else 1)
    work = partial(run_file, options=run.options)
    yield from each_in_processes(work, files, jobs, chunk=4, first=_FIRST)


def run_file(file: str, options: Reading) -> tuple[ManifestOutcome, ...]:
    """Return the outcome of each manifest in a file; of the file if it has none."""
    stamps = (fingerprint(file, options.walking),) if options.stamped else ()
    manifests, problems = read_manifests(file)
    outcomes = [run_manifest(manifest, options) for manifest in manifests]
    if problems or not outcomes:
        outcomes.insert(0, ManifestOutcome(file, (), problems))
    return tuple(outcome._replace(inputs=stamps + outcome.inputs) for outcome in outcomes)


def run_manifest(manifest: Manifest, options: Reading) -> ManifestOutcome:
    """Return the outcome of a manifest."""
    rows = chosen_rows(manifest, options)
    if not rows:
        # Without rows, the coverage of its policies is still reported.
        file = manifest.document.file
        if manifest.rows:
            passed_over = tuple(row.policy for row in manifest.rows)
            return ManifestOutcome(file, (), (), passed_over=passed_over)
        unreached = CoverageRecorder(())
        if options.coverage:
            read_test(manifest, (), unreached, options.walking, release=options.release)
        return ManifestOutcome(file, (), (no_rows(manifest),), points=unreached.points())
    recorder = CoverageRecorder(rows) if options.coverage else None
    inputs = read_test(
        manifest,
        rows,
        recorder,
        options.walking,
        stamped=options.stamped,
        release=options.release,
    )
    begin = recorder.runs_of(inputs.suite, lenient=options.lenient) if recorder else None
    context = None if inputs.unusable else row_context(manifest, inputs, begin)
    # Rows without results evaluate rules again below, which does not count.
    points = recorder.points() if recorder else ()
    outcomes: tuple[RowOutcome, ...] = ()
    if context:
        context = context._replace(
            reasons=compile_suite_reasons(inputs), mismatches=compile_suite_mismatches(inputs)
        )
        checked = check_rows(rows, inputs.suite, context, lenient=options.lenient)
        outcomes = tuple(
            placed(manifest, row, outcome, keep_goldens=options.goldens) for row, outcome in checked
        )
    file = manifest.document.file
    return ManifestOutcome(
        file,
        outcomes,
        inputs.diagnostics,
        inputs.stamps,
        points,
        left_out=inputs.left_out,
        deprecated=inputs.deprecated,
    )


def chosen_rows(manifest: Manifest, options: Reading) -> tuple[ExpectedRow, ...]:
    """Return the rows to check, restricted to the selected resources."""
    narrowed = (options.selector.narrow(row, lenient=options.lenient) for row in manifest.rows)
    return tuple(row for row in narrowed if row is not None)


def row_context(
    manifest: Manifest, inputs: ManifestInputs, begin: OnRun | None = None
) -> RowContext:
    """Return the expected values for the rows of a manifest; this evaluates its policies."""
    operations = (row.operation for row in manifest.rows if row.operation)
    observed = observe(inputs.suite, operations, begin)
    return RowContext(observed, inputs.files, inputs.refused, inputs.unread)


def placed(
    manifest: Manifest, row: ExpectedRow, outcome: RowOutcome, *, keep_goldens: bool
) -> RowOutcome:
    """Return an outcome with complete paths of expected files, and the position of a failed row."""

    def whole(file: str) -> str:
        return os.path.normpath(os.path.join(os.path.dirname(manifest.document.file), file))

    result = outcome
    if outcome.goldens:
        named = tuple(golden._replace(file=whole(golden.file)) for golden in outcome.goldens)
        result = result._replace(goldens=named if keep_goldens else ())
    if not outcome.failed:
        return result
    result = result._replace(location=manifest.document.locate(row.path))
    if result.difference is None:
        return result
    difference = result.difference._replace(file=whole(result.difference.file))
    return result._replace(difference=difference)


def no_rows(manifest: Manifest) -> Diagnostic:
    """Return the warning about a manifest without rows."""
    text = "no rows under `results`: nothing is tested"
    return Diagnostic("KV042", Severity.WARNING, text, manifest.document.locate(()))


# Manifests by test case, for the pytest plugin: a case is a row for one of its resources.

_ALL = "*"


class Case(NamedTuple):
    """The expectation of a row for one resource, or for all if they cannot be separated."""

    name: str
    """`policy/rule/resource`, `*` for any."""
    row: ExpectedRow


class CaseFile(NamedTuple):
    """The manifests of a file, each with its test cases."""

    manifests: tuple[tuple[Manifest, tuple[Case, ...]], ...]
    diagnostics: tuple[Diagnostic, ...]


class OpenManifest(NamedTuple):
    """A manifest whose inputs are read and whose policies are evaluated."""

    diagnostics: tuple[Diagnostic, ...]
    check: Callable[[ExpectedRow], tuple[RowOutcome, ...]] | None
    """Returns the outcomes of a row, at least one; None if inputs could not be used."""


def read_cases(file: str) -> CaseFile:
    """Return the cases of a file, without reading other files."""
    manifests, problems = read_manifests(file)
    empty = tuple(no_rows(manifest) for manifest in manifests if not manifest.rows)
    with_cases = tuple((manifest, tuple(_cases(manifest))) for manifest in manifests)
    return CaseFile(with_cases, (*problems, *empty))


def open_manifest(manifest: Manifest) -> OpenManifest:
    """Return a manifest whose cases can be checked in any order."""
    inputs = read_test(manifest, manifest.rows)
    if inputs.unusable:
        return OpenManifest(inputs.diagnostics, None)
    context = row_context(manifest, inputs)._replace(
        reasons=compile_suite_reasons(inputs), mismatches=compile_suite_mismatches(inputs)
    )

    def check(row: ExpectedRow) -> tuple[RowOutcome, ...]:
        checked = check_rows((row,), inputs.suite, context, lenient=False)
        return tuple(placed(manifest, row, outcome, keep_goldens=False) for _, outcome in checked)

    return OpenManifest(inputs.diagnostics, check)


def _cases(manifest: Manifest) -> Iterator[Case]:
    for row in manifest.rows:
        for case in _one_by_one(row):
            specs = ("/".join(filter(None, spec)) for spec in case.specs)
            names = [*(case.resources or ()), *specs]
            parts = (case.policy, case.rule or _ALL, ",".join(names) or _ALL)
            yield Case("/".join(parts), case)


def _one_by_one(row: ExpectedRow) -> Iterator[ExpectedRow]:
    """Yield one row for each resource that a row names.

    With several expected files, any of the resources may produce each: such a row is not split.
    """
    names = row.resources or ()
    if len(row.generated) > 1 or len(names) + len(row.specs) < 2:
        yield row
        return
    for name in names:
        yield row._replace(resources=(name,), specs=())
    for spec in row.specs:
        yield row._replace(resources=(), specs=(spec,))


# `test --watch`: runs manifests again when their inputs change.

INTERVAL = 0.5
"""Seconds between two checks for changes."""
SETTLING = 0.1
"""Seconds between a change and the run, since editors save in several steps."""


class Round(NamedTuple):
    """The outcomes of changed manifests, and of all manifests."""

    fresh: SuiteOutcome
    whole: SuiteOutcome
    gone: tuple[str, ...] = ()


class _SuiteState(NamedTuple):
    """The last outcomes of each file."""

    outcomes: Mapping[str, tuple[ManifestOutcome, ...]]
    diagnostics: tuple[Diagnostic, ...]


class _Changes(NamedTuple):
    """Changes since the last run."""

    files: tuple[str, ...]
    diagnostics: tuple[Diagnostic, ...]
    stale: tuple[str, ...]
    gone: tuple[str, ...]
    any: bool


def watch_tests(run: SuiteRun, sleep: Callable[[float], None]) -> Iterator[Round]:
    """Yield a round of all manifests, then one after each change, forever.

    `sleep` waits for seconds between checks. Changes during a run are detected, since fingerprints
    are computed before files are read.
    """
    run = run._replace(options=run.options._replace(stamped=True))
    state = _SuiteState({}, ())
    changes = _changes(run, state)
    release = run.options.release.name
    while True:
        fresh = dict(zip(changes.stale, run_files(changes.stale, run), strict=True))
        outcomes = {file: fresh.get(file) or state.outcomes[file] for file in changes.files}
        news = () if changes.diagnostics == state.diagnostics else changes.diagnostics
        state = _SuiteState(outcomes, changes.diagnostics)
        whole = _joined(outcomes, changes.diagnostics, release)
        yield Round(_joined(fresh, news, release), whole, changes.gone)
        changes = _wait(run, state, sleep)


def _wait(run: SuiteRun, state: _SuiteState, sleep: Callable[[float], None]) -> _Changes:
    """Return the next change; a change that is reverted immediately is ignored."""
    while True:
        sleep(INTERVAL)
        if _changes(run, state).any:
            sleep(SETTLING)
            changes = _changes(run, state)
            if changes.any:
                return changes


def _changes(run: SuiteRun, state: _SuiteState) -> _Changes:
    files, diagnostics = find_files(run)
    walking = run.options.walking
    # Cached, since manifests share inputs.
    current = cache(lambda path: fingerprint(path, walking))

    def is_stale(file: str) -> bool:
        outcomes = state.outcomes.get(file)
        if outcomes is None:
            return True
        return any(current(found.path) != found for outcome in outcomes for found in outcome.inputs)

    stale = tuple(file for file in files if is_stale(file))
    there = frozenset(files)
    gone = tuple(file for file in state.outcomes if file not in there)
    changed = bool(stale or gone) or diagnostics != state.diagnostics
    return _Changes(files, diagnostics, stale, gone, changed)


def _joined(
    outcomes: Mapping[str, tuple[ManifestOutcome, ...]],
    diagnostics: tuple[Diagnostic, ...],
    release: str,
) -> SuiteOutcome:
    outcome = suite_outcome(tuple(chain.from_iterable(outcomes.values())), diagnostics)
    return outcome._replace(release=release)
