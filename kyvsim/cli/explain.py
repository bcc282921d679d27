"""`kyvsim explain`: how policies come to what they say of resources."""

from typing import Any

import click

from kyvsim.api.explain import ExplainTarget, NotFoundError
from kyvsim.cli.closing import print_diagnostics
from kyvsim.cli.command import Command
from kyvsim.cli.exit_status import OK, UNUSABLE
from kyvsim.cli.explain_run import opened, written
from kyvsim.cli.input_options import (
    check_inputs,
    input_options,
    inputs_of,
    stdin_for,
    with_manifests_named,
)
from kyvsim.cli.options import colour_option, refused_options
from kyvsim.cli.parameters import INPUT, safe_option
from kyvsim.cli.report_files import chosen_formats, formats_option, report_files
from kyvsim.cli.streams import shows_colours, write_out
from kyvsim.cli.walking import print_ignored
from kyvsim.model.diagnostic import Severity
from kyvsim.report.formats import EXPLAIN_FORMATS as FORMATS

_HELP = """Explain step by step why each rule passed, failed or was skipped.

POLICY is a file, a folder or - for standard input.

\b
    kyvsim explain policies/ --resource pods.yaml
    kyvsim explain policies/ -r pods.yaml --rule check-image --object Pod/web
    kyvsim explain policies/ -r pods.yaml --output-format html > why.html
"""


@click.command(
    "explain",
    cls=Command,
    go_spelling=True,
    help=_HELP,
    epilog="Exit status: 0 on success, 2 some input could not be used.",
)
@safe_option(
    "--rule",
    default="",
    metavar="NAME",
    group=INPUT,
    help="Explain only this rule: RULE, POLICY/RULE or POLICY.",
)
@safe_option(
    "--object",
    default="",
    metavar="NAME",
    group=INPUT,
    help="Explain only this object: NAME, KIND/NAME or NAMESPACE/KIND/NAME.",
)
@formats_option(FORMATS)
@input_options
@colour_option
@refused_options
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> int:
    """Run `kyvsim explain` and return its exit status."""
    options = with_manifests_named(options)
    check_inputs(ctx, options)
    chosen = chosen_formats(options, FORMATS, ctx)
    stdin = stdin_for(options, ctx)
    asked = ExplainTarget(options["rule"], options["object"])
    try:
        found = opened(inputs_of(options, ctx), asked, stdin)
    except NotFoundError as error:
        print_diagnostics(error.diagnostics)
        raise click.UsageError(str(error), ctx) from None
    print_diagnostics(found.run.diagnostics)
    print_ignored(found.run.left_out, options)
    with report_files(chosen, FORMATS) as files:
        objects = tuple(found.objects) if chosen.files else found.objects
        write_out(
            written(chosen.shown, objects, colours=shows_colours()), FORMATS[chosen.shown].media
        )
        files.fill(written(name, objects, colours=False) for name, _ in chosen.files)
    # The explanation shows that no rule matched, not that policies were given as resources.
    later = tuple(one for one in found.run.final_diagnostics() if one.severity is Severity.ERROR)
    print_diagnostics(later)
    is_broken = any(one.severity is Severity.ERROR for one in (*found.run.diagnostics, *later))
    return UNUSABLE if is_broken else OK
