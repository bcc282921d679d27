"""`kyvsim lint`: everything that can be said of policies without resources."""

import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

import click

from kyvsim.api.fixes import FixedFile
from kyvsim.api.lint import lint, plan_fixes
from kyvsim.cli.changed import changed_option, unchanged_of
from kyvsim.cli.command import Command
from kyvsim.cli.lint_fixes import diff_of, fixed_fact, write_fixed
from kyvsim.cli.options import (
    extent_of,
    extent_options,
    list_option,
    refuse_urls,
    strict_option,
)
from kyvsim.cli.parameters import Effect, PathType, argument, option
from kyvsim.cli.report_files import chosen_formats, formats_option, report_files
from kyvsim.cli.stdin import stdin_of
from kyvsim.cli.streams import is_terminal, say, shown_width, shows_colours, write_out
from kyvsim.cli.walking import say_left_out, walking_of, walking_options
from kyvsim.load.files import STDIN
from kyvsim.model.diagnostic import strictly
from kyvsim.report.ending import ending_line
from kyvsim.report.finding import Findings
from kyvsim.report.lint_formats import FORMATS
from kyvsim.report.look import Look
from kyvsim.report.progress import waiting
from kyvsim.report.style import safe_line

_HELP = """Check policies without resources and show all that is wrong with them.

PATH is a file, a folder or - for standard input.

\b
    kyvsim lint policies/
    kyvsim lint policies/ --output-format sarif=kyvsim.sarif
"""


@click.command(
    "lint",
    cls=Command,
    go_spelling=True,
    help=_HELP,
    epilog="Exit status: 0 no error, 2 a policy could not be used, or a warning with --strict.",
)
@argument("paths", shared=True, nargs=-1, metavar="PATH...", type=PathType(), key="policies")
@formats_option(FORMATS)
@list_option(
    "--crd-path",
    "--crd-paths",
    effect=Effect.NONE,
    shared=True,
    help="Definitions of custom resources.",
    paths=True,
)
@strict_option
@extent_options
@option(
    "--skip-others",
    effect=Effect.NONE,
    is_flag=True,
    help="Leave out files that hold no policy, also where they are named, as a hook names them.",
)
@option(
    "--fix",
    effect=Effect.OVERWRITES,
    is_flag=True,
    help="Show what surely can be put right as a diff, and write it.",
)
@option(
    "--diff",
    effect=Effect.NONE,
    is_flag=True,
    help="Show that diff only: exit status 1 where there is one.",
)
@changed_option
@walking_options
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> int:
    """Run `kyvsim lint` and return its exit status."""
    options = extent_of(options, ctx, ("show_ignored",))
    paths = options["paths"]
    _check(paths, options, ctx)
    chosen = chosen_formats(options, FORMATS, ctx)
    given = stdin_of({name: options[name] for name in ("paths", "crd_path")}, ctx)
    walking = walking_of(options, ctx)._replace(as_found=options["skip_others"])
    definitions = {os.path.realpath(one) for one in options["crd_path"]}
    unchanged = unchanged_of(options, ctx, lambda: definitions.__contains__)

    def is_told(file: str) -> bool:
        return unchanged is None or os.path.realpath(file) not in unchanged

    def check() -> Findings:
        with waiting("checking policies", shown=is_terminal(sys.stderr)):
            return lint(paths, given, options["crd_path"], walking, is_told=is_told)

    with report_files(chosen, FORMATS) as files:
        shown = FORMATS[chosen.shown]
        findings = check()
        if options["fix"] or options["diff"]:
            fixed = plan_fixes(findings, given, options["crd_path"])
            findings = _after_fixes(fixed, findings, options, check, shows=shown.for_people)
        if options["strict"]:
            findings = findings._replace(diagnostics=strictly(findings.diagnostics))
        if not options["diff"]:
            look = _look()._replace(quiet=options["quiet"], statistics=options["statistics"])
            write_out(shown.write(findings, look), shown.media)
        files.fill(FORMATS[name].write(findings, Look()) for name, _ in chosen.files)
    if options["verbose"]:
        for name in findings.texts:
            say(safe_line(f"{name}: looked at"))
    say_left_out(findings.left_out, options)
    if options["diff"] or not shown.for_people:
        say(ending_line(findings.ending))
    return findings.ending.status


def _check(paths: tuple[str, ...], options: Mapping[str, Any], ctx: click.Context) -> None:
    """Raise UsageError for arguments that do not go together."""
    if not paths:
        raise click.UsageError("no policy given: pass files or folders of policies", ctx)
    refuse_urls(paths, ctx)
    if options["fix"] and STDIN in paths:
        text = "--fix writes files, and - is none: --diff shows what would change"
        raise click.UsageError(text, ctx)


def _after_fixes(
    fixed: tuple[FixedFile, ...],
    findings: Findings,
    options: Mapping[str, Any],
    check: Callable[[], Findings],
    *,
    shows: bool,
) -> Findings:
    """Show fixes, write them where that is asked for, and return what is found then."""
    writes = not options["diff"]
    if shows or not writes:
        write_out(diff_of(fixed, _look()))
    if writes and fixed:
        write_fixed(fixed)
        findings = check()
    return findings._replace(further=(fixed_fact(fixed, written=writes),))


def _look() -> Look:
    """Return how what goes to standard output looks, where that is for people."""
    on_terminal = is_terminal(sys.stdout)
    colours = shows_colours(unwanted=False)
    return Look(colours=colours, width=shown_width(sys.stdout), on_terminal=on_terminal)
