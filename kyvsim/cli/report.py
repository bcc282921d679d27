"""`kyvsim report`: merges and counts partial reports."""

from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import click

from kyvsim.cli.apply_fleet import WHOLE, counts_of, whole_of
from kyvsim.cli.command import Group
from kyvsim.cli.options import (
    colour_option,
    fail_on_option,
    list_option,
    strict_option,
    warn_status_option,
)
from kyvsim.cli.parameters import OUTPUT, Options, argument, bad_value, flag_option, safe_option
from kyvsim.fleet import FleetError
from kyvsim.fleet.reports import Reports, reports_in
from kyvsim.fleet.store import ReportStore
from kyvsim.report.fleet import PARTS
from kyvsim.report.style import Show


@click.group(cls=Group)
def report() -> None:
    """Merge or summarize partial reports written by `apply --partials`."""


command = report
_folders = argument("partials", nargs=-1, required=True, metavar="PARTIALS...")
_REST = MappingProxyType(
    {"warn_no_pass": False, "show_ignored": False, "detailed_results": False, "show": None}
)
"""Values of options that only `apply` has."""


_format = safe_option(
    "-o",
    "--output-format",
    "--format",
    type=click.Choice(WHOLE, case_sensitive=False),
    default=WHOLE[0],
    show_default=True,
    group=OUTPUT,
    help="Output format.",
)


@report.command(short_help="Merge partial reports and show the results.")
@_format
@flag_option("--detailed-results", group=OUTPUT, help="Also show passed and skipped rules.")
@safe_option(
    "--show",
    type=click.Choice((Show.CHANGES.value, Show.OBJECTS.value)),
    group=OUTPUT,
    help="Detail: `changes` groups identical findings with reasons, `objects` prints a line "
    "per result [default: changes].",
)
@strict_option
@fail_on_option
@warn_status_option
@colour_option
@_folders
def merge(partials: tuple[str, ...], **options: Any) -> int:
    """Merge partial reports and show them in the format of `apply`.

    PARTIALS are folders or URLs written by `apply --partials`, of one run or of several runs with
    the same policies and options. Duplicate reports of a file are counted once.
    """
    return _shown(partials, options, whole_of)


@report.command(short_help="Count the results in partial reports.")
@list_option(
    "--by",
    metavar=f"[{'|'.join(PARTS)}]",
    group=OUTPUT,
    help=f"Property to group by [default: {PARTS[0]}]. Repeatable.",
)
@_format
@strict_option
@fail_on_option
@warn_status_option
@colour_option
@_folders
@click.pass_context
def summary(ctx: click.Context, /, partials: tuple[str, ...], **options: Any) -> int:
    """Count the results in PARTIALS, folders or URLs written by `apply --partials`."""
    for name in options["by"]:
        if name not in PARTS:
            raise bad_value(ctx, "--by", f"{name}: choose from {', '.join(PARTS)}")
    return _shown(partials, options, counts_of)


def _shown(
    partials: tuple[str, ...],
    options: Options,
    show: Callable[[Reports, str, Options], int],
) -> int:
    try:
        reports = reports_in(ReportStore(folder) for folder in dict.fromkeys(partials))
        return show(reports, options["output_format"], {**_REST, **options})
    except FleetError as error:
        raise click.ClickException(str(error)) from None
