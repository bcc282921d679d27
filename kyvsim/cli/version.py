"""`kyvsim version`."""

import click

from kyvsim import __version__
from kyvsim.cli.command import Command
from kyvsim.cli.streams import write_out


@click.command("version", cls=Command)
def command() -> None:
    """Show the version."""
    write_out([f"kyvsim, version {__version__}\n"])
