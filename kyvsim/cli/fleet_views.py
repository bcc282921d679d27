"""What is shown of partial reports: all of a run as `apply` shows it, or counts."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from kyvsim.cli.closing import LineCount, close, remind
from kyvsim.cli.streams import say, shows_colours, write_out
from kyvsim.cli.walking import say_left_out
from kyvsim.fleet.errors import FleetError
from kyvsim.fleet.reports import Reports
from kyvsim.model.diagnostic import strictly
from kyvsim.model.partial import ToldRow
from kyvsim.report.fleet_summary import document, grouped, table
from kyvsim.report.remark_text import remark_text
from kyvsim.report.run import Look, Run, Terms
from kyvsim.report.run_ending import run_ending
from kyvsim.report.run_formats import FORMATS
from kyvsim.report.style import painter
from kyvsim.report.told_rows import json_of, text_of
from kyvsim.report.writing import render

WHOLE = ("text", "json")
"""The formats that rows without objects can be shown in."""


def whole_of(reports: Reports, shown: str, options: Mapping[str, Any]) -> int:
    """Write a run in a format as `apply` does, and return its exit status.

    Raises FleetError where the rows that are asked for are not there.
    """
    if options["detailed_results"] and not reports.plan.everything:
        text = "the partial reports hold no rows of passed and skipped rules"
        raise FleetError(f"--detailed-results: {text}: run `apply` with it")
    format_ = FORMATS[shown]
    colours = format_.for_people and shows_colours(unwanted=options["remove_color"])
    look = Look(colours=colours, detailed=options["detailed_results"])

    def as_text(rows: Iterable[ToldRow]) -> tuple[str, list[str]]:
        return text_of(rows, look), []

    run = reports.told_by(as_text if format_.for_people else json_of)
    for_people = format_.for_people
    return _shown(run, options, lambda one: render(format_.write, one, look), for_people=for_people)


def counts_of(reports: Reports, shown: str, options: Mapping[str, Any]) -> int:
    """Write the counts of a run by what the options say, and return its exit status."""
    by = options.get("by") or ("cluster",)
    groups = grouped((one.head for one in reports.merged.pieces), by)
    run = reports.run
    if shown == "json":
        return _shown(run, options, lambda one: document(one, groups, by), for_people=False)
    paint = painter(colours=shows_colours(unwanted=options["remove_color"]))
    return _shown(run, options, lambda one: table(one, groups, by, paint), for_people=True)


def _shown(
    run: Run,
    options: Mapping[str, Any],
    pieces_of: Callable[[Run], Iterator[str]],
    *,
    for_people: bool,
) -> int:
    run = run._replace(terms=Terms(options["warn_exit_code"], options["warn_no_pass"]))
    if options["strict"]:
        later = run.afterthoughts
        run = run._replace(
            diagnostics=strictly(run.diagnostics),
            afterthoughts=lambda matched: strictly(later(matched)),
        )
    for entry in run.diagnostics:
        say(remark_text(entry))
    say_left_out(run.left_out, options)
    lines = LineCount()
    write_out(lines.watching(pieces_of(run)))
    for entry in run.last_remarks():
        say(remark_text(entry))
    ending = run_ending(run)
    if for_people:
        remind(run.diagnostics, lines)
    close(ending, on_stdout=for_people)
    return ending.status
