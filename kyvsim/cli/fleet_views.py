"""What is shown of partial reports: all of a run as `apply` shows it, or counts."""

import sys
from collections.abc import Iterable, Mapping
from typing import Any

from kyvsim.cli.closing import ClosingLook
from kyvsim.cli.run_shown import View, show_run
from kyvsim.cli.streams import shown_width, shows_colours
from kyvsim.fleet.errors import FleetError
from kyvsim.fleet.reports import Reports
from kyvsim.model.partial import ToldRow
from kyvsim.report.fleet_summary import document, grouped, table
from kyvsim.report.log_commands import JSON
from kyvsim.report.look import Look, Show
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
    look = Look(
        colours=colours,
        detailed=options["detailed_results"],
        show=Show(options["show"] or Show.CHANGES),
        width=shown_width(sys.stdout),
    )

    def as_text(rows: Iterable[ToldRow]) -> tuple[str, list[str]]:
        return text_of(rows, look), []

    is_view = format_.for_people and look.show is not Show.OBJECTS
    run = reports.told_by(as_text if format_.for_people else json_of)
    return show_run(
        run,
        options,
        lambda one: render(format_.write, one, look),
        View(format_.for_people, ClosingLook(look) if is_view else None, format_.media),
    )


def counts_of(reports: Reports, shown: str, options: Mapping[str, Any]) -> int:
    """Write the counts of a run by what the options say, and return its exit status."""
    by = options.get("by") or ("cluster",)
    groups = grouped((one.head for one in reports.merged.pieces), by)
    run = reports.run
    if shown == "json":
        return show_run(
            run, options, lambda one: document(one, groups, by), View(for_people=False, media=JSON)
        )
    paint = painter(colours=shows_colours(unwanted=options["remove_color"]))
    return show_run(run, options, lambda one: table(one, groups, by, paint), View(for_people=True))
