"""`kyvsim equal`: tests whether two policy sets behave the same."""

import os
import sys
from typing import Any

import click

from kyvsim.api.equal import EqualInputs, compare
from kyvsim.api.inputs import ApplyInputs
from kyvsim.cli.command import Command
from kyvsim.cli.golden_files import check_folder, write_tests
from kyvsim.cli.options import (
    case_limits,
    crd_option,
    exception_option,
    file_option,
    force_option,
    jobs_option,
    refuse_urls,
    release_option,
    resource_option,
    time_option,
)
from kyvsim.cli.output_files import chosen_formats, formats_option, reader_of, report_files
from kyvsim.cli.parameters import (
    EVALUATION,
    OUTPUT,
    REQUEST,
    Effect,
    PathType,
    argument,
    option,
    safe_option,
)
from kyvsim.cli.streams import close, is_terminal, print_diagnostics, stdin_of, waiting, write_out
from kyvsim.model.comparison import SearchBudget
from kyvsim.report.equal import Equality
from kyvsim.report.formats import EQUAL_FORMATS as FORMATS

_HELP = """Test whether two policy sets behave the same, using generated cases.

OLD and NEW are files, folders or - for standard input, such as a ClusterPolicy and the
ValidatingPolicy that replaces it. Test cases are derived from the fields that OLD or NEW read and
from the --resource manifests. Both policy sets are evaluated on every case.

\b
    kyvsim equal require-labels.yaml require-labels-vpol.yaml
    kyvsim equal old/ new/ --resource manifests/ --write-tests evidence/
"""


@click.command(
    "equal",
    cls=Command,
    help=_HELP,
    epilog="Exit status: 0 if they are equal, 1 if a counterexample was found or something is not "
    "covered, 2 if some input could not be used.",
)
@argument("old", metavar="OLD", type=PathType())
@argument("new", metavar="NEW", type=PathType())
@resource_option("Manifests to derive cases from. Repeatable.")
@exception_option("PolicyExceptions for either policy set.")
@file_option("-f", "--values-file", help="Values file for variables in policies.")
@file_option("-u", "--userinfo", group=REQUEST, help="File with the requesting user's identity.")
@file_option("--context-file", help="Data for context lookups of CEL policies.")
@crd_option("--crd-paths", "--crd-path")
@case_limits()
@jobs_option("or a single one for few differences")
@safe_option(
    "--now",
    callback=time_option,
    metavar="TIME",
    group=EVALUATION,
    help="Current time for policies, in RFC 3339 format [default: system time].",
)
@release_option()
@formats_option(FORMATS)
@option(
    "--write-tests",
    effect=Effect.WRITES_NEW,
    default="",
    metavar="DIR",
    type=PathType(is_written=True),
    group=OUTPUT,
    help="Write the cases with a new kind of result to this folder, with a kyverno-test.yaml for "
    "each policy set.",
)
@force_option("Write into a folder that is not empty.")
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> int:
    """Run `kyvsim equal` and return its exit status."""
    refuse_urls((options["old"], options["new"], *options["resource"]), ctx)
    chosen = chosen_formats(options, FORMATS, ctx)
    folder = options["write_tests"]
    if options["old"] == options["new"] == "-":
        raise click.UsageError("standard input (-) can be OLD or NEW, not both", ctx)
    if "-" not in {options["old"], options["new"]} and (
        os.path.realpath(options["old"]) == os.path.realpath(options["new"])
    ):
        text = (
            f"OLD and NEW are the same path, {options['old']}: name the other version, or pass it "
            "on standard input, such as `git show HEAD:FILE | kyvsim equal - FILE`"
        )
        raise click.UsageError(text, ctx)
    if folder and "-" in {options["old"], options["new"]}:
        text = "--write-tests needs policy files: a test cannot refer to standard input (-)"
        raise click.UsageError(text, ctx)
    if folder:
        check_folder(folder, reader_of(options, ctx), force=options["force"])
    read = ("old", "new", "resource", "exception", "values_file", "userinfo", "context_file")
    stdin = stdin_of({name: options[name] for name in (*read, "crd_paths")}, ctx)
    with report_files(chosen, FORMATS) as files:
        with waiting("generating cases", shown=is_terminal(sys.stderr)):
            shared = ApplyInputs(
                policies=(),
                resources=options["resource"],
                exceptions=options["exception"],
                values_file=options["values_file"],
                userinfo=options["userinfo"],
                context_file=options["context_file"],
                crd_paths=options["crd_paths"],
                now=options["now"],
                release=options["release"],
            )
            budget = SearchBudget(options["max_cases"], options["seconds"])
            sets = ((options["old"],), (options["new"],))
            jobs = options["jobs"]
            inputs = EqualInputs(*sets, shared, budget, jobs, needs_cases=bool(folder))
            comparison = compare(inputs, stdin)
        equality = Equality(comparison.evidence, comparison.diagnostics, options["release"].name)
        print_diagnostics(comparison.diagnostics)
        shown = FORMATS[chosen.shown]
        write_out(shown.write(equality), shown.media)
        files.fill(FORMATS[name].write(equality) for name, _ in chosen.files)
        close(equality.ending, on_stdout=shown.for_people)
    if folder and comparison.evidence is not None:
        sides = (("old", (options["old"],)), ("new", (options["new"],)))
        write_tests(folder, *comparison.manifests(), sides)
    return equality.ending.status
