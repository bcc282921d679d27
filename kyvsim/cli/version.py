"""`kyvsim version`."""

import click

from kyvsim import __version__


@click.command()
def command() -> None:
    """Show the version."""
    click.echo(f"kyvsim, version {__version__}")
