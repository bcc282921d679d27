"""Errors of operations, and the limits for the scripts of a test."""

from typing import NamedTuple


class FailedError(Exception):
    """An operation that failed; the text is the reason, as in chainsaw's `$error`."""


class HardError(FailedError):
    """A failure that is not retried, such as an expression that cannot be evaluated."""


class UnsupportedError(Exception):
    """A feature that is not simulated; the text names it."""


# Limits for the scripts of a test: steps, characters, files and nesting, counted as they run.

MOST_NESTING = 32
"""Nested groups, loops, conditions, substitutions and scripts: 12 Python frames each."""
KUBECTL_STEPS = 200
"""A kubectl call sends one or two requests, to which controllers react."""


class ScriptLimits(NamedTuple):
    """Limits for the scripts of a test."""

    steps: int = 100_000
    """Commands, iterations, words and lines: they take a second or two."""
    characters: int = 8 << 20
    """The total of what is printed, read, assigned to variables and written."""
    files: int = 1_000


class Usage:
    """The resources used by the scripts of a test; every method raises HardError beyond a limit."""

    def __init__(self, limits: ScriptLimits | None = None) -> None:
        self.limits = limits or ScriptLimits()
        self.steps = 0
        self.characters = 0
        self._files: set[str] = set()

    def step(self, count: int = 1) -> None:
        """Count steps before they are run."""
        self.steps += count
        if self.steps > self.limits.steps:
            raise _exceeded(f"{self.limits.steps:,} steps")

    def text(self, length: int) -> None:
        """Count the characters of a text before it is created."""
        self.characters += length
        if self.characters > self.limits.characters:
            raise _exceeded(f"{self.limits.characters:,} characters")

    def file(self, name: str) -> None:
        """Count a file before it is written."""
        self._files.add(name)
        if len(self._files) > self.limits.files:
            raise _exceeded(f"{self.limits.files:,} files")


def require_depth(depth: int) -> None:
    """Raise HardError if the nesting is too deep."""
    if depth > MOST_NESTING:
        raise _exceeded(f"{MOST_NESTING} levels of nesting")


def _exceeded(limit: str) -> HardError:
    return HardError(f"the limit of {limit} for the scripts of a test is exceeded")
