"""Where `kyvsim` starts."""

import gc
import sys
from collections.abc import Sequence

from kyvsim.cli.program import run_command


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the program with `arguments` (the process's own by default) and exit."""
    # Most of what is made stays: counting references frees the rest, cycles are few.
    gc.set_threshold(250_000, 20, 100)
    sys.exit(run(sys.argv[1:] if arguments is None else arguments, alone=True))


def run(arguments: Sequence[str], *, alone: bool = False) -> int:
    """Run the program and return its exit status; no exception gets out.

    `alone` says that the process has nothing else to do: then signals that end it are its own.
    """
    return run_command(arguments, alone=alone)
