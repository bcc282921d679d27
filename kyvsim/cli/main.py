"""Where `kyvsim` starts: the front page at once, for all else the program with its commands."""

import gc
import os
import sys
from collections.abc import Sequence

_ASKED_AT_THE_END = frozenset({"atexit", "threading"})
"""Modules through which something waits for the end of a process."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the program with `arguments` (the process's own by default) and exit."""
    # Most of what is made stays: counting references frees the rest, cycles are few.
    gc.set_threshold(250_000, 20, 100)
    status = run(sys.argv[1:] if arguments is None else arguments, alone=True)
    # What is left goes with the process: a last search through it for cycles finds nothing to do.
    gc.freeze()
    if arguments is None and _is_alone():
        _leave(status)
    sys.exit(status)


def _is_alone() -> bool:
    """Return whether nobody is to be asked at the end.

    No thread, no profiler, no debugger, nobody who could have registered for it.
    """
    return not _is_watched() and _ASKED_AT_THE_END.isdisjoint(sys.modules)


def _is_watched() -> bool:
    if sys.getprofile() or sys.gettrace():
        return True
    monitoring = getattr(sys, "monitoring", None)  # from Python 3.12 on, for six tools
    return monitoring is not None and any(map(monitoring.get_tool, range(6)))


def _leave(status: int) -> None:
    """End the process at once, without freeing object by object what goes with it anyway.

    Returns where something cannot be written: the interpreter says so at its own end.
    """
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except (OSError, ValueError):
        return
    os._exit(status)


def run(arguments: Sequence[str], *, alone: bool = False) -> int:
    """Run the program and return its exit status; no exception gets out.

    `alone` says that the process has nothing else to do: then signals that end it are its own.
    """
    if not arguments or arguments[0].startswith("-"):
        from kyvsim.cli.front_page import ASKED_BY  # noqa: PLC0415 — a command does not show it

        if tuple(arguments) in ASKED_BY and sys.stdout is not None:
            return _show_front_page()
    if not alone:
        from kyvsim.cli.program import run_command  # noqa: PLC0415 — slow, not for that page

        return run_command(arguments)
    from kyvsim.cli.bundles import begin_loading  # noqa: PLC0415 — likewise

    end_loading = begin_loading(arguments)
    from kyvsim.cli.program import run_command  # noqa: PLC0415 — likewise

    status = run_command(arguments, alone=True)
    from kyvsim.light.suppressed import suppress  # noqa: PLC0415 — loaded by then

    # All is told by now: a signal ends no more than the keeping, and what is not kept is loaded.
    with suppress(KeyboardInterrupt, OSError, ValueError):
        end_loading()
    return status


def _show_front_page() -> int:
    from kyvsim.cli.exit_status import OK  # noqa: PLC0415 — as above
    from kyvsim.cli.front_page import front_page, page_width  # noqa: PLC0415 — likewise

    try:
        sys.stdout.write(f"{front_page(page_width())}\n")
        sys.stdout.flush()
    except OSError as error:
        from kyvsim.cli.program import ended_by  # noqa: PLC0415 — slow, not for the front page

        return ended_by(error)
    return OK
