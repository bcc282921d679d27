"""Where `kyvsim` starts: runs a command and makes an exit status of every ending."""

import gc
import os
import signal
import sys
from collections.abc import Sequence
from typing import NoReturn

import click

from kyvsim.cli.closing import INTERRUPTED, OK, TERMINATED, UNUSABLE, Interrupted
from kyvsim.cli.commands import kyvsim
from kyvsim.cli.parameters import origin_of, set_elsewhere
from kyvsim.cli.streams import abandon_stdout, print_stderr
from kyvsim.report.style import safe_line, safe_text

_CALLS = 10_000
"""How deep calls may nest: fifty for each level of what is read
(`kyvsim/kubernetes/objects.py`). The stack of a thread has room for more than twice as many."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the program with `arguments` (the process's own by default) and exit."""
    # Most of what is made stays: counting references frees the rest, cycles are few.
    gc.set_threshold(250_000, 20, 100)
    sys.exit(run(sys.argv[1:] if arguments is None else arguments, alone=True))


def _take_signals() -> None:
    """Let SIGINT and SIGTERM end the command by Interrupted; a second SIGTERM at once.

    An ignored SIGINT stays ignored, as in a process that a shell runs in the background.
    """

    def end(number: int, _: object) -> NoReturn:
        if number == signal.SIGTERM:
            signal.signal(number, signal.SIG_DFL)
        raise Interrupted(128 + number)

    signal.signal(signal.SIGTERM, end)
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, end)


def run(arguments: Sequence[str], *, alone: bool = False) -> int:
    """Run a command and return its exit status; no exception gets out.

    `alone` says that the process has nothing else to do: then signals that end it are its own.
    """
    sys.setrecursionlimit(max(_CALLS, sys.getrecursionlimit()))
    try:
        if alone:
            _take_signals()
        return _run(arguments)
    except (Interrupted, KeyboardInterrupt) as interrupt:
        status = interrupt.code if isinstance(interrupt, Interrupted) else INTERRUPTED
        print_stderr("terminated" if status == TERMINATED else "interrupted")
        return int(status or INTERRUPTED)
    except Exception as error:  # noqa: BLE001 — the last resort: users never see a traceback
        return ended_by(error)


def ended_by(error: Exception) -> int:
    """Say what ended the program, and return the exit status."""
    match error:
        case click.ClickException():
            _print_refused(error)
            return UNUSABLE
        case click.Abort():
            print_stderr("interrupted")
            return INTERRUPTED
        case BrokenPipeError():
            abandon_stdout()
            return OK
        case OSError():
            abandon_stdout()
            _print_error(f"{error.filename or 'cannot write to standard output'}: {error.strerror}")
            return UNUSABLE
        case MemoryError():
            _print_error("out of memory: allow the run more memory, or evaluate less at once")
            return UNUSABLE
    return _defect(error)


def _print_error(text: str) -> None:
    """Say what is wrong; what others wrote in it (names of files, their programs) stays text."""
    print_stderr(f"error: {safe_text(text)}")


def _print_refused(error: click.ClickException) -> None:
    """Say why a command does not run, with the place of what is wrong outside of its line."""
    ctx = error.ctx if isinstance(error, click.UsageError) else None
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        print_stderr(error.format_message())
        return
    place = None
    if ctx is not None:
        print_stderr(f"Try '{ctx.command_path} --help' for help.")
        if isinstance(error, click.BadParameter):
            place = origin_of(ctx, error.param)
        elif elsewhere := set_elsewhere(ctx):
            print_stderr(f"Set outside of the command line: {elsewhere}")
    text = error.format_message()
    _print_error(f"{place}: {text}" if place else text)


def _run(arguments: Sequence[str]) -> int:
    status = kyvsim.main(list(arguments), prog_name="kyvsim", standalone_mode=False)
    if sys.stdout is not None:
        sys.stdout.flush()
    return status if isinstance(status, int) else OK


def _defect(error: Exception) -> int:
    """Report a defect of kyvsim itself on one line; KYVSIM_TRACEBACK=1 asks for all of it."""
    if os.environ.get("KYVSIM_TRACEBACK"):
        import traceback

        print_stderr("".join(traceback.format_exception(error)).rstrip())
        return UNUSABLE

    cause = safe_line(" ".join(str(error).split())[:200])
    print_stderr(
        f"internal error: {type(error).__name__}: {cause}; this is a bug in kyvsim, "
        "please report it (KYVSIM_TRACEBACK=1 shows where it happened)"
    )
    return UNUSABLE
