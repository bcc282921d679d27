"""Remarks about inputs as a terminal shows them: wrapped, with the lines that they are about."""

import itertools
import sys
from collections.abc import Iterable, Iterator

from kyvsim.cli.streams import shown_width, shows_colours
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.report.diagnostic_json import remark_text, source_lines
from kyvsim.report.look import Look, sheet_of


def remark_lines(remarks: Iterable[Diagnostic]) -> Iterator[str]:
    """Yield the lines of remarks; a file that has changed or gone since has none of its own."""
    width = shown_width(sys.stderr)
    sheet = sheet_of(Look(colours=shows_colours(unwanted=False, on=sys.stderr), width=width))
    for file, some in itertools.groupby(remarks, key=_file_of):
        lines = _lines_of(file)
        for one in some:
            number = one.location.line if one.location else 0
            own = lines[number - 1] if 0 < number <= len(lines) else ""
            yield remark_text(one, width)
            yield from source_lines(one, own, sheet)


def _file_of(remark: Diagnostic) -> str:
    place = remark.location
    return place.file if place and place.line else ""


def _lines_of(file: str) -> list[str]:
    try:
        with open(file, encoding="utf-8-sig", errors="replace") as opened:
            return opened.read().split("\n")
    except (OSError, ValueError):
        return []
