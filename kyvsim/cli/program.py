"""The program behind the front page: runs a command, makes an exit status of every ending."""

import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import click

from kyvsim import __version__
from kyvsim.cli.exit_status import INTERRUPTED, OK, UNUSABLE
from kyvsim.cli.front_page import COMMANDS, PURPOSE, front_page, page_width
from kyvsim.cli.streams import OutputError, abandon_stdout, say

_ELSEWHERE: Mapping[str, str] = MappingProxyType({"test": "suite"})
"""Modules that are called otherwise: one called `test` looks like a test of kyvsim."""


def module_of(command: str) -> str:
    """Return the name of the module in which a command lies."""
    return _ELSEWHERE.get(command, command)


class _Commands(click.Group):
    """A group that imports a command's module only when the command is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in COMMANDS:
            return None
        command = importlib.import_module(
            f"kyvsim.cli.{_ELSEWHERE.get(cmd_name, cmd_name)}"
        ).command
        return command if isinstance(command, click.Command) else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from difflib import get_close_matches  # noqa: PLC0415 — slow to import, for a typo only

            near = get_close_matches(args[0], COMMANDS, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            ctx.fail(f"No such command {args[0]!r}.{hint}")
        return super().resolve_command(ctx, args)

    def get_help(self, ctx: click.Context) -> str:
        del ctx
        return front_page(page_width())


@click.group(cls=_Commands, help=PURPOSE, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="kyvsim")
def kyvsim() -> None:
    """Take the options that stand before the command."""


def run_command(arguments: Sequence[str]) -> int:
    """Run a command and return its exit status; no exception gets out."""
    try:
        return _run(arguments)
    except KeyboardInterrupt:
        return ended_by(click.Abort())
    except Exception as error:  # noqa: BLE001 — the last resort: users never see a traceback
        return ended_by(error)


def ended_by(error: Exception) -> int:
    """Say what ended the program, and return the exit status."""
    match error:
        case click.ClickException():
            _show(error)
            return UNUSABLE
        case OutputError():
            say(f"error: {error}")
            return UNUSABLE
        case click.Abort():
            say("interrupted")
            return INTERRUPTED
        case BrokenPipeError():
            abandon_stdout()
            return OK
        case OSError():
            abandon_stdout()
            say(f"error: {error.filename or 'cannot write to standard output'}: {error.strerror}")
            return UNUSABLE
    return _defect(error)


def _run(arguments: Sequence[str]) -> int:
    status: Any = kyvsim.main(list(arguments), prog_name="kyvsim", standalone_mode=False)
    if sys.stdout is not None:
        sys.stdout.flush()
    return status if isinstance(status, int) else OK


def _show(error: click.ClickException) -> None:
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        say(error.format_message())
        return
    if isinstance(error, click.UsageError) and error.ctx is not None:
        say(f"Try '{error.ctx.command_path} --help' for help.")
    say(f"error: {error.format_message()}")


def _defect(error: Exception) -> int:
    """Report a defect of kyvsim itself on one line; KYVSIM_TRACEBACK=1 asks for all of it."""
    if os.environ.get("KYVSIM_TRACEBACK"):
        raise error
    cause = " ".join(str(error).split())[:200]
    say(
        f"internal error: {type(error).__name__}: {cause}; this is a defect of kyvsim, "
        "please report it (KYVSIM_TRACEBACK=1 shows where it happened)"
    )
    return UNUSABLE
