"""`kyvsim version`."""

from kyvsim import __version__
from kyvsim.cli import declared
from kyvsim.cli.streams import write_out


@declared.command()
def command() -> None:
    """Show the version."""
    write_out([f"kyvsim, version {__version__}\n"])
