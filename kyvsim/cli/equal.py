"""`kyvsim equal`: whether two sets of policies do the same."""

import os
import sys
from collections.abc import Mapping
from typing import Any

import click

from kyvsim.api.equal import Comparison, EqualInputs, compare
from kyvsim.api.inputs import ApplyInputs
from kyvsim.cli.closing import close, print_diagnostics
from kyvsim.cli.command import Command
from kyvsim.cli.golden_files import check_folder, write_tests
from kyvsim.cli.options import list_option, refuse_urls, seconds_option, time_option
from kyvsim.cli.output_files import (
    Chosen,
    ReportFiles,
    chosen_formats,
    formats_option,
    reader_of,
    report_files,
)
from kyvsim.cli.parameters import (
    EVALUATION,
    INPUT,
    OUTPUT,
    REQUEST,
    Effect,
    PathType,
    argument,
    option,
    safe_option,
)
from kyvsim.cli.streams import is_terminal, stdin_of, waiting, write_out
from kyvsim.report.equal import Equality
from kyvsim.report.formats import EQUAL_FORMATS as FORMATS

_HELP = """Test whether two policy sets behave the same, using generated cases.

OLD and NEW are files, folders or - for standard input, such as a ClusterPolicy and the
ValidatingPolicy that replaces it. Objects and requests are derived from the fields that either of
them reads and from the manifests given; both policy sets are evaluated on all of them.

\b
    kyvsim equal require-labels.yaml require-labels-vpol.yaml
    kyvsim equal old/ new/ --resource manifests/ --write-tests evidence/
"""
_CASES = 20000
_SECONDS = 8


@click.command(
    "equal",
    cls=Command,
    help=_HELP,
    epilog="Exit status: 0 equal, 1 a counterexample was found or something is not covered, "
    "2 some input could not be used.",
)
@argument("old", metavar="OLD", type=PathType())
@argument("new", metavar="NEW", type=PathType())
@list_option(
    "-r",
    "--resource",
    "--resources",
    effect=Effect.NONE,
    group=INPUT,
    help="Manifests to derive cases from. Repeatable.",
    paths=True,
)
@list_option(
    "-e",
    "--exception",
    "--exceptions",
    effect=Effect.NONE,
    group=INPUT,
    help="PolicyExceptions for either policy set. Repeatable.",
    paths=True,
)
@safe_option(
    "-f",
    "--values-file",
    default="",
    type=PathType(),
    group=INPUT,
    help="Values file for variables in policies.",
)
@safe_option(
    "-u",
    "--userinfo",
    default="",
    type=PathType(),
    group=REQUEST,
    help="File with the requesting user's identity.",
)
@safe_option(
    "--context-file",
    default="",
    type=PathType(),
    group=INPUT,
    help="Data for context lookups of CEL policies.",
)
@list_option(
    "--crd-paths",
    "--crd-path",
    effect=Effect.NONE,
    group=INPUT,
    help="CustomResourceDefinitions. Repeatable.",
    paths=True,
)
@seconds_option(_SECONDS, "Time limit in seconds; what is left is reported as not covered.")
@safe_option(
    "--max-cases",
    type=click.IntRange(1),
    default=_CASES,
    show_default=True,
    metavar="N",
    group=EVALUATION,
    help="Maximum number of cases.",
)
@safe_option(
    "--now",
    callback=time_option,
    metavar="TIME",
    group=EVALUATION,
    help="Current time for policies, in RFC 3339 format [default: system time].",
)
@formats_option(FORMATS)
@option(
    "--write-tests",
    effect=Effect.WRITES_NEW,
    default="",
    metavar="DIR",
    type=PathType(is_written=True),
    group=OUTPUT,
    help="Write the decisive cases to this folder, with a kyverno-test.yaml for each policy set.",
)
@option(
    "--force",
    effect=Effect.OVERWRITES,
    is_flag=True,
    group=OUTPUT,
    help="Write into a folder that is not empty.",
)
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> int:
    """Run `kyvsim equal` and return its exit status."""
    refuse_urls((options["old"], options["new"], *options["resource"]), ctx)
    chosen = chosen_formats(options, FORMATS, ctx)
    folder = options["write_tests"]
    if options["old"] == options["new"] == "-":
        text = "standard input (-) can be OLD or NEW, not both"
        raise click.UsageError(text, ctx)
    if _is_one_path(options["old"], options["new"]):
        raise click.UsageError(_SAME.format(options["old"]), ctx)
    if folder and "-" in {options["old"], options["new"]}:
        text = "--write-tests needs policy files: a test cannot refer to standard input (-)"
        raise click.UsageError(text, ctx)
    if folder:
        check_folder(folder, reader_of(options, ctx), force=options["force"])
    stdin = stdin_of({name: options[name] for name in _READ}, ctx)
    with report_files(chosen, FORMATS) as files:
        with waiting("generating cases", shown=is_terminal(sys.stderr)):
            found = compare(_inputs(options), stdin)
        status = _show(found, chosen, files)
    if folder and found.evidence is not None:
        sides = (("old", (options["old"],)), ("new", (options["new"],)))
        write_tests(folder, *found.manifests(), sides)
    return status


_SAME = (
    "OLD and NEW are the same path, {}: name the other version, or pass it on standard input, "
    "such as `git show HEAD:FILE | kyvsim equal - FILE`"
)


def _is_one_path(old: str, new: str) -> bool:
    """Return whether both sides are read from the same place, however that is written."""
    return "-" not in {old, new} and os.path.realpath(old) == os.path.realpath(new)


_READ = (
    "old",
    "new",
    "resource",
    "exception",
    "values_file",
    "userinfo",
    "context_file",
    "crd_paths",
)


def _inputs(options: Mapping[str, Any]) -> EqualInputs:
    shared = ApplyInputs(
        policies=(),
        resources=options["resource"],
        exceptions=options["exception"],
        values_file=options["values_file"],
        userinfo=options["userinfo"],
        context_file=options["context_file"],
        crd_paths=options["crd_paths"],
        now=options["now"],
    )
    sides = ((options["old"],), (options["new"],))
    return EqualInputs(
        *sides,
        shared,
        options["max_cases"],
        options["seconds"],
        needs_cases=bool(options["write_tests"]),
    )


def _show(found: Comparison, chosen: Chosen, files: ReportFiles) -> int:
    """Write what was found, in all formats; return the exit status."""
    told = Equality(found.evidence, found.diagnostics)
    print_diagnostics(found.diagnostics)
    shown = FORMATS[chosen.shown]
    write_out(shown.write(told), shown.media)
    files.fill(FORMATS[name].write(told) for name, _ in chosen.files)
    close(told.ending, on_stdout=shown.for_people)
    return told.ending.status
