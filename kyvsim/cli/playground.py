"""`kyvsim playground`: a local web page to try policies."""

import contextlib
import webbrowser
from typing import Any, Final

import click

from kyvsim.cli.command import Command, of_extra
from kyvsim.cli.parameters import flag_option, safe_option
from kyvsim.cli.streams import OK, TERMINATED, Interrupted, print_stderr

_HELP = """Start a local web playground.

The page shows policies, resources, values and exceptions next to their results: verdicts,
mutations, generated objects, explanations, and a simulation. The server reads no
files and stores nothing. The link for sharing contains the whole input.

\b
    kyvsim playground
    kyvsim playground --port 8090 --no-open
"""
_PORT: Final = 8420


@click.command(
    "playground",
    cls=Command,
    help=_HELP,
    epilog="Runs until it is interrupted; the exit status is then 0.",
)
@safe_option(
    "--port",
    type=click.IntRange(0, 65535),
    default=_PORT,
    show_default=True,
    metavar="N",
    help="Local port (0: any free port).",
)
@flag_option("--no-open", help="Do not open a browser.")
def command(**options: Any) -> int:
    """Run `kyvsim playground` and return its exit status."""
    with of_extra("playground"):
        from kyvsim.playground.serving import PortTakenError, serve  # noqa: PLC0415 — an extra

    def began(address: str) -> None:
        print_stderr(f"{address} is served until Ctrl-C is pressed")
        if not options["no_open"]:
            with contextlib.suppress(webbrowser.Error, OSError):
                webbrowser.open(address)

    try:
        serve(options["port"], began)
    except PortTakenError as error:
        text = f"{error}: choose another port with --port (0: any free port)"
        raise click.ClickException(text) from None
    except KeyboardInterrupt:
        pass
    except Interrupted as interrupt:
        if interrupt.code == TERMINATED:
            raise
    return OK
