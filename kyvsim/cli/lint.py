"""`kyvsim lint`: everything that can be said of policies without resources."""

import click

from kyvsim.api.lint import lint
from kyvsim.cli.exit_status import FAILED, OK, UNUSABLE
from kyvsim.cli.options import GoSpelledCommand, refuse_urls
from kyvsim.cli.streams import read_stdin, say, write_out
from kyvsim.report.findings import Findings
from kyvsim.report.lint_formats import FORMATS

_HELP = """Check policies without resources and show all that is wrong with them.

PATH is a file, a folder or - for standard input.

\b
    kyvsim lint policies/
    kyvsim lint policies/ --output-format sarif > kyvsim.sarif
"""


@click.command(
    cls=GoSpelledCommand,
    help=_HELP,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit status: 0 no error, 1 warnings only and --strict, 2 a policy could not be used.",
)
@click.argument("paths", nargs=-1, metavar="PATH...")
@click.option(
    "--output-format",
    type=click.Choice(tuple(FORMATS), case_sensitive=False),
    default="text",
    show_default=True,
    help="How the findings are printed.",
)
@click.option("--strict", is_flag=True, help="Exit with 1 when there are warnings and no errors.")
@click.pass_context
def command(ctx: click.Context, /, paths: tuple[str, ...], output_format: str, strict: bool) -> int:
    """Run `kyvsim lint` and return its exit status."""
    if not paths:
        raise click.UsageError("no policy given: pass files or folders of policies", ctx)
    refuse_urls(paths, ctx)
    findings = lint(paths, read_stdin() if "-" in paths else None)
    write_out(FORMATS[output_format](findings))
    say(str(findings))
    return _status(findings, strict)


def _status(findings: Findings, strict: bool) -> int:
    if findings.errors:
        return UNUSABLE
    return FAILED if strict and findings.warnings else OK
