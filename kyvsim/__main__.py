"""Entry point of `kyvsim` and `python -m kyvsim`."""

import gc
import signal
from collections.abc import Sequence
from types import FrameType
from typing import NoReturn


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the program with `arguments` (the process's own by default) and exit.

    Loading the modules of the program takes a while, in which a signal would end it with a
    traceback. So signals are handled before these are imported, and again when the command is done.
    """
    if arguments is None:
        _handle_signals()
    # Most of what is made stays: counting references frees the rest, cycles are few.
    gc.set_threshold(250_000, 20, 100)
    from kyvsim.cli.main import main as run  # noqa: PLC0415 — after the signals

    try:
        run(arguments)
    finally:
        if arguments is None:
            _handle_signals()
            # The interpreter searches all objects for cycles at its end, even if that is disabled.
            # The memory goes back with the process anyway.
            gc.freeze()


def _handle_signals() -> None:
    """Let SIGINT and SIGTERM end the process silently; what is ignored stays ignored."""
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _leave)


def _leave(number: int, _: FrameType | None) -> NoReturn:
    """End with the status that a shell gives a process that a signal ended."""
    raise SystemExit(128 + number)


if __name__ == "__main__":
    main()
