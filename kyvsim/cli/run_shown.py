"""A run as a command tells it: remarks, results, what is known only then, and how it ended."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kyvsim.cli.closing import ClosingLook, LineCount, close, remind, say_remarks
from kyvsim.cli.streams import write_out
from kyvsim.cli.walking import say_left_out
from kyvsim.light.named_tuple import NamedTuple
from kyvsim.report.run import Run, Terms
from kyvsim.report.run_ending import run_ending


def _nothing(_: Run) -> None:
    return None


class View(NamedTuple):
    """What standard output holds."""

    for_people: bool
    """Whether it is a view for people, which the closing line ends."""
    closing: ClosingLook | None = None
    """How that looks; None for one that is a single line."""


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
    say_remarks(run.diagnostics)
    say_left_out(run.left_out, options)
    lines = LineCount()
    write_out(lines.watching(pieces_of(run)))
    finish(run)
    say_remarks(run.last_remarks())
    ending = run_ending(run)
    if view.for_people:
        remind(run.diagnostics, lines)
    close(ending, on_stdout=view.for_people, closing=view.closing)
    return ending.status


def _on_terms(run: Run, options: Mapping[str, Any]) -> Run:
    """Return the run with what the options ask of its exit status."""
    run = run._replace(terms=Terms(options["warn_exit_code"], options["warn_no_pass"]))
    return run.strictly() if options["strict"] else run
