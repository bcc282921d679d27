"""`kyvsim test`: manifests that say what policies are expected to do."""

import os
import sys
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import click

from kyvsim.api.mutants import try_mutants
from kyvsim.api.suite import Outcomes, Reading, SuiteRun, run_tests
from kyvsim.api.suite_update import plan_updates
from kyvsim.api.suite_watch import Round
from kyvsim.cli.closing import close, print_diagnostics
from kyvsim.cli.command import Command
from kyvsim.cli.golden_files import write_updates
from kyvsim.cli.options import (
    colour_option,
    extent_of,
    extent_options,
    jobs_option,
    list_option,
    offline_options,
    strict_option,
)
from kyvsim.cli.overwriting import refuse_named, refuse_overwriting
from kyvsim.cli.parameters import (
    EVALUATION,
    INPUT,
    OUTPUT,
    STATUS,
    Effect,
    PathType,
    argument,
    bad_value,
    option,
    safe_option,
)
from kyvsim.cli.report_files import (
    Chosen,
    ReportFiles,
    chosen_formats,
    formats_option,
    report_files,
    write_reports,
)
from kyvsim.cli.streams import is_terminal, print_stderr, shown_width, shows_colours, write_out
from kyvsim.cli.suite_create import create
from kyvsim.cli.suite_options import (
    CoverageOptions,
    MutationOptions,
    chosen_coverage,
    chosen_mutants,
    coverage_options,
    mutants_options,
    report_if_too_low,
    write_coverage,
)
from kyvsim.cli.suite_watch import MACHINE, check_watch, watch
from kyvsim.cli.walking import print_ignored, walking_of, walking_options
from kyvsim.model.diagnostic import strictly
from kyvsim.model.suite import Demands, SuiteOutcome
from kyvsim.report.formats import SUITE_FORMATS as FORMATS
from kyvsim.report.progress import waiting, with_progress
from kyvsim.report.suite_text import (
    SuiteOptions,
    diff_text,
    every_diagnostic,
    everything_left_out,
    suite_ending,
)
from kyvsim.suite.row_targets import RowSelector, RowSelectorError, parse_selector


class Outputs(NamedTuple):
    """Where a run goes."""

    chosen: Chosen
    files: ReportFiles
    refuse: Callable[[SuiteOutcome], None]
    """Raises UsageError where a file to be written is one that a manifest names."""


_HELP = """Run policy tests (kyverno-test.yaml).

PATH is a test file or a folder, searched recursively [default: .]. A row fails if its policy, rule
or resource does not exist or if the rule never ran.

\b
    kyvsim test .
    kyvsim test policies/ --test-case-selector 'policy=require-*' --detailed-results
    kyvsim test . --output-format text --output-format junit=report.xml
    kyvsim test --create policy.yaml -r resources.yaml -o tests/new
"""


@click.command(
    "test",
    cls=Command,
    go_spelling=True,
    help=_HELP,
    epilog="Exit status: 0 all rows passed, 1 a row failed or a threshold was missed, "
    "2 some input could not be used.",
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
@safe_option(
    "--lenient",
    is_flag=True,
    group=EVALUATION,
    help="Count rows as Kyverno's CLI does: a row whose rule never ran passes.",
)
@formats_option(FORMATS)
@safe_option("--fail-only", is_flag=True, group=OUTPUT, help="Show only failed rows.")
@safe_option(
    "--detailed-results",
    is_flag=True,
    group=OUTPUT,
    help="Also show passed rows and messages.",
)
@strict_option
@extent_options
@colour_option
@safe_option("--require-tests", is_flag=True, group=STATUS, help="Fail if there are no tests.")
@option(
    "--update",
    effect=Effect.OVERWRITES,
    is_flag=True,
    group=OUTPUT,
    help="Overwrite the expected files of rows with the current mutated and generated resources.",
)
@option(
    "--create",
    effect=Effect.OVERWRITES,
    is_flag=True,
    group=OUTPUT,
    help="Create a test in the folder -o from the current results of the policies PATH on "
    "--resource.",
)
@safe_option(
    "--watch",
    is_flag=True,
    group=OUTPUT,
    help="Rerun affected tests when files change; Ctrl-C exits with the status of the last run.",
)
@list_option(
    "-r",
    "--resource",
    "--resources",
    effect=Effect.NONE,
    group=INPUT,
    help="Resources for --create: files or folders. Repeatable.",
    paths=True,
)
@option(
    "--force",
    effect=Effect.OVERWRITES,
    is_flag=True,
    group=OUTPUT,
    help="Let --create overwrite files.",
)
@walking_options
@coverage_options()
@mutants_options()
@jobs_option
@offline_options("--registry", "--git-branch")
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> int:
    """Run `kyvsim test` and return its exit status."""
    options = extent_of(options, ctx, ("detailed_results", "show_ignored"))
    if options["create"]:
        return create(options, ctx)
    options["paths"] = options["paths"] or (os.curdir,)
    if options["resource"] or options["force"]:
        raise click.UsageError("--resource and --force go with --create", ctx)
    chosen = chosen_formats(options, FORMATS, ctx)
    wishes = chosen_coverage(options, ctx), chosen_mutants(options, ctx)
    reports = [(f"--coverage-report {name}", path) for name, path in wishes[0].files]
    written = (*chosen.files, *reports)
    refuse_overwriting(written, options, ctx)
    run = SuiteRun(
        paths=options["paths"],
        file_name=options["file_name"],
        options=Reading(
            _selector(options["test_case_selector"], ctx),
            options["lenient"],
            options["update"],
            wishes[0].wanted,
            walking_of(options, ctx),
            stamped=bool(written),
        ),
        jobs=options["jobs"],
    )
    if options["watch"]:
        check_watch(options, chosen, ctx)
        last = watch(run, lambda one: _show_round(one, chosen, options), MACHINE)
        ending = suite_ending(_judged(last, options))
        close(ending, on_stdout=True)
        return ending.status
    with report_files(chosen, FORMATS) as files:

        def refuse(outcome: SuiteOutcome) -> None:
            stamps = (one for each in outcome.manifests for one in each.inputs)
            read = (mark.path for one in stamps for mark in one.marks)
            refuse_named(written, read, ctx)

        return _run_once(run, options, wishes, Outputs(chosen, files, refuse))


def _run_once(
    run: SuiteRun,
    options: Mapping[str, Any],
    wishes: tuple[CoverageOptions, MutationOptions],
    outputs: Outputs,
) -> int:
    chosen, files = outputs.chosen, outputs.files
    coverage, mutants = wishes
    found = run_tests(run, _watched)
    outputs.refuse(found)
    if mutants.wanted:
        with waiting("trying mutants", shown=is_terminal(sys.stderr)):
            found = found._replace(mutants=try_mutants(run, mutants.seconds))
    outcome = _judged(found, options, wishes)
    print_diagnostics(every_diagnostic(outcome))
    for_people = FORMATS[chosen.shown].for_people
    if options["update"] and not for_people:
        outcome = _updated(outcome, chosen)
    _show(outcome, chosen, options)
    if options["update"] and for_people:
        outcome = _updated(outcome, chosen)
    files.fill(FORMATS[name].write(outcome, _sight(options)) for name, _ in chosen.files)
    _cover(outcome, chosen, coverage)
    print_ignored(everything_left_out(outcome), options)
    ending = suite_ending(outcome)
    close(ending, on_stdout=for_people)
    return ending.status


def _watched(outcomes: Outcomes, total: int) -> Outcomes:
    """Return what comes of manifests, with a progress bar on a terminal: rows are shown later."""
    if not is_terminal(sys.stderr):
        return outcomes
    return with_progress(outcomes, total, "testing")


def _judged(
    outcome: SuiteOutcome,
    options: Mapping[str, Any],
    wishes: tuple[CoverageOptions, MutationOptions] | None = None,
) -> SuiteOutcome:
    """Return an outcome with what the options ask of it."""
    demands = Demands(options["require_tests"])
    if wishes is not None:
        demands = demands._replace(coverage=wishes[0].threshold, score=wishes[1].score)
    return (_strict(outcome) if options["strict"] else outcome)._replace(demands=demands)


def _strict(outcome: SuiteOutcome) -> SuiteOutcome:
    """Return an outcome in which every warning is an error."""
    manifests = (one._replace(diagnostics=strictly(one.diagnostics)) for one in outcome.manifests)
    return outcome._replace(manifests=tuple(manifests), diagnostics=strictly(outcome.diagnostics))


def _cover(outcome: SuiteOutcome, chosen: Chosen, wish: CoverageOptions) -> None:
    """Write what was reached, below the rows if they are text."""
    if outcome.coverage is None:
        return
    lines = write_coverage(outcome.coverage, wish)
    if chosen.shown == "text":
        write_out(("\n", *lines, "\n"))
    else:
        print_stderr("".join(lines).rstrip())
    report_if_too_low(outcome)


def _updated(outcome: SuiteOutcome, chosen: Chosen) -> SuiteOutcome:
    """Write what files should hold; return the outcome with how many could not be written.

    A view for people shows the differences itself, so for those this is to come after it.
    """
    updates = plan_updates(outcome)
    rows = (row for one in outcome.manifests for row in one.rows if row.goldens)
    for row in rows if chosen.shown != "text" else ():
        if row.difference:
            print_stderr(diff_text(row.difference))
    return outcome._replace(not_updated=write_updates(updates))


def _selector(text: str, ctx: click.Context) -> RowSelector:
    try:
        return parse_selector(text)
    except RowSelectorError as error:
        raise bad_value(ctx, "--test-case-selector", str(error)) from None


def _show(outcome: SuiteOutcome, chosen: Chosen, options: Mapping[str, Any]) -> bool:
    """Write one format to standard output; return whether somebody reads it."""
    colours = shows_colours()
    return write_out(
        FORMATS[chosen.shown].write(
            outcome, _sight(options)._replace(colours=colours, width=shown_width(sys.stdout))
        ),
        FORMATS[chosen.shown].media,
    )


def _sight(options: Mapping[str, Any]) -> SuiteOptions:
    fail_only = options["fail_only"] or options["quiet"]
    return SuiteOptions(
        detailed=options["detailed_results"],
        fail_only=fail_only,
        statistics=options["statistics"],
    )


def _show_round(one: Round, chosen: Chosen, options: Mapping[str, Any]) -> bool:
    """Show what has just run; files get the report of everything. Return whether somebody reads."""
    fresh, whole = (_judged(outcome, options) for outcome in (one.fresh, one.whole))
    print_diagnostics(every_diagnostic(fresh))
    sight = _sight(options)
    write_reports(
        (path, FORMATS[name].media, FORMATS[name].write(whole, sight))
        for name, path in chosen.files
    )
    return not fresh.total or _show(fresh, chosen, options)
