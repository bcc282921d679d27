"""A partial report as lines of JSON: its head, its rows, and what they sum up to.

The last line proves the others: a report of which anything is missing or changed is none.
"""

import hashlib
import json

from kyvsim import __version__
from kyvsim.fleet.partial_json import head_json, head_of
from kyvsim.model.partial import Head, Partial

SUFFIX = ".jsonl"
_FORMAT = 3


def packed(partial: Partial) -> bytes:
    """Return a report as the text of a file."""
    told = {"kyvsim": __version__, "format": _FORMAT, "head": head_json(partial.head)}
    body = f"{json.dumps(told)}\n".encode() + partial.rows
    end = {"rows": partial.rows.count(b"\n"), "sha256": hashlib.sha256(body).hexdigest()}
    return body + f"{json.dumps(end)}\n".encode()


def unpacked(data: bytes) -> Partial | None:
    """Return the report that a file holds; None where it is damaged, or of another format."""
    cut = data.rfind(b"\n", 0, len(data) - 1) + 1
    body, last = data[:cut], data[cut:]
    try:
        end = json.loads(last)
        if end["sha256"] != hashlib.sha256(body).hexdigest():
            return None
        first, _, rows = body.partition(b"\n")
        told = json.loads(first)
        return Partial(_head(told), rows) if told["format"] == _FORMAT else None
    except (ValueError, KeyError, TypeError):
        return None


def _head(told: dict[str, object]) -> Head:
    return head_of(told["head"])
