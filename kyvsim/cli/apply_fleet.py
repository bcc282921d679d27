"""`kyvsim apply` for distributed runs (--engine, --partials), and the output of partial reports."""

import sys
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import ExitStack

import click

from kyvsim.api import ApplyInputs
from kyvsim.api.apply import render_document
from kyvsim.api.system import processors
from kyvsim.cli.output_files import Chosen
from kyvsim.cli.parameters import Options
from kyvsim.cli.run_output import View, show_run
from kyvsim.cli.streams import (
    SummaryStyle,
    is_terminal,
    shown_width,
    shows_colours,
    with_growing_progress,
)
from kyvsim.fleet import FleetError
from kyvsim.fleet.engines import dask, here, processes
from kyvsim.fleet.reports import Reports, reports_in
from kyvsim.fleet.run import Fleet, run_fleet
from kyvsim.fleet.store import ReportStore
from kyvsim.fleet.work import ClusterGrouping
from kyvsim.load.scratch import scratch_folder
from kyvsim.model.partial import ReportRow
from kyvsim.report.fleet import document, grouped, json_of, table, text_of
from kyvsim.report.formats import JSON
from kyvsim.report.formats import RUN_FORMATS as FORMATS
from kyvsim.report.style import RenderOptions, Show, painter


def check_fleet(options: Mapping[str, object], chosen: Chosen, ctx: click.Context) -> None:
    """Raise UsageError for options that contradict each other."""
    engine, partials = options["engine"], options["partials"]
    for name in ("scheduler", "partials_format", "resume", "cluster_per", "piece_size"):
        if options[name] and not (engine or partials):
            text = "applies to distributed runs only: add --engine or --partials"
            raise click.UsageError(f"--{name.replace('_', '-')} {text}", ctx)
    if engine == "dask" and not options["scheduler"]:
        text = "--engine dask needs --scheduler ADDRESS, such as tcp://127.0.0.1:8786"
        raise click.UsageError(text, ctx)
    if options["scheduler"] and engine != "dask":
        raise click.UsageError("--scheduler requires --engine dask", ctx)
    for name in ("resume", "partials_format"):
        if options[name] and not partials:
            spelled = f"--{name.replace('_', '-')}"
            raise click.UsageError(f"{spelled} requires --partials", ctx)
    _refuse(options, ctx)
    others = [name for name in (chosen.shown, *dict(chosen.files)) if name not in WHOLE]
    if others or chosen.files:
        what = f"--output-format {(others or [chosen.files[0][0] + '=FILE'])[0]}"
        text = (
            f"cannot be combined with --engine or --partials, which write one of {', '.join(WHOLE)}"
        )
        raise click.UsageError(f"{what} {text}", ctx)


_REFUSED = (
    *("table", "policy_report", "stdin", "diff", "output", "explain", "check_idempotent"),
    *("exceptions_with_resources", "json_files", "http_payload", "envoy_payload", "old_resource"),
    *("changed", "baseline", "quiet", "statistics", "write_baseline"),
)
"""Options that need all results in one process."""


def _refuse(options: Options, ctx: click.Context) -> None:
    for name in _REFUSED:
        if options[name]:
            spelled = f"--{name.removesuffix('_files').replace('_', '-')}"
            text = "cannot be combined with --engine or --partials: it needs all results at once"
            raise click.UsageError(f"{spelled} {text}", ctx)
    if options["show"] == Show.ALL:
        text = "partial reports group identical results and count the rest"
        raise click.UsageError(f"--show {options['show']}: {text}", ctx)
    if "-" in options["resource"]:
        text = "standard input cannot be distributed: write it to a file and pass that"
        raise click.UsageError(text, ctx)


def apply_fleet(inputs: ApplyInputs, stdin: bytes | None, options: Options, chosen: Chosen) -> int:
    """Run `kyvsim apply` distributed and return its exit status; raises click.ClickException."""
    try:
        with ExitStack() as stack:
            folder = options["partials"] or stack.enter_context(
                scratch_folder(tempfile.gettempdir())
            )
            store = ReportStore(folder, options["partials_format"] or "jsonl")
            jobs = options["jobs"] or processors()
            if options["engine"] == "dask":
                engine = dask(options["scheduler"])
            else:
                engine = processes(jobs) if jobs > 1 else here()
            fleet = Fleet(
                engine=engine,
                store=store,
                resume=options["resume"],
                per=ClusterGrouping(options["cluster_per"]) if options["cluster_per"] else None,
                piece_size=options["piece_size"],
                everything=options["detailed_results"] or bool(options["output_format"]),
            )
            progress = run_fleet(inputs, stdin, fleet)
            if is_terminal(sys.stderr):
                progress = with_growing_progress(progress, lambda one, _: one.total, "applying")
            for _ in progress:
                pass
            reports = reports_in([store])
            only_counts = options["partials"] and not options["output_format"]
            show = counts_of if only_counts else whole_of
            return show(reports, chosen.shown, options)
    except FleetError as error:
        raise click.ClickException(str(error)) from None


WHOLE = ("text", "json")


def whole_of(reports: Reports, shown: str, options: Options) -> int:
    """Write a run in a format, like `apply`, and return its exit status.

    Raises FleetError if the requested rows are not in the reports.
    """
    if options["detailed_results"] and not reports.plan.everything:
        text = "the partial reports contain no passed and skipped rules"
        raise FleetError(f"--detailed-results: {text}: run `apply` with it")
    format_ = FORMATS[shown]
    colours = format_.for_people and shows_colours()
    render_options = RenderOptions(
        colours=colours,
        detailed=options["detailed_results"],
        show=Show(options["show"] or Show.CHANGES),
        width=shown_width(sys.stdout),
    )

    def as_text(rows: Iterable[ReportRow]) -> tuple[str, list[str]]:
        return text_of(rows, render_options), []

    is_view = format_.for_people and render_options.show is not Show.OBJECTS
    run = reports.rendered_by(as_text if format_.for_people else json_of)
    return show_run(
        run,
        options,
        lambda run: render_document(format_.write, run, render_options),
        View(format_.for_people, SummaryStyle(render_options) if is_view else None, format_.media),
    )


def counts_of(reports: Reports, shown: str, options: Options) -> int:
    """Write the counts of a run in groups, and return its exit status."""
    by = options.get("by") or ("cluster",)
    groups = grouped((piece.head for piece in reports.merged.pieces), by)
    run = reports.run
    if shown == "json":
        return show_run(
            run, options, lambda run: document(run, groups, by), View(for_people=False, media=JSON)
        )
    paint = painter(colours=shows_colours())
    return show_run(run, options, lambda run: table(run, groups, by, paint), View(for_people=True))
