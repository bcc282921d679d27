"""File formats of partial reports: lines of JSON, and Parquet."""

import hashlib
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import ModuleType
from typing import Any, Final, NamedTuple

from kyvsim import __version__
from kyvsim.fleet import FleetError
from kyvsim.kubernetes.objects import Json
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.partial import Count, Head, Partial, ReportRow
from kyvsim.model.result import Excerpt, RefusalCount, ReportedReason
from kyvsim.model.source import Location
from kyvsim.report.diagnostics import diagnostic_json

_USUAL = ReportRow._field_defaults


def lines_of(rows: Iterable[ReportRow]) -> bytes:
    """Return rows as lines of JSON, without fields that have their default."""
    lines = []
    for row in rows:
        content = row._asdict()
        for name, usual in _USUAL.items():
            if content[name] == usual or tuple(content[name]) == usual:
                del content[name]
        lines.append(f"{json.dumps(content)}\n".encode())
    return b"".join(lines)


def rows_in(lines: bytes) -> Iterator[ReportRow]:
    """Yield the rows of lines of JSON."""
    for line in lines.splitlines():
        row = ReportRow(**json.loads(line))
        at_line, at_column = row.at
        file, line_of_rule, column = row.place
        yield row._replace(
            place=(file, line_of_rule, column),
            unchecked=tuple(row.unchecked),
            at=(at_line, at_column),
            reasons=tuple(reason_of(*one) for one in row.reasons),
        )


def reason_of(text: str, place: Json, seen_at: Json, excerpt: Json) -> ReportedReason:
    """Return a reason from its parts."""
    where, shown = Location(*seen_at) if seen_at else None, Excerpt(*excerpt) if excerpt else None
    return ReportedReason(text, Location(*place), where, shown)


def head_json(head: Head) -> dict[str, object]:
    """Return a head as a map."""
    content = head._asdict()
    content["counts"] = [[*one] for one in head.counts]
    content["objects"] = [*head.objects]
    for name in ("remarks", "problems"):
        content[name] = [diagnostic_json(one) for one in content[name]]
    content["refusals"] = [[*one] for one in head.refusals]
    return content


def head_of(data: Json) -> Head:
    """Return the head in a map; raises TypeError, KeyError or ValueError."""
    lists = {
        "counts": tuple(Count(*one) for one in data["counts"]),
        "objects": tuple(data["objects"]),
        "remarks": tuple(map(diagnostic_of, data["remarks"])),
        "problems": tuple(map(diagnostic_of, data["problems"])),
        "refusals": tuple(
            RefusalCount(kind, field, what, example, Location(*place), number)
            for kind, field, what, example, place, number in data["refusals"]
        ),
    }
    return Head(**{**data, **lists})


def diagnostic_of(data: Json) -> Diagnostic:
    """Return the diagnostic in a map."""
    place = Location(data["file"], data["line"], data["column"]) if data["file"] else None
    excerpt = tuple(data.get("excerpt", ()))
    return Diagnostic(data["code"], Severity(data["severity"]), data["message"], place, excerpt)


# A partial report as lines of JSON: its head, its rows, and a checksum.
#
# If a part of a report is missing or changed, its last line does not match, and it is ignored.

_FORMAT = 3


def _content(partial: Partial) -> dict[str, object]:
    return {"kyvsim": __version__, "format": _FORMAT, "head": head_json(partial.head)}


def write_lines(partial: Partial) -> bytes:
    """Return a report as the text of a file."""
    body = f"{json.dumps(_content(partial))}\n".encode() + partial.rows
    end = {"rows": partial.rows.count(b"\n"), "sha256": hashlib.sha256(body).hexdigest()}
    return body + f"{json.dumps(end)}\n".encode()


def read_lines(data: bytes) -> Partial | None:
    """Return the report in a file; None if it is damaged, or has another format version."""
    cut = data.rfind(b"\n", 0, len(data) - 1) + 1
    body, last = data[:cut], data[cut:]
    try:
        end = json.loads(last)
        if end["sha256"] != hashlib.sha256(body).hexdigest():
            return None
        first, _, rows = body.partition(b"\n")
        content = json.loads(first)
        return Partial(head_of(content["head"]), rows) if content["format"] == _FORMAT else None
    except (ValueError, KeyError, TypeError):
        return None


# A partial report as a Parquet file: rows as columns, the head in the file's metadata.

_NUMBERS = ("line", "column", "number")


def write_parquet(partial: Partial) -> bytes:
    """Return a report as the content of a file; raises FleetError if pyarrow is missing."""
    arrow, parquet = _libraries()
    content = {**_content(partial), "sha256": hashlib.sha256(partial.rows).hexdigest()}
    schema = arrow.schema([_field(arrow, name) for name in ReportRow._fields])
    rows = [_columns(row) for row in rows_in(partial.rows)]
    table = arrow.Table.from_pylist(rows, schema=schema)
    table = table.replace_schema_metadata({"kyvsim": json.dumps(content)})
    out = io.BytesIO()
    parquet.write_table(table, out, compression="zstd")
    return out.getvalue()


def read_parquet(data: bytes) -> Partial | None:
    """Return the report in a file; None if it is damaged, or has another format version."""
    arrow, parquet = _libraries()
    try:
        table = parquet.read_table(io.BytesIO(data))
        content = json.loads(table.schema.metadata[b"kyvsim"])
        rows = lines_of(map(_row, table.to_pylist()))
        if content["format"] != _FORMAT or content["sha256"] != hashlib.sha256(rows).hexdigest():
            return None
        return Partial(head_of(content["head"]), rows)
    except (arrow.ArrowException, OSError, ValueError, KeyError, TypeError):
        return None


def _field(arrow: ModuleType, name: str) -> Any:
    texts, number = arrow.string(), arrow.int64()
    place = arrow.struct([("file", texts), ("line", number), ("column", number)])
    reason = [("text", texts), ("place", place), ("seen_at", place)]
    odd = {
        "unchecked": arrow.list_(texts),
        "at": arrow.list_(number),
        "place": place,
        "reasons": arrow.list_(arrow.struct([*reason, ("excerpt", arrow.list_(texts))])),
    }
    return arrow.field(name, odd.get(name, number if name in _NUMBERS else texts))


def _columns(row: ReportRow) -> dict[str, object]:
    place = dict(zip(("file", "line", "column"), row.place, strict=True))
    reasons = []
    for one in row.reasons:
        seen_at = one.seen_at._asdict() if one.seen_at else None
        reasons.append({**one._asdict(), "place": one.place._asdict(), "seen_at": seen_at})
    return {**row._asdict(), "place": place, "reasons": reasons}


def _row(columns: dict[str, Any]) -> ReportRow:
    file, line, column = columns["place"].values()
    reasons = []
    for one in columns["reasons"]:
        places = {name: one[name] and one[name].values() for name in ("place", "seen_at")}
        reasons.append(reason_of(**{**one, **places}))
    return ReportRow(**{**columns, "place": (file, line, column), "reasons": tuple(reasons)})


def _libraries() -> tuple[ModuleType, ModuleType]:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        text = "reports in Parquet need the package pyarrow: pip install 'kyvsim[parquet]'"
        raise FleetError(text) from None
    return pa, parquet


class PartialFormat(NamedTuple):
    """A file format of partial reports."""

    suffix: str
    write: Callable[[Partial], bytes]
    """Returns the content of a file; raises FleetError if a package is missing."""
    read: Callable[[bytes], Partial | None]
    """Returns the report in a file, None if it is damaged or of another format version."""


FORMATS: Final[Mapping[str, PartialFormat]] = {
    "jsonl": PartialFormat(".jsonl", write_lines, read_lines),
    "parquet": PartialFormat(".parquet", write_parquet, read_parquet),
}
"""File formats of partial reports, by the name of the option."""
