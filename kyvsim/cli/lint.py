"""`kyvsim lint`: checks policies without resources."""

import codecs
import difflib
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import click
from click.types import StringParamType

from kyvsim.api.lint import FixedFile, lint, plan_fixes, plan_test_fixes
from kyvsim.api.suite_files import FileText
from kyvsim.api.suppression import selection_of
from kyvsim.cli.command import Command
from kyvsim.cli.golden_files import write_files
from kyvsim.cli.input_options import changed_option, unchanged_of
from kyvsim.cli.options import (
    crd_option,
    extent_of,
    extent_options,
    jobs_option,
    print_ignored,
    refuse_urls,
    release_option,
    strict_option,
    walking_of,
    walking_options,
)
from kyvsim.cli.output_files import chosen_formats, formats_option, report_files
from kyvsim.cli.parameters import (
    INPUT,
    OUTPUT,
    STATUS,
    Effect,
    PathType,
    argument,
    flag_option,
    option,
    safe_option,
)
from kyvsim.cli.streams import (
    is_terminal,
    print_stderr,
    shown_width,
    shows_colours,
    stdin_of,
    waiting,
    write_out,
)
from kyvsim.load.files import STDIN, STDIN_NAME
from kyvsim.model.diagnostic import strictly
from kyvsim.model.result import Fact, RunVerdict
from kyvsim.report.formats import LINT_FORMATS as FORMATS
from kyvsim.report.lint import Findings
from kyvsim.report.run import ending_line
from kyvsim.report.style import RenderOptions, counted, layout_of, safe_line


class CodeType(StringParamType):
    """Codes or prefixes of codes, separated by commas; with `has_level`, each with a severity."""

    name = "code"

    def __init__(self, *, has_level: bool = False) -> None:
        self.has_level = has_level

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return a value if it is valid; the error names the wrong part."""
        texts: Iterable[str] = (value,)
        try:
            selection_of(severities=texts) if self.has_level else selection_of(texts)
        except ValueError as error:
            self.fail(str(error), param, ctx)
        return str(value)


_HELP = """Check policies for errors, without resources.

PATH is a file, a folder or - for standard input [default: .].

\b
    kyvsim lint policies/
    kyvsim lint policies/ --output-format sarif=kyvsim.sarif
"""


@click.command(
    "lint",
    cls=Command,
    go_spelling=True,
    help=_HELP,
    epilog="Exit status: 0 if there are no errors, 1 if --diff shows fixes, 2 if there is an error "
    "(or, with --strict, a warning).",
)
@argument("paths", shared=True, nargs=-1, metavar="PATH...", type=PathType(), key="policies")
@formats_option(FORMATS)
@crd_option("--crd-path", "--crd-paths", shared=True)
@release_option()
@strict_option
@safe_option(
    "--select",
    multiple=True,
    type=CodeType(),
    metavar="CODES",
    group=OUTPUT,
    help="Report only warnings with these codes or prefixes of codes, such as KV3, and errors. "
    "Repeatable.",
)
@safe_option(
    "--ignore",
    multiple=True,
    type=CodeType(),
    metavar="CODES",
    group=OUTPUT,
    help="Do not report warnings with these codes or prefixes of codes. Errors are always "
    "reported. Repeatable.",
)
@flag_option(
    "--no-ignore-comments",
    group=OUTPUT,
    help="Also report warnings that a comment in a file ignores.",
)
@safe_option(
    "--severity",
    multiple=True,
    type=CodeType(has_level=True),
    metavar="CODE=LEVEL",
    group=STATUS,
    help="Severity of warnings with this code or prefix: error, warning or info. Repeatable.",
)
@extent_options("Show only errors.", "Also list checked and ignored files.")
@flag_option(
    "--skip-others",
    group=INPUT,
    help="Ignore files without policies even when named explicitly (for pre-commit).",
)
@option(
    "--fix",
    effect=Effect.OVERWRITES,
    is_flag=True,
    group=OUTPUT,
    help="Apply safe fixes and show them as a diff.",
)
@flag_option(
    "--diff",
    group=OUTPUT,
    help="Show safe fixes as a diff without applying them; exit status 1 if there are any.",
)
@changed_option
@jobs_option("or a single one for few policies")
@walking_options
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> int:
    """Run `kyvsim lint` and return its exit status."""
    options = extent_of(options, ctx, ("show_ignored",))
    options["paths"] = paths = options["paths"] or (os.curdir,)
    refuse_urls(paths, ctx)
    if options["fix"] and STDIN in paths:
        text = "--fix cannot write to standard input (-): use --diff to show the fixes"
        raise click.UsageError(text, ctx)
    chosen = chosen_formats(options, FORMATS, ctx)
    given = stdin_of({name: options[name] for name in ("paths", "crd_path")}, ctx)
    walking = walking_of(options, ctx)._replace(as_found=options["skip_others"])
    definitions = {os.path.realpath(path) for path in options["crd_path"]}
    unchanged = unchanged_of(options, ctx, lambda: definitions.__contains__)
    selection = selection_of(options["select"], options["ignore"], options["severity"])
    selection = selection._replace(comments=not options["no_ignore_comments"])

    def is_reported(file: str) -> bool:
        return unchanged is None or os.path.realpath(file) not in unchanged

    def check() -> Findings:
        with waiting("checking policies", shown=is_terminal(sys.stderr)):
            return lint(
                paths,
                given,
                options["crd_path"],
                walking,
                is_reported=is_reported,
                release=options["release"],
                jobs=options["jobs"],
                selection=selection,
            )

    with report_files(chosen, FORMATS) as files:
        shown = FORMATS[chosen.shown]
        findings = check()
        if options["fix"] or options["diff"]:
            fixed = plan_fixes(findings, given, options["crd_path"], options["release"], selection)
            findings = _after_fixes(fixed, findings, options, check, shows=shown.for_people)
        if options["strict"]:
            findings = findings._replace(diagnostics=strictly(findings.diagnostics))
        if not options["diff"]:
            render_options = _render_options()._replace(
                quiet=options["quiet"], statistics=options["statistics"]
            )
            write_out(shown.write(findings, render_options), shown.media)
        files.fill(FORMATS[name].write(findings, RenderOptions()) for name, _ in chosen.files)
    if options["verbose"]:
        for name in findings.texts:
            print_stderr(safe_line(f"{name}: checked"))
    print_ignored(findings.left_out, options)
    if options["diff"] or not shown.for_people:
        print_stderr(ending_line(findings.ending))
    return findings.ending.status


def _after_fixes(
    fixed: tuple[FixedFile, ...],
    findings: Findings,
    options: Mapping[str, object],
    check: Callable[[], Findings],
    *,
    shows: bool,
) -> Findings:
    """Show fixes, write them if requested, and return the resulting findings."""
    writes = not options["diff"]
    if shows or not writes:
        _show_fixes(fixed)
    if writes and fixed:
        _write_fixes(fixed)
        findings = check()
    return findings._replace(further=(_fixed_fact(fixed, written=writes),))


def fix_tests(files: Iterable[str], *, shows: bool) -> None:
    """Replace outdated fields of test manifests; `shows` prints the changes as a diff."""
    fixed = plan_test_fixes(files)
    if shows:
        _show_fixes(fixed)
    _write_fixes(fixed)


def _show_fixes(fixed: Iterable[FixedFile]) -> None:
    """Print fixes as a diff."""
    paint = layout_of(_render_options()).paint
    colours = {"+": "pass", "-": "fail"}
    for file in fixed:
        old, new = (text.splitlines(keepends=True) for text in (file.source.text, file.text))
        for line in difflib.unified_diff(old, new, file.source.name, file.source.name):
            shown = safe_line(line.rstrip("\r\n"))
            style = "" if line.startswith(("+++", "---")) else colours.get(line[:1], "")
            end = "" if line.endswith("\n") else "\\ No newline at end of file\n"
            write_out([paint(style, shown) if style else shown, "\n", end])


def _write_fixes(fixed: Iterable[FixedFile]) -> None:
    """Write fixed files, with the byte order marks that they had."""
    files = []
    for file in fixed:
        name = file.source.name
        if name != STDIN_NAME:
            with open(name, "rb") as stream:
                marked = stream.read(len(codecs.BOM_UTF8)) == codecs.BOM_UTF8
            files.append(FileText(name, "\ufeff" * marked + file.text, os.path.dirname(name)))
    write_files(files)


def _render_options() -> RenderOptions:
    """Return the options for standard output."""
    on_terminal = is_terminal(sys.stdout)
    colours = shows_colours()
    return RenderOptions(colours=colours, width=shown_width(sys.stdout), on_terminal=on_terminal)


def _fixed_fact(files: Sequence[FixedFile], *, written: bool) -> Fact:
    """Return the number of fixes; with --diff, fixes make the run fail."""
    number = sum(len(file.fixed) for file in files)
    extent = f"{counted(number, 'finding')} in {counted(len(files), 'file')}"
    if written:
        return Fact("fixed", number, f"{extent} fixed" if number else "")
    text = f"{extent} would be fixed" if number else ""
    return Fact("fixable", number, text, RunVerdict.FAILED if number else RunVerdict.PASSED)
