"""`kyvsim diff`: compares the results of two policy sets."""

import sys
from collections.abc import Iterator
from typing import Any

import click

from kyvsim.api.diff import open_comparison
from kyvsim.api.inputs import AS_GIVEN, ApplyInputs
from kyvsim.cli.command import Command
from kyvsim.cli.input_options import check_inputs, input_options_of, inputs_of, stdin_for
from kyvsim.cli.options import (
    colour_option,
    print_ignored,
    refused_options,
    split_at_commas,
    strict_option,
)
from kyvsim.cli.output_files import chosen_formats, formats_option, report_files
from kyvsim.cli.parameters import OUTPUT, Options, flag_option
from kyvsim.cli.streams import (
    close,
    is_terminal,
    print_diagnostics,
    shows_colours,
    waiting,
    write_out,
)
from kyvsim.report.diff import RunComparison, comparison_ending
from kyvsim.report.formats import DIFF_FORMATS as FORMATS
from kyvsim.report.run import ending_line
from kyvsim.report.style import RenderOptions

_HELP = """Compare the results of two policy sets on the same resources.

OLD and NEW are files or folders of policies, separated by commas if there are several. Without NEW,
the same policies are evaluated again with the request options (--as, --operation, ...) applied.

\b
    kyvsim diff policies/ ../main/policies/ --resource manifests/
    kyvsim diff policies/ -r manifests/ --as jane
    kyvsim diff policies/ -r manifests/ -e exceptions/ --without-exception '*'
"""


@click.command(
    "diff",
    cls=Command,
    go_spelling=True,
    help=_HELP,
    epilog="Exit status: 0 if there are no differences, 1 if some results differ, 2 if some input "
    "could not be used.",
)
@input_options_of("OLD [NEW]")
@formats_option(FORMATS)
@flag_option(
    "--messages", group=OUTPUT, help="Also report results that differ only in their message."
)
@flag_option(
    "--detailed-results", group=OUTPUT, help="List every changed result, not only failures."
)
@strict_option
@colour_option
@refused_options
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> int:
    """Run `kyvsim diff` and return its exit status."""
    check_inputs(ctx, options)
    chosen = chosen_formats(options, FORMATS, ctx)
    old, new = _sets(ctx, options)
    stdin = stdin_for(options, ctx)
    with report_files(chosen, FORMATS) as files:
        with waiting("reading files", shown=is_terminal(sys.stderr)):
            comparison = open_comparison(old, new, stdin, words=options["messages"])
        if options["strict"]:
            comparison = comparison.strictly()
        print_diagnostics(comparison.all_diagnostics())
        print_ignored((*comparison.old.left_out, *comparison.new.left_out), options)
        if chosen.files:
            comparison = comparison._replace(resources=tuple(comparison.resources))
        write_out(
            _written(chosen.shown, comparison, options, is_shown=True), FORMATS[chosen.shown].media
        )
        files.fill(_written(name, comparison, options) for name, _ in chosen.files)
    print_diagnostics(comparison.final_diagnostics())
    ending = comparison_ending(comparison)
    close(ending, on_stdout=FORMATS[chosen.shown].for_people)
    return ending.status


def _written(
    name: str, comparison: RunComparison, options: Options, *, is_shown: bool = False
) -> Iterator[str]:
    format_ = FORMATS[name]
    colours = is_shown and format_.for_people and shows_colours()
    render_options = RenderOptions(colours=colours, detailed=options["detailed_results"])
    yield from format_.write(comparison, render_options)
    if format_.for_people and not is_shown:
        yield f"{ending_line(comparison_ending(comparison))}\n"


def _sets(ctx: click.Context, options: Options) -> tuple[ApplyInputs, ApplyInputs]:
    """Return the inputs of both sets; raises UsageError."""
    sets = options["policies"]
    if len(sets) > 2:
        text = f"{len(sets)} policy sets: pass OLD and NEW, with commas between paths of one set"
        raise click.UsageError(text, ctx)
    inputs = inputs_of(options, ctx)
    old, new = (
        inputs._replace(policies=tuple(filter(None, split_at_commas(words))))
        for words in (sets[0], sets[-1])
    )
    if len(sets) == 1:
        old = old._replace(what_if=AS_GIVEN)
        if inputs.what_if == AS_GIVEN:
            text = "nothing to compare: pass OLD and NEW, or one policy set and a request option"
            raise click.UsageError(f"{text} such as --as USER", ctx)
    return old, new
