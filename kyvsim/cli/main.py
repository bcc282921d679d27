"""The entry point: runs a command and returns an exit status in all cases."""

import gc
import os
import re
import shlex
import signal
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NoReturn

import click

from kyvsim import __version__
from kyvsim.cli.commands import kyvsim
from kyvsim.cli.parameters import origin_of, settings_outside_line
from kyvsim.cli.streams import (
    INTERRUPTED,
    OK,
    TERMINATED,
    UNUSABLE,
    Interrupted,
    abandon_stdout,
    print_stderr,
)
from kyvsim.report.style import PAGE_ORIGIN, safe_line, safe_text

_CALLS = 10_000
"""Maximum call depth: fifty for each level of input (`kyvsim/kubernetes/objects.py`). The stack of
a thread has room for more than twice as many.
"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the program with `arguments` (the process's own by default) and exit."""
    # Most objects live until the end; reference counting frees the others, since cycles are rare.
    gc.set_threshold(250_000, 20, 100)
    sys.exit(run(sys.argv[1:] if arguments is None else arguments, alone=True))


def _take_signals() -> None:
    """Make SIGINT and SIGTERM raise Interrupted; a second SIGTERM kills the process.

    An ignored SIGINT stays ignored, as in a background process of a shell.
    """

    def end(number: int, _: object) -> NoReturn:
        if number == signal.SIGTERM:
            signal.signal(number, signal.SIG_DFL)
        raise Interrupted(128 + number)

    signal.signal(signal.SIGTERM, end)
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, end)


def run(arguments: Sequence[str], *, alone: bool = False) -> int:
    """Run a command and return its exit status; never raises.

    `alone` means that the process does nothing else, so that signals can be handled.
    """
    sys.setrecursionlimit(max(_CALLS, sys.getrecursionlimit()))
    try:
        if alone:
            _take_signals()
        PAGE_ORIGIN.set(_page_origin(arguments))
        status = kyvsim.main(list(arguments), prog_name="kyvsim", standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
        return status if isinstance(status, int) else OK
    except (Interrupted, KeyboardInterrupt) as interrupt:
        code = interrupt.code if isinstance(interrupt, Interrupted) else INTERRUPTED
        print_stderr("terminated" if code == TERMINATED else "interrupted")
        return int(code or INTERRUPTED)
    except Exception as error:  # noqa: BLE001 — last resort: users never see a traceback
        return exit_status_of(error)


def _page_origin(arguments: Sequence[str]) -> str:
    """Return the version of kyvsim, the date in UTC, and the command, for pages.

    SOURCE_DATE_EPOCH replaces the date, for pages that are to be reproducible. The number of
    processes changes no output, so it is left out.
    """
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    now = (
        datetime.fromtimestamp(int(epoch), UTC)
        if epoch.isdecimal() and len(epoch) < 12
        else datetime.now(UTC)
    )
    command = re.sub(r" (?:-j|--jobs)[ =]?[0-9]+\b", "", shlex.join(("kyvsim", *arguments)))
    return f"kyvsim {__version__} · {now:%Y-%m-%d %H:%M} UTC · {command}"


def exit_status_of(error: Exception) -> int:
    """Report an error, and return the exit status."""
    match error:
        case click.ClickException():
            ctx = error.ctx if isinstance(error, click.UsageError) else None
            if isinstance(error, click.exceptions.NoArgsIsHelpError):
                print_stderr(error.format_message())
            else:
                place = None
                if ctx is not None:
                    print_stderr(f"Try '{ctx.command_path} --help' for help.")
                    if isinstance(error, click.BadParameter):
                        place = origin_of(ctx, error.param)
                    elif elsewhere := settings_outside_line(ctx):
                        print_stderr(f"Set outside of the command line: {elsewhere}")
                text = error.format_message()
                _print_error(f"{place}: {text}" if place else text)
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
    """Print an error; text from users and programs is escaped."""
    print_stderr(f"error: {safe_text(text)}")


def _defect(error: Exception) -> int:
    """Report a bug of kyvsim on one line; with KYVSIM_TRACEBACK=1, the traceback."""
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
