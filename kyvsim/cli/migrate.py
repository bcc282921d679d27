"""`kyvsim migrate`: converts policies with rules to CEL policies."""

import os
import sys
from collections.abc import Callable, Iterable
from typing import Any

import click

from kyvsim.api.migrate import migrate, with_counterexamples, with_evidence
from kyvsim.api.suite_files import FileText
from kyvsim.cli.command import Command
from kyvsim.cli.golden_files import check_place, write_files
from kyvsim.cli.options import (
    case_limits,
    force_option,
    jobs_option,
    print_ignored,
    refuse_urls,
    resource_option,
    walking_of,
    walking_options,
)
from kyvsim.cli.output_files import (
    chosen_formats,
    file_name,
    formats_option,
    reader_of,
    refuse_existing,
    refuse_read,
    report_files,
)
from kyvsim.cli.parameters import (
    EVALUATION,
    INPUT,
    OUTPUT,
    Effect,
    Options,
    PathType,
    argument,
    flag_option,
    option,
    safe_option,
)
from kyvsim.cli.streams import (
    OutputError,
    is_terminal,
    print_diagnostics,
    print_stderr,
    stdin_of,
    waiting,
    write_out,
    writing_to,
)
from kyvsim.migrate import MADE_KINDS
from kyvsim.model.comparison import Answer, SearchBudget
from kyvsim.model.migration import Migration
from kyvsim.report.formats import MIGRATE_FORMATS as FORMATS
from kyvsim.report.formats import YAML
from kyvsim.report.migrate import migration_ending
from kyvsim.report.run import ending_line
from kyvsim.report.style import safe_line

_HELP = """Convert ClusterPolicies to CEL policies.

Each rule is reported as converted, converted with conditions, or not converted, with the reason and
a remedy. POLICY is a file, a folder or - for standard input. This command does not access a
cluster; it is not related to `kyverno migrate`, which rewrites stored objects.

\b
    kyvsim migrate policies/require-labels.yaml
    kyvsim migrate policies/ --output converted/
"""
_AUTO = "auto"


@click.command(
    "migrate",
    cls=Command,
    help=_HELP,
    epilog="Exit status: 0 if all rules were converted, 1 if a rule was not, or if --check found a "
    "difference or was inconclusive, 2 if some input could not be used.",
)
@argument("paths", nargs=-1, metavar="POLICY...", type=PathType(), key="policies")
@option(
    "--output",
    effect=Effect.WRITES_NEW,
    metavar="DIR",
    type=PathType(is_written=True),
    group=OUTPUT,
    help="Write each policy to a file in this folder, with the folder structure of the "
    "input, instead of printing it. If one file cannot be written, none is.",
)
@safe_option(
    "--kind",
    type=click.Choice((_AUTO, *MADE_KINDS)),
    default=_AUTO,
    show_default=True,
    group=INPUT,
    help="Convert only rules that become policies of this kind.",
)
@flag_option(
    "--partial",
    group=EVALUATION,
    help="Also write partly converted policies (without the rules that cannot be converted) and "
    "policies for which a counterexample was found.",
)
@flag_option(
    "--check",
    group=EVALUATION,
    help="Compare each policy with its conversion as `kyvsim equal` does. Without it, only a"
    " few cases are tried.",
)
@resource_option("Manifests for --check to derive cases from. Repeatable.")
@case_limits(" of --check per policy")
@jobs_option("or a single one for few policies")
@force_option("Overwrite existing files.")
@formats_option(FORMATS)
@walking_options
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> int:
    """Run `kyvsim migrate` and return its exit status."""
    paths = options["paths"]
    if not paths:
        raise click.UsageError("no policy given: pass files or folders of policies", ctx)
    refuse_urls(paths, ctx)
    if options["resource"] and not options["check"]:
        raise click.UsageError("--resource requires --check", ctx)
    chosen = chosen_formats(options, FORMATS, ctx)
    given = stdin_of({"paths": paths}, ctx)
    walking = walking_of(options, ctx)
    kind = "" if options["kind"] == _AUTO else options["kind"]
    with report_files(chosen, FORMATS) as files:
        with waiting("converting policies", shown=is_terminal(sys.stderr)):
            migration = migrate(paths, given, walking, kind)
            if options["check"]:
                budget = SearchBudget(options["max_cases"], options["seconds"])
                given_cases = options["resource"], budget
                migration = with_evidence(migration, *given_cases, options["jobs"])
            else:
                migration = with_counterexamples(migration, options["jobs"])
        print_diagnostics(migration.diagnostics)
        _show(migration, chosen.shown, options, reader_of(options, ctx))
        files.fill(FORMATS[name].write(migration) for name, _ in chosen.files)
    print_ignored(migration.left_out, options)
    ending = migration_ending(migration)
    print_stderr(ending_line(ending))
    return ending.status


def _show(migration: Migration, shown: str, options: Options, reads: Callable[[str], bool]) -> None:
    """Show policies and conversions; with --output, write the policies."""
    texts = list(_texts(migration, partial=options["partial"]))
    folder = options["output"]
    if folder:
        files = [
            FileText(
                os.path.join(folder, _place(file, options["paths"]), f"{name}.yaml"), text, folder
            )
            for file, name, text in texts
        ]
        _write(files, options, reads)
    if folder or not FORMATS[shown].for_people:
        write_out(FORMATS[shown].write(migration), FORMATS[shown].media)
        return
    write_out(["---\n".join(text for *_, text in texts)], YAML)
    for line in "".join(FORMATS[shown].write(migration)).rstrip("\n").split("\n"):
        print_stderr(line)


def _texts(migration: Migration, *, partial: bool) -> Iterable[tuple[str, str, str]]:
    """Yield the file, name and text of each policy to output."""
    for (conversion, evidence), text in zip(migration.pairs, migration.texts, strict=True):
        differs = evidence is not None and evidence.answer is Answer.COUNTEREXAMPLE
        if partial or (conversion.is_whole and not differs):
            if text or conversion.is_whole:
                yield (
                    conversion.policy.document.file,
                    file_name(conversion.policy.key.replace("/", "-")),
                    text,
                )
        elif text:
            why = (
                "the new policy differs (see the counterexample; --partial writes it anyway)"
                if conversion.is_whole
                else "some of its rules cannot be converted (--partial writes the others)"
            )
            print_stderr(safe_line(f"{conversion.policy.key}: not written: {why}"))


def _place(file: str, paths: Iterable[str]) -> str:
    """Return the folder of a file, relative to the given folder that contains it."""
    for path in paths:
        if file.startswith(os.path.join(path, "")):
            relative = os.path.relpath(os.path.dirname(file), path)
            return "" if relative == os.curdir else relative
    return ""


def _write(files: list[FileText], options: Options, reads: Callable[[str], bool]) -> None:
    """Write all files or none."""
    paths = [file.path for file in files]
    twice = next((path for path in paths if paths.count(path) > 1), "")
    if twice:
        raise OutputError(f"two policies would both be written to {twice}: convert them separately")
    refuse_read(paths, reads)
    if not options["force"]:
        refuse_existing(paths)
    for file in files:
        check_place(file)
    for folder in dict.fromkeys((options["output"], *map(os.path.dirname, paths))):
        with writing_to(folder):
            os.makedirs(folder, exist_ok=True)
    write_files(files)
    for file in files:
        print_stderr(safe_line(f"wrote {file.path}"))
