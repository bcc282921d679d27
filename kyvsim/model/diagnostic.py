"""Remarks about input files.

Codes: KV028 left out of a folder: what it is.
"""

from collections import Counter
from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple

from kyvsim.model.fix import Fix
from kyvsim.model.source import Location


class Severity(StrEnum):
    """How much a remark weighs: an error makes the exit status 2."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"
    """A note on what is probably right; --strict does not make an error of it."""


class Diagnostic(NamedTuple):
    """One remark about an input file, with a stable code such as `KV012`."""

    code: str
    severity: Severity
    message: str
    location: Location | None = None
    excerpt: tuple[str, ...] = ()
    """Lines that show the place inside a text of the file, with a mark below it."""
    fix: Fix | None = None
    """What puts it right without changing what the file means; None where nothing surely does."""
    folded: str = ""
    """What such remarks are about, such as `chart`, if a run reports one of them with their number;
    "" where each is reported."""

    def __str__(self) -> str:
        place = f"{self.location}: " if self.location else ""
        return f"{place}{self.severity.value} {self.code}: {self.message}"


def strictly(remarks: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Return remarks with every warning made an error, as `--strict` asks."""
    return tuple(
        one._replace(severity=Severity.ERROR) if one.severity is Severity.WARNING else one
        for one in remarks
    )


_LEFT_OUT = "KV028"


def left_out(what: str, location: Location) -> Diagnostic:
    """Return that something in a folder was left out, because it is none of what is wanted."""
    return Diagnostic(_LEFT_OUT, Severity.INFO, what, location)


def without_left_out(
    said: Iterable[Diagnostic],
) -> tuple[tuple[Diagnostic, ...], tuple[Diagnostic, ...]]:
    """Return the remarks on what is wrong, and those that tell what was left out of folders.

    Of remarks that are folded the first is kept, with the number of the others.
    """
    kept: list[Diagnostic] = []
    aside: list[Diagnostic] = []
    for one in said:
        (aside if one.code == _LEFT_OUT else kept).append(one)
    return _folded(kept), tuple(aside)


def _folded(said: list[Diagnostic]) -> tuple[Diagnostic, ...]:
    numbers = Counter((one.code, one.folded) for one in said if one.folded)
    found: list[Diagnostic] = []
    for one in said:
        number = numbers.pop((one.code, one.folded), 0) if one.folded else 1
        if number > 1:
            more = f"{number - 1} more {one.folded}{'s' if number > 2 else ''}"
            found.append(one._replace(message=f"{one.message} (and {more})"))
        elif number:
            found.append(one)
    return tuple(found)
