"""Remarks about input files."""

from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple

from kyvsim.model.source import Location


class Severity(StrEnum):
    """How much a remark weighs: an error makes the exit status 2."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Diagnostic(NamedTuple):
    """One remark about an input file, with a stable code such as `KV012`."""

    code: str
    severity: Severity
    message: str
    location: Location | None = None

    def __str__(self) -> str:
        place = f"{self.location}: " if self.location else ""
        return f"{place}{self.severity.value} {self.code}: {self.message}"


def strictly(remarks: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Return remarks with every warning made an error, as `--strict` asks."""
    return tuple(
        one._replace(severity=Severity.ERROR) if one.severity is Severity.WARNING else one
        for one in remarks
    )
