"""Results counted for a table of a page: a line for each rule, object or file, worst first."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Counted(NamedTuple):
    """A result, by what it is counted under."""

    name: str
    status: str
    note: str = ""
    """What the line says besides the name."""


class Line(NamedTuple):
    """A line: how many results of its name have each status of the table."""

    name: str
    note: str
    counts: tuple[int, ...]


class Table(NamedTuple):
    """The lines of a table, and the statuses that occur in it, which are its columns."""

    key: str
    """What its lines are, and the filter of the page that a line sets: `rule`, `object` …"""
    columns: tuple[str, ...]
    lines: tuple[Line, ...]
    further: int
    """How many lines there is no room for."""


def table_of(
    key: str, results: Iterable[Counted], statuses: Sequence[str], most: int | None = None
) -> Table:
    """Return the table of results that have one of some statuses, those that weigh most first."""
    found: dict[tuple[str, str], Counter[str]] = {}
    for name, status, note in results:
        if status in statuses:
            found.setdefault((name, note), Counter())[status] += 1
    columns = tuple(one for one in statuses if any(counts[one] for counts in found.values()))
    lines = [Line(*names, tuple(counts[one] for one in columns)) for names, counts in found.items()]
    lines.sort(key=lambda line: tuple(-count for count in line.counts))
    shown = tuple(lines[:most])
    return Table(key, columns, shown, len(lines) - len(shown))
