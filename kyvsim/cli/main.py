"""Where `kyvsim` starts: the front page at once, for all else the program with its commands."""

import gc
import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the program with `arguments` (the process's own by default) and exit."""
    # Most of what is made stays: counting references frees the rest, cycles are few.
    gc.set_threshold(250_000, 20, 100)
    sys.exit(run(sys.argv[1:] if arguments is None else arguments, alone=True))


def run(arguments: Sequence[str], *, alone: bool = False) -> int:
    """Run the program and return its exit status; no exception gets out.

    `alone` says that the process has nothing else to do: then signals that end it are its own.
    """
    if not arguments or arguments[0].startswith("-"):
        from kyvsim.cli.front_page import ASKED_BY  # noqa: PLC0415 — a command does not show it

        if tuple(arguments) in ASKED_BY and sys.stdout is not None:
            return _show_front_page()
    from kyvsim.cli.program import run_command  # noqa: PLC0415 — slow, not for that page

    return run_command(arguments, alone=alone)


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
