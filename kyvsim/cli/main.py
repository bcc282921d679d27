"""Where `kyvsim` starts: runs a command and makes an exit status of every ending."""

import gc
import os
import signal
import sys
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

from kyvsim.cli.by_click import run_by_click
from kyvsim.cli.closing import say_remarks
from kyvsim.cli.commands import called
from kyvsim.cli.declared import COMPLETION, CommandError, Settled, UsageError
from kyvsim.cli.exit_status import INTERRUPTED, OK, TERMINATED, UNUSABLE, Interrupted
from kyvsim.cli.settled import leading_options, named_configuration, settled
from kyvsim.cli.streams import OutputError, abandon_stdout, say
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.report.style import safe_line, safe_text

_CALLS = 10_000
"""How deep calls may nest: fifty for each level of what is read (`kyvsim/kube/objects.py`). The
stack of a thread has room for more than twice as many."""
_HELP = frozenset({"-h", "--help"})


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
        say("terminated" if status == TERMINATED else "interrupted")
        return int(status or INTERRUPTED)
    except Exception as error:  # noqa: BLE001 — the last resort: users never see a traceback
        return ended_by(error)


def ended_by(error: Exception) -> int:
    """Say what ended the program, and return the exit status."""
    match error:
        case CommandError():
            if isinstance(error, UsageError) and error.call is not None:
                say(f"Try '{error.call.path} --help' for help.")
                if elsewhere := error.call.elsewhere():
                    say(f"Set outside of the line: {elsewhere}")
            _say_error(str(error))
            return UNUSABLE
        case OutputError():
            _say_error(str(error))
            return UNUSABLE
        case BrokenPipeError():
            abandon_stdout()
            return OK
        case OSError():
            abandon_stdout()
            _say_error(f"{error.filename or 'cannot write to standard output'}: {error.strerror}")
            return UNUSABLE
        case MemoryError():
            _say_error("there is no more memory: give the run more of it, or less to look at")
            return UNUSABLE
    return _defect(error)


def _say_error(text: str) -> None:
    """Say what is wrong; what others wrote in it (names of files, their programs) stays text."""
    say(f"error: {safe_text(text)}")


def _run(arguments: Sequence[str]) -> int:
    status = _status(arguments)
    if sys.stdout is not None:
        sys.stdout.flush()
    return status if isinstance(status, int) else OK


def _status(arguments: Sequence[str]) -> Any:
    is_completion = COMPLETION in os.environ
    leading, arguments = ((), arguments) if is_completion else leading_options(arguments)
    found = None if is_completion else called(arguments)
    outside = Settled()
    if found is not None:
        call, words = found
        call = call._replace(config=named_configuration(call, leading, words))
        outside = Settled(config=call.config)
        if not (call.command.settles_itself or _HELP.intersection(words)):
            outside = settled(call, words)
            if outside.remarks and _are_refused(outside.remarks):
                return UNUSABLE
    try:
        return run_by_click(arguments, outside)
    finally:
        if outside.outputs:
            from kyvsim.cli.discovered import record_outputs  # noqa: PLC0415 — loaded by then

            record_outputs(outside.outputs)


def _are_refused(remarks: Iterable[Diagnostic]) -> bool:
    """Say what is wrong with settings; return whether nothing can be run with them."""
    say_remarks(remarks)
    return any(one.severity is Severity.ERROR for one in remarks)


def _defect(error: Exception) -> int:
    """Report a defect of kyvsim itself on one line; KYVSIM_TRACEBACK=1 asks for all of it."""
    if os.environ.get("KYVSIM_TRACEBACK"):
        import traceback  # noqa: PLC0415 — as its lines

        say("".join(traceback.format_exception(error)).rstrip())
        return UNUSABLE

    cause = safe_line(" ".join(str(error).split())[:200])
    say(
        f"internal error: {type(error).__name__}: {cause}; this is a defect of kyvsim, "
        "please report it (KYVSIM_TRACEBACK=1 shows where it happened)"
    )
    return UNUSABLE
