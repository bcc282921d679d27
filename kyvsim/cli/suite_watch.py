"""`kyvsim test --watch`: rounds shown as they come, until an interrupt ends them."""

import time
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

import click

from kyvsim.api.suite import SuiteRun
from kyvsim.api.suite_watch import Round, watch_tests
from kyvsim.cli.exit_status import Interrupted
from kyvsim.cli.report_files import Chosen
from kyvsim.cli.streams import print_stderr, write_out
from kyvsim.cli.suite_options import wants_coverage, wants_mutants
from kyvsim.model.suite import SuiteOutcome
from kyvsim.report.formats import SUITE_FORMATS as FORMATS
from kyvsim.report.style import counted, safe_line
from kyvsim.report.suite_text import summary_line, unusable_manifests


def _local_time() -> datetime:
    return datetime.now().astimezone()


class Clock(NamedTuple):
    """How time passes."""

    sleep: Callable[[float], None] = time.sleep
    now: Callable[[], datetime] = _local_time


MACHINE = Clock()
"""Time as it passes on this machine."""


def check_watch(options: Mapping[str, Any], chosen: Chosen, ctx: click.Context) -> None:
    """Raise UsageError where another option does not go with --watch."""
    if options["update"]:
        text = "--watch does not go with --update: each round would write the files again"
        raise click.UsageError(text, ctx)
    if wants_coverage(options):
        text = "--watch does not go with --coverage: a round runs only what has changed"
        raise click.UsageError(text, ctx)
    if wants_mutants(options):
        text = "--watch does not go with --mutants: it takes too long for every change"
        raise click.UsageError(text, ctx)
    if not FORMATS[chosen.shown].for_people:
        views = " or ".join(name for name, one in FORMATS.items() if one.for_people)
        text = (
            f"--watch shows {views}, one report after the other: "
            f"give {chosen.shown} a file, --output-format {chosen.shown}=FILE"
        )
        raise click.UsageError(text, ctx)


def watch(run: SuiteRun, show: Callable[[Round], bool], clock: Clock) -> SuiteOutcome:
    """Show each round, and return how things stand when an interrupt comes or nobody reads on.

    `show` returns whether standard output still has a reader. The interrupt is raised again
    if not even the first round was completed.
    """
    last: SuiteOutcome | None = None
    try:
        for one in watch_tests(run, clock.sleep):
            last = one.whole
            if not (show(one) and _sum_up(one, clock.now())):
                break
    except (KeyboardInterrupt, Interrupted):
        if last is None:
            raise
        print_stderr("")  # the shell's prompt goes below the terminal's ^C
    return last or SuiteOutcome((), ())


def _sum_up(one: Round, now: datetime) -> bool:
    """Write how everything stands on one line; return whether somebody reads it."""
    broken = unusable_manifests(one.whole)
    unusable = f"; {counted(broken, 'manifest')} with unusable input" if broken else ""
    gone = "".join(f"gone  {safe_line(file)}\n" for file in one.gone)
    line = f"{now:%H:%M:%S}  all: {summary_line(one.whole)}{unusable}; waiting for changes\n"
    return write_out([gone, "\n", line, "\n"])
