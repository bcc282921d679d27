"""The counts of partial reports, by whatever of cluster, namespace, policy, rule they are asked by.

As a table for people, or as JSON.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from kyvsim.model.partial import Head
from kyvsim.report.diagnostics import diagnostic_json
from kyvsim.report.ending import counts_line, ending_json, figures, run_ending
from kyvsim.report.results import Summary
from kyvsim.report.run import Run
from kyvsim.report.style import Paint, safe_line

PARTS: Final = ("cluster", "namespace", "policy", "rule")
"""What results can be counted by."""
_STATUSES: Final = tuple(Summary().as_dict())


class Group(NamedTuple):
    """Results that have the same parts."""

    parts: tuple[str, ...]
    numbers: dict[str, int]
    """How many have each status."""


def grouped(heads: Iterable[Head], by: Sequence[str]) -> list[Group]:
    """Return the counts of pieces by some of `PARTS`, sorted by those."""
    found: dict[tuple[str, ...], dict[str, int]] = {}
    for head in heads:
        for one in head.counts:
            told = {"cluster": head.cluster, **one._asdict()}
            parts = tuple(told[name] for name in by)
            numbers = found.setdefault(parts, dict.fromkeys(_STATUSES, 0))
            numbers[one.result] += one.number
    return [Group(parts, numbers) for parts, numbers in sorted(found.items())]


def table(run: Run, groups: Sequence[Group], by: Sequence[str], paint: Paint) -> Iterator[str]:
    """Yield the counts as a table a line at a time, then those of all together."""
    rows = [tuple(map(safe_line, one.parts)) for one in groups]
    names = [one.upper() for one in by]
    widths = [max(map(len, column)) for column in zip(names, *rows, strict=True)]
    figure = max((len(str(n)) for one in groups for n in one.numbers.values()), default=0)
    figure = max(figure, *map(len, _STATUSES))
    yield paint("title", _line(names, widths, [one.upper() for one in _STATUSES], figure))
    for row, one in zip(rows, groups, strict=True):
        yield _line(row, widths, [str(number) for number in one.numbers.values()], figure)
    yield f"\n{counts_line(run)}\n"


def _line(parts: Iterable[str], widths: list[int], figures: Iterable[str], width: int) -> str:
    told = [f"{part:<{size}}" for part, size in zip(parts, widths, strict=True)]
    told += [f"{one:>{width}}" for one in figures]
    return "  ".join(told).rstrip() + "\n"


def document(run: Run, groups: Iterable[Group], by: Sequence[str]) -> Iterator[str]:
    """Yield the same as a JSON document."""
    counts = [{**dict(zip(by, one.parts, strict=True)), **one.numbers} for one in groups]
    yield '{"counts": ['
    yield ",".join(f"\n  {json.dumps(one)}" for one in counts)
    yield "],\n"
    remarks = [json.dumps(diagnostic_json(one)) for one in run.remarks()]
    yield '"diagnostics": [' + ",".join(f"\n  {one}" for one in remarks) + "],\n"
    yield f'"ending": {json.dumps(ending_json(run_ending(run)))},\n'
    yield f'"summary": {json.dumps(figures(run))}}}\n'
