"""`kyvsim rule`: explain diagnostic codes."""

import json
import sys
from collections.abc import Mapping
from typing import Any

import click

from kyvsim.cli.closing import OK
from kyvsim.cli.command import Command
from kyvsim.cli.parameters import OUTPUT, argument, offering, safe_option
from kyvsim.cli.streams import shown_width, shows_colours, write_out
from kyvsim.model.diagnostic import likely
from kyvsim.report.diagnostic_codes import (
    DiagnosticCode,
    code_lines,
    codes_by_name,
    files_of,
    list_lines,
)
from kyvsim.report.log_commands import JSON
from kyvsim.report.style import RenderOptions, counted, layout_of

_HELP = """Explain a diagnostic code, with examples.

Without CODE, list all codes.

\b
    kyvsim rule KV202
    kyvsim rule --output-format json
"""


@click.command("rule", cls=Command, help=_HELP)
@argument(
    "codes", nargs=-1, metavar="[CODE]...", shell_complete=offering(lambda _: codes_by_name())
)
@safe_option(
    "-o",
    "--output-format",
    "--format",
    type=click.Choice(("text", "json")),
    default="text",
    group=OUTPUT,
    help="Output format.",
)
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> int:
    """Run `kyvsim rule` and return its exit status."""
    known = codes_by_name()
    chosen = [_chosen(name, known, ctx) for name in options["codes"]]
    if options["output_format"] == "json":
        told = [_plain(one) for one in chosen or known.values()]
        write_out([json.dumps(told, indent=2, ensure_ascii=False) + "\n"], JSON)
        return OK
    look = RenderOptions(colours=shows_colours(), width=shown_width(sys.stdout))
    sheet = layout_of(look)
    if not chosen:
        write_out(list_lines(known.values(), sheet))
        write_out([f"\n{counted(len(known), 'code')}: `kyvsim rule CODE` explains one\n"])
    for number, one in enumerate(chosen):
        write_out(["\n"] if number else [])
        write_out(code_lines(one, sheet))
    return OK


def _chosen(name: str, known: Mapping[str, DiagnosticCode], ctx: click.Context) -> DiagnosticCode:
    """Return the code of a name; raises UsageError with the likely one where there is none."""
    spelled = name.upper() if name[:1].isalpha() else f"KV{name}"
    if spelled in known:
        return known[spelled]
    hint = likely(spelled, known) or ": `kyvsim rule` lists all codes"
    raise click.UsageError(f"unknown code `{spelled}`{hint}", ctx)


def _plain(one: DiagnosticCode) -> dict[str, Any]:
    """Return a code as JSON has it: files by name."""
    told = {
        name: {"command": f"kyvsim {example.command}", "files": dict(files_of(example.text))}
        for name, example in (("bad", one.bad), ("good", one.good))
        if example
    }
    return {**one._asdict(), **told, "beside": dict(files_of(one.beside)), "page": one.page}
