"""`kyvsim test`: runs, creates, updates and watches tests."""

import os
import sys
import time
from collections.abc import Callable, Mapping
from datetime import datetime
from decimal import Decimal, InvalidOperation
from itertools import chain
from typing import Any, NamedTuple

import click

from kyvsim.api.mutants import try_mutants
from kyvsim.api.suite import Reading, SuiteRun, run_tests, watch_tests
from kyvsim.api.suite_files import Created, Creation, create_test, plan_updates
from kyvsim.cli.command import Command
from kyvsim.cli.golden_files import check_place, write_files, write_updates
from kyvsim.cli.options import (
    colour_option,
    extent_of,
    extent_options,
    force_option,
    jobs_option,
    offline_options,
    print_ignored,
    release_option,
    resource_option,
    seconds_option,
    strict_option,
    walking_of,
    walking_options,
    warnings_as_errors_option,
)
from kyvsim.cli.output_files import (
    Chosen,
    ReportFiles,
    chosen_files,
    chosen_formats,
    formats_option,
    reader_of,
    refuse_existing,
    refuse_named,
    refuse_overwriting,
    refuse_read,
    report_files,
    write_reports,
)
from kyvsim.cli.parameters import (
    COVERAGE,
    EVALUATION,
    OUTPUT,
    STATUS,
    Effect,
    Options,
    PathType,
    argument,
    bad_value,
    combined,
    flag_option,
    option,
    safe_option,
)
from kyvsim.cli.run_output import reported_deprecations
from kyvsim.cli.streams import (
    FAILED,
    OK,
    UNUSABLE,
    Interrupted,
    close,
    is_terminal,
    print_diagnostics,
    print_stderr,
    shown_width,
    shows_colours,
    waiting,
    with_progress,
    write_out,
    writing_to,
)
from kyvsim.load.folders import Walking
from kyvsim.load.suite_manifest import find_manifests
from kyvsim.model.diagnostic import strictly
from kyvsim.model.suite import Demands, SuiteOutcome
from kyvsim.report.coverage import percent_text
from kyvsim.report.formats import COVERAGE_FORMATS
from kyvsim.report.formats import SUITE_FORMATS as FORMATS
from kyvsim.report.style import counted, safe_line
from kyvsim.report.suite_text import (
    SuiteOptions,
    diff_text,
    every_diagnostic,
    everything_left_out,
    reaches_enough,
    suite_ending,
    summary_line,
    unusable_manifests,
)
from kyvsim.suite.row_targets import RowSelectorError, parse_selector


def percent_option(_ctx: click.Context, _param: click.Parameter, value: str | None) -> Any:
    """Return a percentage, with or without its sign."""
    if value is None:
        return None
    try:
        percent = Decimal(value.removesuffix("%"))
    except InvalidOperation:
        raise click.BadParameter(f"`{value}` is not a number") from None
    if not percent.is_finite() or not 0 <= percent <= 100:
        raise click.BadParameter(f"`{value}` is not in the range from 0 to 100")
    return percent


_SECONDS = 120


coverage_options = combined(
    flag_option(
        "--coverage", group=COVERAGE, help="Show rules, branches and outcomes that no row reached."
    ),
    option(
        "--coverage-report",
        effect=Effect.WRITES_FILE,
        multiple=True,
        metavar="FORMAT=FILE",
        type=PathType(separator="=", offered=tuple(COVERAGE_FORMATS)),
        group=COVERAGE,
        help=f"Write coverage to a file: {', '.join(COVERAGE_FORMATS)}. Repeatable.",
    ),
    safe_option(
        "--coverage-threshold",
        metavar="PERCENT",
        callback=percent_option,
        group=COVERAGE,
        help="Fail if total coverage is below PERCENT.",
    ),
)
"""Each of these enables coverage."""


def wants_coverage(options: Mapping[str, object]) -> bool:
    """Return whether one of the coverage options is set."""
    names = ("coverage", "coverage_report", "coverage_threshold")
    return any(options[name] not in {False, (), None} for name in names)


mutants_options = combined(
    flag_option(
        "--mutants",
        group=COVERAGE,
        help="Mutation testing: show changes to the policies that no test detects.",
    ),
    safe_option(
        "--min-score",
        metavar="PERCENT",
        callback=percent_option,
        group=COVERAGE,
        help="Fail if the tests detect less than PERCENT of the mutants.",
    ),
    seconds_option(
        _SECONDS,
        "Time limit for --mutants, in seconds; the remaining mutants are reported as not tried "
        "and count as not detected for --min-score.",
    ),
)
"""A minimum score also enables mutation testing."""


def wants_mutants(options: Mapping[str, object]) -> bool:
    """Return whether one of the mutation testing options is set."""
    return any(options[name] not in {False, None} for name in ("mutants", "min_score"))


def _creation(options: Options, ctx: click.Context) -> Creation:
    policies, resources = options["paths"], options["resource"]
    if not policies or not resources:
        text = "--create needs policies and resources: kyvsim test --create POLICY -r RESOURCE"
        raise click.UsageError(text, ctx)
    if options["update"] or options["lenient"] or options["fix"]:
        raise click.UsageError("--create cannot be combined with --update, --lenient or --fix", ctx)
    for is_given, others in (
        (options["watch"], "--watch"),
        (wants_coverage(options), "coverage options"),
        (wants_mutants(options), "--mutants or --min-score"),
    ):
        if is_given:
            text = f"--create cannot be combined with {others}: it runs no tests"
            raise click.UsageError(text, ctx)
    # The folder may also be given with -o, which predates --output.
    folders = (options["output"],) if options["output"] else options["output_format"]
    if len(folders) > 1:
        raise click.UsageError("--create writes to one folder: pass it with --output", ctx)
    for path in (*policies, *resources):
        if path == "-" or "://" in path:
            text = f"--create needs files that the test can refer to, not {path}"
            raise click.UsageError(text, ctx)
    name = options["file_name"]
    if os.path.basename(name) != name:
        raise click.UsageError(f"--file-name {name}: --create needs a file name, not a path", ctx)
    return Creation(
        policies, resources, folders[0] if folders else ".", name, release=options["release"]
    )


def create(options: Options, ctx: click.Context) -> int:
    """Write a new test; return the exit status."""
    creation = _creation(options, ctx)
    created = create_test(creation)
    for diagnostic in created.diagnostics:
        print_stderr(safe_line(str(diagnostic)))
    for text in created.remarks:
        print_stderr(safe_line(f"warning: {text}"))
    if not created.files:
        reason = "there is no result that a row could expect"
        print_stderr(f"error: nothing written: {'see above' if created.unusable else reason}")
        return UNUSABLE
    refuse_read((file.path for file in created.files), reader_of(options, ctx))
    _write(created, creation, force=options["force"])
    return OK


def _write(created: Created, creation: Creation, *, force: bool) -> None:
    """Write all files; or none if one exists and `force` is not set."""
    if not force:
        refuse_existing(file.path for file in created.files)
    with writing_to(creation.folder):
        os.makedirs(creation.folder or ".", exist_ok=True)
    for file in created.files:
        check_place(file)
    for file in created.files:
        write_files([file])
        print_stderr(safe_line(f"wrote {os.path.normpath(file.path)}"))
    print_stderr(
        safe_line(
            f"{counted(created.row_count, 'row')}; run them with: kyvsim test {creation.folder}"
        )
    )


class Clock(NamedTuple):
    """A clock with a sleep function."""

    sleep: Callable[[float], None] = time.sleep
    now: Callable[[], datetime] = lambda: datetime.now().astimezone()


MACHINE = Clock()


def check_watch(options: Mapping[str, object], chosen: Chosen, ctx: click.Context) -> None:
    """Raise UsageError for options that contradict --watch."""
    for is_given, other, reason in (
        (options["update"], "--update", "each run would write the files again"),
        (wants_coverage(options), "--coverage", "it reruns only affected tests"),
        (wants_mutants(options), "--mutants", "they take too long for each change"),
        (options["warnings_as_errors"], "--warnings-as-errors", "it would end the first run"),
    ):
        if is_given:
            raise click.UsageError(f"--watch cannot be combined with {other}: {reason}", ctx)
    if not FORMATS[chosen.shown].for_people:
        views = " or ".join(name for name, format_ in FORMATS.items() if format_.for_people)
        text = (
            f"--watch prints {views}, one report after the other: "
            f"write {chosen.shown} to a file with --output-format {chosen.shown}=FILE"
        )
        raise click.UsageError(text, ctx)


def watch(
    run: SuiteRun, chosen: Chosen, options: Mapping[str, object], clock: Clock
) -> SuiteOutcome:
    """Show each round; return the last outcome after an interrupt or a closed output.

    An interrupt in the first round is raised.
    """
    last: SuiteOutcome | None = None
    suite_options = _suite_options(options)
    try:
        for round_ in watch_tests(run, clock.sleep):
            last = round_.whole
            fresh, whole = (_with_demands(one, options) for one in (round_.fresh, last))
            print_diagnostics(every_diagnostic(fresh))
            reported_deprecations(_deprecated(fresh), options)
            write_reports(
                (path, FORMATS[name].media, FORMATS[name].write(whole, suite_options))
                for name, path in chosen.files
            )
            if fresh.total and not _show(fresh, chosen, options):
                break
            broken = unusable_manifests(last)
            unusable = f"; {counted(broken, 'manifest')} with unusable input" if broken else ""
            gone = "".join(f"deleted  {safe_line(file)}\n" for file in round_.gone)
            summary = f"{clock.now():%H:%M:%S}  all: {summary_line(last)}{unusable}"
            if not write_out([gone, "\n", f"{summary}; waiting for changes\n", "\n"]):
                break
    except (KeyboardInterrupt, Interrupted):
        if last is None:
            raise
        print_stderr("")  # put the shell's prompt below the terminal's ^C
    return last or SuiteOutcome((), ())


_HELP = """Run policy tests (kyverno-test.yaml).

PATH is a test file or a folder, searched recursively [default: .]. A test row (an entry under
`results`) fails if its policy, rule or resource does not exist, or if the rule did not run.

\b
    kyvsim test .
    kyvsim test policies/ --test-case-selector 'policy=require-*' --detailed-results
    kyvsim test . --output-format text --output-format junit=report.xml
    kyvsim test --create policy.yaml -r resources.yaml --output tests/new
"""


@click.command(
    "test",
    cls=Command,
    go_spelling=True,
    help=_HELP,
    epilog="Exit status: 0 if all rows passed, 1 if a row failed or a threshold was missed, 2 if "
    "some input could not be used.",
)
@argument("paths", nargs=-1, metavar="PATH...", type=PathType(), key="tests")
@safe_option(
    "-f",
    "--file-name",
    default="kyverno-test.yaml",
    show_default=True,
    metavar="NAME",
    group=EVALUATION,
    help="File name of the tests.",
)
@safe_option(
    "-t",
    "--test-case-selector",
    default="policy=*,rule=*,resource=*",
    show_default=True,
    metavar="SELECTOR",
    group=EVALUATION,
    help="Run only matching rows; wildcards are allowed.",
)
@flag_option(
    "--lenient",
    group=EVALUATION,
    help="Count rows as Kyverno's CLI does: a row whose rule never ran passes.",
)
@release_option()
@formats_option(FORMATS)
@flag_option("--fail-only", group=OUTPUT, help="Show only failed rows.")
@flag_option("--detailed-results", group=OUTPUT, help="Also show passed rows and messages.")
@strict_option
@warnings_as_errors_option
@extent_options("Same as --fail-only.", "Same as --detailed-results --show-ignored.")
@colour_option
@flag_option("--require-tests", group=STATUS, help="Fail if there are no tests.")
@option(
    "--update",
    effect=Effect.OVERWRITES,
    is_flag=True,
    group=OUTPUT,
    help="Update the expected-resource files named in the tests with the current mutated and "
    "generated resources.",
)
@option(
    "--fix",
    effect=Effect.OVERWRITES,
    is_flag=True,
    group=OUTPUT,
    help="First replace outdated fields of test files with their successors, keeping comments, "
    "and show the changes as a diff.",
)
@option(
    "--create",
    effect=Effect.OVERWRITES,
    is_flag=True,
    group=OUTPUT,
    help="Create a test in --output: evaluate the policies in PATH on the --resource files and "
    "record the results as expected.",
)
@option(
    "--output",
    effect=Effect.WRITES_NEW,
    metavar="DIR",
    type=PathType(is_written=True),
    group=OUTPUT,
    help="Folder for --create [default: .].",
)
@flag_option(
    "--watch",
    group=OUTPUT,
    help="Rerun affected tests when files change; Ctrl-C exits with the status of the last run.",
)
@resource_option("Resources for --create: files or folders. Repeatable.")
@force_option("Let --create overwrite files.")
@walking_options
@coverage_options
@mutants_options
@jobs_option("or a single one for few test files without --mutants")
@offline_options("--registry", "--git-branch")
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> int:
    """Run `kyvsim test` and return its exit status."""
    options = extent_of(options, ctx, ("detailed_results", "show_ignored"))
    if options["create"]:
        return create(options, ctx)
    options["paths"] = options["paths"] or (os.curdir,)
    if options["resource"] or options["force"] or options["output"]:
        raise click.UsageError("--resource, --output and --force require --create", ctx)
    chosen = chosen_formats(options, FORMATS, ctx)
    coverage_files = chosen_files(
        options["coverage_report"], COVERAGE_FORMATS, "--coverage-report", ctx
    )
    if wants_mutants(options) and options["update"]:
        text = "--mutants cannot be combined with --update: the files would depend on the mutant"
        raise click.UsageError(text, ctx)
    reports = [(f"--coverage-report {name}", path) for name, path in coverage_files]
    written = (*chosen.files, *reports)
    refuse_overwriting(written, options, ctx)
    try:
        selector = parse_selector(options["test_case_selector"])
    except RowSelectorError as error:
        raise bad_value(ctx, "--test-case-selector", str(error)) from None
    if options["fix"]:
        _fix(options, walking_of(options, ctx), shows=FORMATS[chosen.shown].for_people)
    run = SuiteRun(
        paths=options["paths"],
        file_name=options["file_name"],
        options=Reading(
            selector,
            options["lenient"],
            options["update"],
            bool(
                options["coverage"] or coverage_files or options["coverage_threshold"] is not None
            ),
            walking_of(options, ctx),
            stamped=bool(written),
            release=options["release"],
        ),
        jobs=options["jobs"],
    )
    if options["watch"]:
        check_watch(options, chosen, ctx)
        last = watch(run, chosen, options, MACHINE)
        ending = suite_ending(_with_demands(last, options))
        close(ending, on_stdout=True)
        return ending.status
    with report_files(chosen, FORMATS) as files:

        def refuse(outcome: SuiteOutcome) -> None:
            stamps = (stamp for manifest in outcome.manifests for stamp in manifest.inputs)
            read = (mark.path for stamp in stamps for mark in stamp.marks)
            refuse_named(written, read, ctx)

        return _run_once(run, options, chosen, files, refuse, coverage_files)


def _fix(options: Options, walking: Walking, *, shows: bool) -> None:
    """Replace outdated fields of the tests."""
    from kyvsim.cli.lint import fix_tests  # noqa: PLC0415 — loads all checks of lint

    found = (find_manifests(path, options["file_name"], walking)[0] for path in options["paths"])
    fix_tests(chain.from_iterable(found), shows=shows)


def _run_once(
    run: SuiteRun,
    options: Options,
    chosen: Chosen,
    files: ReportFiles,
    refuse: Callable[[SuiteOutcome], None],
    coverage_files: tuple[tuple[str, str], ...],
) -> int:
    """Run and report tests; `refuse` raises UsageError if an output is an input of a manifest."""
    is_shown = is_terminal(sys.stderr)
    measured = run_tests(
        run,
        lambda outcomes, total: with_progress(outcomes, total, "testing") if is_shown else outcomes,
    )
    refuse(measured)
    if reported_deprecations(_deprecated(measured), options):
        return FAILED
    if wants_mutants(options):
        with waiting("trying mutants", shown=is_shown):
            measured = measured._replace(mutants=try_mutants(run, options["seconds"]))
    outcome = _with_demands(measured, options)
    outcome = outcome._replace(
        demands=outcome.demands._replace(
            coverage=options["coverage_threshold"] or Decimal(),
            score=options["min_score"] or Decimal(),
        )
    )
    print_diagnostics(every_diagnostic(outcome))
    for_people = FORMATS[chosen.shown].for_people
    if options["update"] and not for_people:
        outcome = _updated(outcome, chosen)
    _show(outcome, chosen, options)
    if options["update"] and for_people:
        outcome = _updated(outcome, chosen)
    files.fill(FORMATS[name].write(outcome, _suite_options(options)) for name, _ in chosen.files)
    _report_coverage(outcome, chosen, coverage_files)
    print_ignored(everything_left_out(outcome), options)
    ending = suite_ending(outcome)
    close(ending, on_stdout=for_people)
    return ending.status


def _deprecated(outcome: SuiteOutcome) -> list[str]:
    return [line for manifest in outcome.manifests for line in manifest.deprecated]


def _with_demands(outcome: SuiteOutcome, options: Options) -> SuiteOutcome:
    """Return an outcome with the requirements of --require-tests and --strict."""
    if options["strict"]:
        strict = (one._replace(diagnostics=strictly(one.diagnostics)) for one in outcome.manifests)
        outcome = outcome._replace(
            manifests=tuple(strict), diagnostics=strictly(outcome.diagnostics)
        )
    return outcome._replace(demands=Demands(options["require_tests"]))


def _report_coverage(
    outcome: SuiteOutcome, chosen: Chosen, files: tuple[tuple[str, str], ...]
) -> None:
    if outcome.coverage is None:
        return
    write_reports(
        (path, COVERAGE_FORMATS[name].media, COVERAGE_FORMATS[name].write(outcome.coverage))
        for name, path in files
    )
    lines = COVERAGE_FORMATS["text"].write(outcome.coverage)
    if chosen.shown == "text":
        write_out(("\n", *lines, "\n"))
    else:
        print_stderr("".join(lines).rstrip())
    if not reaches_enough(outcome):
        actual = percent_text(outcome.coverage.ratio).lstrip()
        print_stderr(f"error: coverage is below {outcome.demands.coverage}%: {actual}")


def _updated(outcome: SuiteOutcome, chosen: Chosen) -> SuiteOutcome:
    """Update expected files; return the outcome with the number of failures.

    Views for people show the differences themselves, so they come first.
    """
    updates = plan_updates(outcome)
    rows = (row for manifest in outcome.manifests for row in manifest.rows if row.goldens)
    for row in rows if chosen.shown != "text" else ():
        if row.difference:
            print_stderr(diff_text(row.difference))
    return outcome._replace(not_updated=write_updates(updates))


def _show(outcome: SuiteOutcome, chosen: Chosen, options: Mapping[str, object]) -> bool:
    """Write a format to standard output; return whether the reader still exists."""
    shown = FORMATS[chosen.shown]
    suite_options = _suite_options(options)._replace(
        colours=shows_colours(), width=shown_width(sys.stdout)
    )
    return write_out(shown.write(outcome, suite_options), shown.media)


def _suite_options(options: Options) -> SuiteOptions:
    return SuiteOptions(
        detailed=options["detailed_results"],
        fail_only=options["fail_only"] or options["quiet"],
        statistics=options["statistics"],
    )
