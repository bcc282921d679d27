"""A run as a command tells it: remarks, results, what is known only then, and how it ended."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from kyvsim.cli.closing import SummaryStyle, close, print_diagnostics
from kyvsim.cli.streams import write_out
from kyvsim.cli.walking import print_evaluated_files, print_ignored
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.report.ending import run_ending
from kyvsim.report.log_commands import TEXT
from kyvsim.report.run import ExitTerms, Run


def _nothing(_: Run) -> None:
    return None


class View(NamedTuple):
    """What standard output holds."""

    for_people: bool
    """Whether it is a view for people, which the closing line ends."""
    closing: SummaryStyle | None = None
    """How that looks; None for one that is a single line."""
    media: str = TEXT
    """Its media type."""


def show_run(
    run: Run,
    options: Mapping[str, Any],
    pieces_of: Callable[[Run], Iterable[str]],
    view: View,
    *,
    finish: Callable[[Run], None] = _nothing,
) -> int:
    """Write a run to standard output and what is said of it to standard error.

    `pieces_of` gives the texts of its results, of the run on the terms of the `options`;
    `finish` is called with that run when all are written, before the last remarks. Return the exit
    status.
    """
    run = _on_terms(run, options)
    errors, others = _parted(run.diagnostics)
    # A long view moves what stands above it off the screen, so its reader finds errors below it.
    below = errors if view.for_people else ()
    print_diagnostics(_rendered(others if view.for_people else run.diagnostics, options))
    if options.get("verbose"):
        print_evaluated_files(run.policies)
    print_ignored(run.left_out, options)
    write_out(pieces_of(run), view.media)
    print_diagnostics(below)
    finish(run)
    print_diagnostics(_rendered(run.final_diagnostics(), options))
    ending = run_ending(run)
    close(ending, on_stdout=view.for_people, closing=view.closing)
    return ending.status


def _parted(
    remarks: tuple[Diagnostic, ...],
) -> tuple[tuple[Diagnostic, ...], tuple[Diagnostic, ...]]:
    """Return the errors, and all other remarks."""
    errors = tuple(one for one in remarks if one.severity is Severity.ERROR)
    return errors, tuple(one for one in remarks if one.severity is not Severity.ERROR)


def _rendered(
    remarks: tuple[Diagnostic, ...], options: Mapping[str, Any]
) -> tuple[Diagnostic, ...]:
    """Return the remarks that are said: where only failures are asked for, errors."""
    if not options.get("quiet"):
        return remarks
    return tuple(one for one in remarks if one.severity is Severity.ERROR)


def _on_terms(run: Run, options: Mapping[str, Any]) -> Run:
    """Return the run with what the options ask of its exit status."""
    least = (options.get("fail_on") or "").lower()
    terms = ExitTerms(options["warn_exit_code"], options["warn_no_pass"], least)
    run = run._replace(terms=terms)
    return run.strictly() if options["strict"] else run
