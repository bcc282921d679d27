"""`kyvsim lsp`: the language server for editors."""

import os
from collections.abc import Mapping
from typing import Any

import click
from click.core import ParameterSource

from kyvsim.api.workspace import ProjectSettings, Rules
from kyvsim.cli.command import Command, of_extra, read_values, use_settings
from kyvsim.cli.options import (
    crd_option,
    exception_option,
    strict_option,
    walking_of,
    walking_options,
)
from kyvsim.cli.parameters import INPUT, PathType, argument, flag_option, origin_of
from kyvsim.cli.streams import OK
from kyvsim.load.folders import USUAL
from kyvsim.model.diagnostic import Diagnostic, Severity

_HELP = """Start the language server for editors, over standard input and output.

It shows the diagnostics of `kyvsim lint` with quick fixes, and failed results of the workspace's
policies in open manifests. It completes and explains fields, operators and functions, finds and
renames policies and rules, and runs tests. Files in PATH are read in addition to open files
[default: the workspace folders of the editor].

\b
    kyvsim lsp
    kyvsim lsp policies/ exceptions/
"""


@click.command(
    "lsp", cls=Command, help=_HELP, epilog="Runs until the editor stops it.", reads_settings=False
)
@argument("paths", shared=True, nargs=-1, metavar="[PATH]...", type=PathType(), key="policies")
@exception_option(shared=True)
@crd_option("--crd-path", "--crd-paths", shared=True)
@strict_option
@flag_option(
    "--no-results",
    group=INPUT,
    help="Do not evaluate the workspace's policies on open manifests.",
)
@walking_options
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> int:
    """Run `kyvsim lsp` and return its exit status."""
    with of_extra("lsp"):
        from kyvsim.lsp.server import serve  # noqa: PLC0415 — needs an extra
    walking_of(options, ctx)
    # Options of the command line override those of the editor's folder.
    given = {
        name: value
        for name, value in options.items()
        if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE
    }
    for name in {"paths", "crd_path", "exception"} & given.keys():
        given[name] = tuple(os.path.abspath(value) for value in given[name])
    serve(lambda: editor_settings(ctx, given))
    return OK


def editor_settings(ctx: click.Context, given: Mapping[str, object]) -> ProjectSettings:
    """Return the settings in the editor's folder, with diagnostics."""
    usual, now = (click.Context(ctx.command, ctx.parent, ctx.info_name, ctx.obj) for _ in range(2))
    usual.auto_envvar_prefix = None
    read_values(usual)
    remarks = [*use_settings(now).remarks, *read_values(now)]
    options = {**usual.params, **now.params, **given}
    try:
        walking = walking_of(options, now)
    except click.BadParameter as error:
        walking, place = USUAL, origin_of(now, error.param)
        remarks.append(Diagnostic("KV096", Severity.ERROR, error.format_message(), place))
    rules = Rules(
        paths=tuple(options["paths"]),
        exceptions=tuple(options["exception"]),
        crd_paths=tuple(options["crd_path"]),
        walking=walking,
        strict=options["strict"],
        shows_results=not options["no_results"],
    )
    return ProjectSettings(rules, tuple(remarks))
