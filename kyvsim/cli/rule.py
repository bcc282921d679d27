"""`kyvsim rule`: explains diagnostic codes."""

import json
import sys
from collections.abc import Mapping
from typing import Any

import click

from kyvsim.cli.command import Command
from kyvsim.cli.parameters import OUTPUT, argument, offering, safe_option
from kyvsim.cli.streams import OK, shown_width, shows_colours, write_out
from kyvsim.model.diagnostic import likely
from kyvsim.report.diagnostic_codes import (
    DiagnosticCode,
    code_lines,
    codes_by_name,
    files_of,
    list_lines,
)
from kyvsim.report.formats import JSON
from kyvsim.report.object_text import document_origin
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
    show_default=True,
    group=OUTPUT,
    help="Output format.",
)
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> int:
    """Run `kyvsim rule` and return its exit status."""
    known = codes_by_name()
    chosen = [_chosen(name, known, ctx) for name in options["codes"]]
    if options["output_format"] == "json":
        data = []
        for code in chosen or known.values():
            examples = {
                name: {"command": f"kyvsim {one.command}", "files": dict(files_of(one.text))}
                for name, one in (("bad", code.bad), ("good", code.good))
                if one
            }
            beside = {"beside": dict(files_of(code.beside)), "page": code.page}
            data.append({**code._asdict(), **examples, **beside})
        document = {"codes": data, "kyvsim": document_origin("rule")}
        write_out([json.dumps(document, indent=2, ensure_ascii=False) + "\n"], JSON)
        return OK
    render_options = RenderOptions(colours=shows_colours(), width=shown_width(sys.stdout))
    layout = layout_of(render_options)
    if not chosen:
        write_out(list_lines(known.values(), layout))
        write_out([f"\n{counted(len(known), 'code')}: `kyvsim rule CODE` explains one\n"])
    for number, code in enumerate(chosen):
        write_out(["\n"] if number else [])
        write_out(code_lines(code, layout))
    return OK


def _chosen(name: str, known: Mapping[str, DiagnosticCode], ctx: click.Context) -> DiagnosticCode:
    """Return the code with a name; raises UsageError with a hint."""
    spelled = name.upper() if name[:1].isalpha() else f"KV{name}"
    if spelled in known:
        return known[spelled]
    hint = likely(spelled, known) or ": `kyvsim rule` lists all codes"
    raise click.UsageError(f"unknown code `{spelled}`{hint}", ctx)
