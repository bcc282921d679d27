"""`kyvsim apply`: policies over resources."""

import os
import stat
import sys
import time
from collections.abc import Iterator
from typing import Any, Final

import click

from kyvsim.api import ApplyInputs, Source
from kyvsim.api.apply import Application, application_of, known_by_now
from kyvsim.cli.command import Command
from kyvsim.cli.input_options import (
    check_inputs,
    input_options,
    inputs_of,
    stdin_for,
    with_manifests_named,
)
from kyvsim.cli.options import (
    colour_option,
    extent_of,
    extent_options,
    fail_on_option,
    fleet_options,
    is_distributed,
    jobs_option,
    refused_options,
    strict_option,
    warn_status_option,
    warnings_as_errors_option,
)
from kyvsim.cli.output_files import (
    Chosen,
    ObjectFiles,
    ReportFiles,
    formats_option,
    reader_of,
    report_files,
)
from kyvsim.cli.parameters import (
    EVALUATION,
    OUTPUT,
    STATUS,
    Effect,
    Options,
    PathType,
    bad_value,
    flag_option,
    option,
    safe_option,
)
from kyvsim.cli.run_output import (
    View,
    chosen_by,
    document_set,
    is_for_people,
    show_run,
    shown_pieces,
    streams,
    summary_style,
)
from kyvsim.cli.streams import SummaryStyle, is_terminal, print_stderr, waiting, with_progress
from kyvsim.kubernetes.quantities import format_duration, parse_duration
from kyvsim.model.result import RunVerdict
from kyvsim.report.formats import RUN_FORMATS as FORMATS
from kyvsim.report.formats import YAML
from kyvsim.report.run import DocumentSet, Run, baseline_text, run_ending
from kyvsim.report.style import Show, counted, safe_line

_FORMAT_NAMES = frozenset({*FORMATS, "yml", "wide", "name"})
"""Names of formats, which are not accepted as files for changed objects."""


_HELP = """Evaluate policies on resources and show the results.

POLICY is a file, a folder or - for standard input.

\b
    kyvsim apply policies/ --resource pods.yaml
    kubectl get pods -o yaml | kyvsim apply policies/ -r -
"""


_LIFETIME = "720h0m0s"


def _lifetime(ctx: click.Context, param: click.Parameter, value: str) -> str:
    """Return a duration in Go's format; "" for 0."""
    nanoseconds = parse_duration(value)
    if nanoseconds is None or nanoseconds < 0:
        raise bad_value(ctx, param.opts[-1], f"{value}: not a time such as 168h or 90m")
    return format_duration(nanoseconds) if nanoseconds else ""


@click.command(
    "apply",
    cls=Command,
    go_spelling=True,
    help=_HELP,
    epilog="Exit status: 0 if nothing failed, 1 if a rule failed or could not be evaluated, 2 if "
    "some input could not be used.",
)
@input_options
@option(
    "-o",
    "--output",
    effect=Effect.WRITES_OBJECTS,
    default="",
    type=PathType(is_written=True),
    group=OUTPUT,
    help="Write mutated and generated resources to this file (.yaml) or folder. Not a "
    "format: see --output-format.",
)
@formats_option(FORMATS, short=False)
@flag_option("-p", "--policy-report", group=OUTPUT, help="Print a policy report (openreports.io).")
@flag_option("-t", "--table", group=OUTPUT, help="Print the results as a table.")
@flag_option("--detailed-results", group=OUTPUT, help="Also show passed and skipped rules.")
@flag_option(
    "--explain", group=OUTPUT, help="Explain each result step by step, as `kyvsim explain` does."
)
@flag_option("--diff", group=OUTPUT, help="Show mutations as a line-by-line diff.")
@safe_option(
    "--show",
    type=click.Choice(tuple(detail.value for detail in Show)),
    metavar="[changes|all|objects]",
    group=OUTPUT,
    help="Detail: `changes` groups identical findings, `all` lists every object, `objects` "
    "prints full objects.",
)
@flag_option(
    "-i", "--stdin", group=OUTPUT, help="Print only the mutated resources, for piping into kubectl."
)
@flag_option(
    "--generate-exceptions",
    group=OUTPUT,
    help="Print PolicyExceptions that would exempt every failure.",
)
@safe_option(
    "--generated-exception-ttl",
    default=_LIFETIME,
    callback=_lifetime,
    metavar="DURATION",
    group=OUTPUT,
    help="Lifetime of the generated exceptions, such as 168h (0: unlimited).",
)
@flag_option(
    "--check-idempotent",
    group=EVALUATION,
    help="Run mutate rules twice and fail if the second run changes anything.",
)
@safe_option(
    "--baseline",
    default="",
    type=PathType(),
    metavar="FILE",
    group=STATUS,
    help="Read known failures from FILE; only new failures affect the exit status.",
)
@option(
    "--write-baseline",
    effect=Effect.WRITES_FILE,
    default="",
    type=PathType(is_written=True),
    metavar="FILE",
    group=STATUS,
    help="Write the current failures to FILE as a baseline. With --baseline, only remove entries "
    "that no longer occur.",
)
@strict_option
@warnings_as_errors_option
@fail_on_option
@extent_options("Show only failures.", "Also show passed rules, input files and ignored files.")
@jobs_option("or a single one for small inputs without --engine")
@fleet_options
@colour_option
@flag_option("--audit-warn", group=STATUS, help="Report failures of Audit policies as warnings.")
@warn_status_option
@flag_option("--warn-no-pass", group=STATUS, help="Exit with --warn-exit-code if no rule passed.")
@refused_options
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> int:
    """Run `kyvsim apply` and return its exit status.

    upstream: cmd/cli/kubectl-kyverno/commands/apply/command.go
    """
    wider = ("detailed_results", "show_ignored")
    options = extent_of(with_manifests_named(options), ctx, wider)
    check_inputs(ctx, options)
    if options["warn_no_pass"] and not options["warn_exit_code"]:
        text = "--warn-no-pass has no effect without --warn-exit-code N: add it"
        raise click.UsageError(text, ctx)
    if "-" in {options["baseline"], options["write_baseline"]}:
        raise click.UsageError("a baseline must be a file, not standard input or output (-)", ctx)
    if options["output"] in _FORMAT_NAMES:
        name = options["output"]
        raise click.UsageError(
            f"-o {name}: -o names a file or folder for changed objects; formats are chosen with "
            f"--output-format (for a folder of that name: -o ./{name})",
            ctx,
        )
    chosen = chosen_by(options, ctx)
    is_fleet = is_distributed(options)
    if is_fleet:
        from kyvsim.cli.apply_fleet import (  # noqa: PLC0415 — only for such runs
            apply_fleet,
            check_fleet,
        )

        check_fleet(options, chosen, ctx)
    inputs = inputs_of(options, ctx)._replace(
        audit_warn=options["audit_warn"],
        check_idempotent=options["check_idempotent"],
        baseline=options["baseline"],
        records_failures=bool(options["write_baseline"]),
    )
    stdin = stdin_for(options, ctx)
    if options["explain"]:
        from kyvsim.cli.explain import explain_applied

        return explain_applied((inputs, stdin), options, chosen, ctx)
    if is_fleet:
        return apply_fleet(inputs, stdin, options, chosen)
    if not options["output"]:
        files = None
    else:
        reads = reader_of(options, ctx)
        written = {os.path.realpath(path) for _, path in chosen.files}
        files = ObjectFiles(
            options["output"], lambda path: os.path.realpath(path) in written or reads(path)
        )
    try:
        with (
            report_files(chosen, FORMATS) as reports,
            ReportFiles(filter(None, (options["write_baseline"],)), (YAML,)) as baseline,
        ):
            return _apply((inputs, stdin), options, chosen, (files, reports, baseline))
    finally:
        if files:
            files.discard()


def _apply(
    given: tuple[ApplyInputs, bytes | None],
    options: Options,
    chosen: Chosen,
    outputs: tuple[ObjectFiles | None, ReportFiles, ReportFiles],
) -> int:
    files, reports, baseline = outputs
    begun = time.perf_counter()
    run = open_run(*given, options["jobs"], document_set(chosen, options))

    def pieces(current: Run) -> Iterator[str]:
        if is_terminal(sys.stderr) and not (streams(chosen, options) and is_terminal(sys.stdout)):
            responses = with_progress(current.responses, current.resource_count, "applying")
        else:
            responses = current.responses
        return shown_pieces(current._replace(responses=responses), chosen, options, reports, files)

    def finish(current: Run) -> None:
        reports.commit()
        if files:
            print_stderr(f"wrote {files.commit()} to {safe_line(options['output'])}")
        if options["write_baseline"]:
            # Nothing is written if an input could not be used.
            path = options["write_baseline"]
            if run_ending(current).verdict is RunVerdict.INCOMPLETE:
                print_stderr(safe_line(f"{path} not written: some input could not be used"))
            else:
                known = known_by_now(current)
                baseline.fill((baseline_text(known),))
                print_stderr(
                    safe_line(f"wrote {counted(sum(known.values()), 'failure')} to {path}")
                )

    render_options = summary_style(chosen, options)
    view = View(
        is_for_people(chosen),
        SummaryStyle(render_options, begun) if render_options else None,
        FORMATS[chosen.shown].media,
    )
    return show_run(run, options, pieces, view, finish=finish)


_LARGE: Final = 2_000_000
"""Size of resources in bytes from which they are read in blocks."""
_MANY: Final = 100_000
"""Product of the numbers of rules and resources from which several processes are faster."""


def open_run(inputs: ApplyInputs, stdin: bytes | None, jobs: int, documents: DocumentSet) -> Run:
    """Return the run: in blocks for large resources, and in several processes if that is faster."""
    is_large = sum(_size_of(path, stdin) for path in inputs.resources) >= _LARGE
    application = None if is_large else _read(inputs, stdin)
    if application:
        run = application.run
        pays_off = jobs > 1 or (jobs == 0 and run.rule_count * run.resource_count >= _MANY)
        if not pays_off or not run.applied:
            return run
    from kyvsim.cli.apply_blocks import (  # noqa: PLC0415 — only for such runs
        distributed,
        run_in_blocks,
    )

    if application is None:
        streamed, jobs = run_in_blocks(inputs, stdin, jobs, documents)
        if streamed is not None:
            return streamed
        application = _read(inputs, stdin)
        if jobs < 2 or not application.run.applied:
            return application.run
    return distributed(application, jobs, documents)


def _read(inputs: ApplyInputs, stdin: bytes | None) -> Application:
    with waiting("reading files", shown=is_terminal(sys.stderr)):
        return application_of(inputs, stdin)


def _size_of(path: str | Source, stdin: bytes | None) -> int:
    """Return the size of a resource file in bytes; 0 for others."""
    if isinstance(path, Source):
        return len(path.text)
    if path == "-":
        return len(stdin or b"")
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) else 0
