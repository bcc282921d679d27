"""`kyvsim chainsaw`: end-to-end tests on a simulated cluster."""

from typing import Any

import click

from kyvsim.api.chainsaw import ChainsawRun, run_chainsaw
from kyvsim.cli.command import Command
from kyvsim.cli.options import (
    colour_option,
    jobs_option,
    print_ignored,
    release_option,
    walking_of,
    walking_options,
)
from kyvsim.cli.output_files import chosen_formats, formats_option, refuse_named, write_reports
from kyvsim.cli.parameters import (
    EVALUATION,
    INPUT,
    OUTPUT,
    PathType,
    argument,
    flag_option,
    safe_option,
)
from kyvsim.cli.streams import close, print_diagnostics, shows_colours, write_out
from kyvsim.report.chainsaw import chainsaw_ending
from kyvsim.report.formats import CHAINSAW_FORMATS as FORMATS
from kyvsim.report.suite_text import SuiteOptions

_HELP = """Run chainsaw tests on a simulated cluster.

DIR is a folder, searched recursively, or a test file. Each test gets a new cluster. Time is
virtual. Steps that cannot be simulated are reported as unsupported and never count as passed.

\b
    kyvsim chainsaw tests/
    kyvsim chainsaw tests/ --output-format text --output-format junit=report.xml
    kyvsim chainsaw tests/generate --test-file chainsaw-test.yaml --timeline
"""


@click.command(
    "chainsaw",
    cls=Command,
    go_spelling=True,
    help=_HELP,
    epilog="Exit status: 0 if at least one test passed and none failed (the last line counts "
    "unsupported tests), 1 if a test failed, 2 if some input could not be used or no test could be "
    "simulated.",
)
@argument("paths", nargs=-1, metavar="DIR...", type=PathType(), key="scenarios")
@safe_option(
    "--test-file",
    default="",
    metavar="NAME",
    group=INPUT,
    help="Name of the test files. If set, only DIR itself is searched, not its subfolders "
    "[default: chainsaw-test.yaml, searched recursively].",
)
@safe_option(
    "--config",
    "configuration",
    default="",
    type=PathType(),
    metavar="FILE",
    group=INPUT,
    help="File with a chainsaw Configuration [default: .chainsaw.yaml in the working folder, or "
    "the nearest one in or above a test's folder].",
)
@safe_option(
    "--install",
    metavar="helm|ci|FILE",
    type=PathType(words=("helm", "ci")),
    default="ci",
    show_default=True,
    group=EVALUATION,
    help="Kyverno installation: `helm` (chart defaults), `ci` (as in Kyverno's end-to-end "
    "tests) or a values FILE.",
)
@release_option()
@formats_option(FORMATS)
@flag_option("--fail-only", group=OUTPUT, help="Show only failed tests.")
@flag_option("--timeline", group=OUTPUT, help="Show the events of each cluster over time.")
@walking_options
@colour_option
@jobs_option("or a single one for few test files")
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> int:
    """Run `kyvsim chainsaw` and return its exit status."""
    if not options["paths"]:
        raise click.UsageError("no test given: pass folders of tests", ctx)
    chosen = chosen_formats(options, FORMATS, ctx)
    names = ("paths", "jobs", "timeline", "configuration", "install", "release")
    run = ChainsawRun(
        file_name=options["test_file"],
        walking=walking_of(options, ctx),
        **{name: options[name] for name in names},
    )
    report = run_chainsaw(run)
    print_diagnostics(report.diagnostics)
    refuse_named(chosen.files, report.files, ctx)
    suite_options = SuiteOptions(fail_only=options["fail_only"])
    write_reports(
        (path, FORMATS[name].media, FORMATS[name].write(report, suite_options))
        for name, path in chosen.files
    )
    coloured = suite_options._replace(colours=shows_colours())
    write_out(FORMATS[chosen.shown].write(report, coloured), FORMATS[chosen.shown].media)
    print_ignored(report.left_out, options)
    ending = chainsaw_ending(report)
    close(ending, on_stdout=chosen.shown == "text")
    return ending.status
