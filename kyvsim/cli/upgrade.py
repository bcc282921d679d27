"""`kyvsim upgrade`: shows what a newer release of Kyverno changes for policies."""

import sys
from collections.abc import Iterator
from typing import Any

import click

from kyvsim.api.inputs import ApplyInputs
from kyvsim.api.upgrade import UpgradeInputs, preview_upgrade
from kyvsim.cli.command import Command
from kyvsim.cli.options import (
    case_limits,
    colour_option,
    crd_option,
    exception_option,
    file_option,
    paths_option,
    print_ignored,
    refuse_urls,
    resource_option,
    time_option,
    walking_of,
    walking_options,
)
from kyvsim.cli.output_files import chosen_formats, formats_option, report_files
from kyvsim.cli.parameters import (
    EVALUATION,
    INPUT,
    OUTPUT,
    REQUEST,
    Options,
    PathType,
    argument,
    flag_option,
    safe_option,
)
from kyvsim.cli.streams import (
    close,
    is_terminal,
    print_diagnostics,
    shown_width,
    shows_colours,
    stdin_of,
    waiting,
    write_out,
)
from kyvsim.model.comparison import SearchBudget
from kyvsim.model.release import NEWEST, PLANNED, RELEASES
from kyvsim.model.upgrade import Upgrade
from kyvsim.report.formats import UPGRADE_FORMATS as FORMATS
from kyvsim.report.run import ending_line
from kyvsim.report.style import RenderOptions
from kyvsim.report.upgrade import upgrade_ending

_HELP = """Show what a newer release of Kyverno changes for policies.

POLICY is a file, a folder or - for standard input; PolicyExceptions in it are applied. The
--resource manifests are evaluated as both releases do; changes that manifests cannot show are found
in the policies. Each change has a position, its cause and a next step. For a release that removes
kinds, an inventory shows which policies lose their effect, and which of them can be converted.

\b
    kyvsim upgrade policies/ --resource manifests/
    kyvsim upgrade policies/ --to 1.20 --check
"""
_ORDER = (*RELEASES, *PLANNED)
"""All releases, the oldest first."""


@click.command(
    "upgrade",
    cls=Command,
    help=_HELP,
    epilog="Exit status: 0 if nothing changes but texts, 1 if a policy is rejected or loses its "
    "effect, or results or objects differ, 2 if some input could not be used.",
)
@argument("policies", nargs=-1, metavar="POLICY...", type=PathType(), key="policies")
@safe_option(
    "--from",
    "old",
    type=click.Choice(tuple(RELEASES)),
    group=EVALUATION,
    help="Release that is in use [default: the one before --to].",
)
@safe_option(
    "--to",
    "new",
    type=click.Choice(_ORDER[1:]),
    default=NEWEST.name,
    show_default=True,
    group=EVALUATION,
    help="Release to upgrade to. Releases that kyvsim cannot emulate yet are only searched for "
    f"removed kinds: {', '.join(PLANNED)}.",
)
@resource_option("Resources to evaluate as both releases do. Repeatable.")
@paths_option(
    "--target-resource",
    "--target-resources",
    help="Existing objects that mutate-existing rules may change. Repeatable.",
)
@exception_option()
@file_option("-f", "--values-file", help="Values file for variables in policies.")
@file_option("-u", "--userinfo", group=REQUEST, help="File with the requesting user's identity.")
@file_option("--context-file", help="Data for context lookups of CEL policies.")
@crd_option("--crd-paths", "--crd-path")
@paths_option(
    "--test",
    "--tests",
    "tests",
    group=INPUT,
    help="Test manifests, or folders of them (kyverno-test.yaml), whose rows are compared. "
    "Repeatable.",
)
@paths_option(
    "--scenario",
    "scenarios",
    group=INPUT,
    help="Scenario (see `kyvsim simulate`) to run in both releases. Repeatable.",
)
@flag_option(
    "--check",
    group=EVALUATION,
    help="Compare each policy of a removed kind with its conversion, as `kyvsim migrate --check`.",
)
@case_limits(" of --check per policy")
@safe_option(
    "--now",
    callback=time_option,
    metavar="TIME",
    group=EVALUATION,
    help="Current time for policies, in RFC 3339 format [default: system time].",
)
@formats_option(FORMATS)
@flag_option("--detailed-results", group=OUTPUT, help="List every change, not only the first few.")
@colour_option
@walking_options
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> int:
    """Run `kyvsim upgrade` and return its exit status."""
    inputs = _inputs(options, ctx)
    chosen = chosen_formats(options, FORMATS, ctx)
    read = ("policies", "resource", "target_resource", "exception", "values_file", "userinfo")
    stdin = stdin_of({name: options[name] for name in (*read, "context_file", "crd_paths")}, ctx)
    with report_files(chosen, FORMATS) as files:
        with waiting("comparing releases", shown=is_terminal(sys.stderr)):
            upgrade = preview_upgrade(inputs, stdin)
        print_diagnostics(upgrade.diagnostics)
        print_ignored(upgrade.left_out, options)
        shown = FORMATS[chosen.shown]
        write_out(_written(chosen.shown, upgrade, options, is_shown=True), shown.media)
        files.fill(_written(name, upgrade, options) for name, _ in chosen.files)
    ending = upgrade_ending(upgrade)
    close(ending, on_stdout=shown.for_people)
    return ending.status


def _written(
    name: str, upgrade: Upgrade, options: Options, *, is_shown: bool = False
) -> Iterator[str]:
    form = FORMATS[name]
    render_options = RenderOptions(detailed=options["detailed_results"])
    if is_shown and form.for_people:
        render_options = render_options._replace(
            colours=shows_colours(), width=shown_width(sys.stdout)
        )
    yield from form.write(upgrade, render_options)
    if form.for_people and not is_shown:
        yield f"{ending_line(upgrade_ending(upgrade))}\n"


def _inputs(options: Options, ctx: click.Context) -> UpgradeInputs:
    """Return the inputs of the options; raises UsageError."""
    if not options["policies"]:
        raise click.UsageError("no policy given: pass files or folders of policies", ctx)
    refuse_urls(
        (*options["policies"], *options["resource"], *options["tests"], *options["scenarios"]), ctx
    )
    target = options["new"]
    old = options["old"] or _ORDER[_ORDER.index(target) - 1]
    if _ORDER.index(old) >= _ORDER.index(target):
        relation = "equal to" if old == target else "older than"
        later = " or ".join(f"--to {one}" for one in _ORDER[_ORDER.index(old) + 1 :])
        raise click.UsageError(f"--to {target} is {relation} --from {old}: use {later}", ctx)
    if options["check"] and target not in PLANNED:
        text = f"--check compares policies that a release removes: add --to {' or '.join(PLANNED)}"
        raise click.UsageError(text, ctx)
    shared = ApplyInputs(
        policies=options["policies"],
        resources=options["resource"],
        targets=options["target_resource"],
        exceptions=options["exception"],
        values_file=options["values_file"],
        userinfo=options["userinfo"],
        context_file=options["context_file"],
        crd_paths=options["crd_paths"],
        now=options["now"],
        walking=walking_of(options, ctx),
    )
    return UpgradeInputs(
        shared,
        RELEASES[old],
        RELEASES.get(target, NEWEST),
        PLANNED.get(target),
        options["tests"],
        options["scenarios"],
        SearchBudget(options["max_cases"], options["seconds"]) if options["check"] else None,
    )
