"""`kyvsim help COMMAND`: the same as COMMAND --help."""

import click

from kyvsim.cli.command import Command, command_contexts, words_of
from kyvsim.cli.parameters import argument, offering
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
    shell_complete=offering(
        lambda ctx: (" ".join(words_of(context)) for context in command_contexts(ctx))
    ),
)
@click.pass_context
def command(ctx: click.Context, words: tuple[str, ...]) -> None:
    """Run `kyvsim help`."""
    context = ctx.find_root()
    for word in words:
        group = context.command
        inner = group.get_command(context, word) if isinstance(group, click.Group) else None
        if inner is None:
            raise click.UsageError(f"unknown command: {' '.join(words)}", ctx)
        context = click.Context(inner, context, word, ctx.obj)
    write_out([context.get_help(), "\n"])
