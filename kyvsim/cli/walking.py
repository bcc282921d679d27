"""Options on how folders are walked, and what is said of what was left out of them."""

from collections.abc import Iterable, Mapping
from typing import Any

import click

from kyvsim.api.inputs import walking_through
from kyvsim.cli.parameters import INPUT, OUTPUT, bad_value, combined, safe_option
from kyvsim.cli.streams import print_stderr
from kyvsim.load.folders import USUAL, Walking
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.policy import Policy
from kyvsim.report.style import counted, safe_line

walking_options = combined(
    safe_option(
        "--exclude",
        shared=True,
        multiple=True,
        metavar="GLOB",
        group=INPUT,
        help="Skip files and folders that match, with .gitignore syntax. Repeatable.",
    ),
    safe_option(
        "--no-ignore",
        shared=True,
        is_flag=True,
        group=INPUT,
        help="Ignore .kyvsimignore files.",
    ),
    safe_option(
        "--max-files",
        shared=True,
        type=click.IntRange(0),
        default=USUAL.most,
        show_default=True,
        metavar="N",
        group=INPUT,
        help="Maximum number of files and folders read per path (0: unlimited).",
    ),
    safe_option(
        "--show-ignored",
        shared=True,
        is_flag=True,
        group=OUTPUT,
        help="List ignored files and documents with the reason.",
    ),
)
"""Adds the options on how folders are walked."""


def walking_of(options: Mapping[str, Any], ctx: click.Context) -> Walking:
    """Return how the options say that folders are walked."""
    try:
        return walking_through(
            options["exclude"], ignore_files=not options["no_ignore"], most=options["max_files"]
        )
    except ValueError as error:
        raise bad_value(ctx, "--exclude", f"{' '.join(options['exclude'])}: {error}") from None


def print_evaluated_files(policies: Iterable[Policy]) -> None:
    """Print the files that the policies of a run are from, with their number of policies."""
    counts: dict[str, int] = {}
    for one in policies:
        counts[one.document.file] = counts.get(one.document.file, 0) + 1
    for file, number in counts.items():
        print_stderr(safe_line(f"{file}: read: {counted(number, 'policy')}"))


def print_ignored(left_out: Iterable[Diagnostic], options: Mapping[str, Any]) -> None:
    """Print the ignored files and documents if --show-ignored is given."""
    found = tuple(dict.fromkeys(left_out))
    if options["show_ignored"]:
        for one in found:
            print_stderr(safe_line(f"{one.location}: ignored: {one.message}"))
