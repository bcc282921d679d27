"""A partial report as a Parquet file: rows as columns, the head among the file's metadata."""

import hashlib
import io
import json
from types import ModuleType
from typing import Any

from kyvsim import __version__
from kyvsim.fleet.errors import FleetError
from kyvsim.fleet.partial_json import head_json, head_of
from kyvsim.fleet.row_lines import lines_of, reason_of, rows_in
from kyvsim.model.partial import Partial, ToldRow

SUFFIX = ".parquet"
_FORMAT = 3
_NUMBERS = ("line", "column", "number")


def packed(partial: Partial) -> bytes:
    """Return a report as the content of a file; raises FleetError where pyarrow is missing."""
    arrow, parquet = _libraries()
    told = {
        "kyvsim": __version__,
        "format": _FORMAT,
        "head": head_json(partial.head),
        "sha256": hashlib.sha256(partial.rows).hexdigest(),
    }
    schema = arrow.schema([_field(arrow, name) for name in ToldRow._fields])
    rows = [_columns(row) for row in rows_in(partial.rows)]
    table = arrow.Table.from_pylist(rows, schema=schema)
    table = table.replace_schema_metadata({"kyvsim": json.dumps(told)})
    out = io.BytesIO()
    parquet.write_table(table, out, compression="zstd")
    return out.getvalue()


def unpacked(data: bytes) -> Partial | None:
    """Return the report that a file holds; None where it is damaged, or of another format."""
    arrow, parquet = _libraries()
    try:
        table = parquet.read_table(io.BytesIO(data))
        told = json.loads(table.schema.metadata[b"kyvsim"])
        rows = lines_of(map(_row, table.to_pylist()))
        if told["format"] != _FORMAT or told["sha256"] != hashlib.sha256(rows).hexdigest():
            return None
        return Partial(head_of(told["head"]), rows)
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


def _columns(row: ToldRow) -> dict[str, Any]:
    place = dict(zip(("file", "line", "column"), row.place, strict=True))
    reasons = [
        {
            **one._asdict(),
            "place": one.place._asdict(),
            "seen_at": one.seen_at._asdict() if one.seen_at else None,
        }
        for one in row.reasons
    ]
    return {**row._asdict(), "place": place, "reasons": reasons}


def _row(columns: dict[str, Any]) -> ToldRow:
    file, line, column = columns["place"].values()
    reasons = tuple(reason_of(**_reason(one)) for one in columns["reasons"])
    return ToldRow(**{**columns, "place": (file, line, column), "reasons": reasons})


def _reason(columns: dict[str, Any]) -> dict[str, Any]:
    places = {name: columns[name] and columns[name].values() for name in ("place", "seen_at")}
    return {**columns, **places}


def _libraries() -> tuple[ModuleType, ModuleType]:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        text = "reports in Parquet need the package pyarrow: pip install 'kyvsim[parquet]'"
        raise FleetError(text) from None
    return pa, parquet
