"""Rows of partial reports as lines of JSON."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from kyvsim.kubernetes.objects import Json
from kyvsim.model.partial import ToldRow
from kyvsim.model.result import Excerpt, ToldReason
from kyvsim.model.source import Location

_USUAL = ToldRow._field_defaults


def lines_of(rows: Iterable[ToldRow]) -> bytes:
    """Return rows as lines of JSON; fields that say nothing are not written."""
    return b"".join(f"{json.dumps(row_json(row))}\n".encode() for row in rows)


def row_json(row: ToldRow) -> dict[str, Any]:
    """Return a row as a map."""
    told = row._asdict()
    for name, usual in _USUAL.items():
        if told[name] == usual or tuple(told[name]) == usual:
            del told[name]
    return told


def rows_in(lines: bytes) -> Iterator[ToldRow]:
    """Yield the rows that lines of JSON tell."""
    for line in lines.splitlines():
        row = ToldRow(**json.loads(line))
        at_line, at_column = row.at
        file, line_of_rule, column = row.place
        yield row._replace(
            place=(file, line_of_rule, column),
            unchecked=tuple(row.unchecked),
            at=(at_line, at_column),
            reasons=tuple(reason_of(*one) for one in row.reasons),
        )


def reason_of(text: str, place: Json, seen_at: Json, excerpt: Json) -> ToldReason:
    """Return the reason that some texts and lists tell."""
    return ToldReason(
        text,
        Location(*place),
        Location(*seen_at) if seen_at else None,
        Excerpt(*excerpt) if excerpt else None,
    )
