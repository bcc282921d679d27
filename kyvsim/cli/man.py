"""`kyvsim man`: the manual page, made of what the commands say of themselves."""

import click

from kyvsim.cli.command import Command
from kyvsim.cli.exit_status import OK
from kyvsim.cli.manual import manual_page
from kyvsim.cli.streams import write_out

_HELP = """Print the manual page, for man.

\b
    kyvsim man > ~/.local/share/man/man1/kyvsim.1
    kyvsim man | man -l -
"""


@click.command("man", cls=Command, help=_HELP)
def command() -> int:
    """Run `kyvsim man` and return its exit status."""
    write_out(manual_page())
    return OK
