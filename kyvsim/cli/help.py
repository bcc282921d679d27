"""`kyvsim help COMMAND`: the help of a command, as COMMAND --help shows it."""

import click

from kyvsim.cli.command import Command
from kyvsim.cli.parameters import argument, offering
from kyvsim.cli.settings import command_contexts, words_of
from kyvsim.cli.streams import write_out

_HELP = """Show the help of a command.

\b
    kyvsim help apply
    kyvsim help jp query
"""


@click.command("help", cls=Command, help=_HELP)
@argument(
    "words",
    nargs=-1,
    metavar="[COMMAND]...",
    shell_complete=offering(lambda ctx: (" ".join(words_of(one)) for one in command_contexts(ctx))),
)
@click.pass_context
def command(ctx: click.Context, words: tuple[str, ...]) -> None:
    """Run `kyvsim help`."""
    found = ctx.find_root()
    for word in words:
        group = found.command
        inner = group.get_command(found, word) if isinstance(group, click.Group) else None
        if inner is None:
            raise click.UsageError(f"unknown command: {' '.join(words)}", ctx)
        found = click.Context(inner, found, word, ctx.obj)
    write_out([found.get_help(), "\n"])
