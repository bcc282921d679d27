"""How an operation ends that does not succeed, and the limits of the scripts of one test."""

from typing import NamedTuple


class FailedError(Exception):
    """An operation that failed; the text is the reason, as in chainsaw's `$error`."""


class HardError(FailedError):
    """A failure that is not retried, such as an expression that cannot be evaluated."""


class UnsupportedError(Exception):
    """A feature that is not simulated; the text names it."""


# What the scripts of one test may use: steps, characters, files and nesting, counted as they go.

MOST_NESTING = 32
"""Groups, loops, conditions, substitutions and scripts, one in another: 12 Python frames each."""
KUBECTL_STEPS = 200
"""A call of kubectl is a request or two, and what controllers make of them."""


class ScriptLimits(NamedTuple):
    """How much the scripts of a test may use."""

    steps: int = 100_000
    """Commands, turns of loops, words and lines: a second or two."""
    characters: int = 8 << 20
    """What is printed, read, put into variables and written, all together."""
    files: int = 1_000


class Usage:
    """What the scripts of a test have used; every method raises HardError beyond a limit."""

    def __init__(self, limits: ScriptLimits | None = None) -> None:
        self.limits = limits or ScriptLimits()
        self.steps = 0
        self.characters = 0
        self._files: set[str] = set()

    def step(self, count: int = 1) -> None:
        """Count steps that are about to be taken."""
        self.steps += count
        if self.steps > self.limits.steps:
            raise _exceeded(f"{self.limits.steps:,} steps")

    def text(self, length: int) -> None:
        """Count a text that is about to be made."""
        self.characters += length
        if self.characters > self.limits.characters:
            raise _exceeded(f"{self.limits.characters:,} characters")

    def file(self, name: str) -> None:
        """Count a file that is written."""
        self._files.add(name)
        if len(self._files) > self.limits.files:
            raise _exceeded(f"{self.limits.files:,} files")


def require_depth(depth: int) -> None:
    """Raise HardError for what is nested too deeply."""
    if depth > MOST_NESTING:
        raise _exceeded(f"{MOST_NESTING} levels of nesting")


def _exceeded(limit: str) -> HardError:
    return HardError(f"the limit of {limit} for the scripts of a test is exceeded")
