"""Variables given by dotted names, put into the data that expressions see."""

import csv
from collections.abc import Mapping, Sequence
from functools import lru_cache

from kyvsim.kube.objects import Json


@lru_cache(maxsize=1024)
def split_name(name: str) -> tuple[str, ...]:
    """Return the parts of a dotted name; quotes keep dots together, as in `"a.b".c`.

    upstream: pkg/engine/context (AddVariable reads the name as a line of dot-separated values).
    """
    if '"' not in name:
        return tuple(name.split("."))

    return tuple(next(csv.reader([name], delimiter=".")))


def top_names(variables: Mapping[str, Json]) -> frozenset[str]:
    """Return the top-level names that the variables stand in."""
    return frozenset(split_name(name)[0] for name in variables)


class _Copied(dict[str, "_Copied"]):
    """The fields of a map whose maps were copied, and the same of these."""


def with_variables(data: dict[str, Json], variables: Mapping[str, Json]) -> dict[str, Json]:
    """Return `data` with the variables merged in; maps are merged, everything else is replaced.

    Each map is copied once, however many of the variables are below it.
    """
    found: Json = dict(data)
    copied = _Copied()
    for name, value in variables.items():
        parts = split_name(name)
        if not parts:
            found, copied = _merged(found, value), _Copied()
            found = dict(found) if found.__class__ is dict else found
            continue
        if found.__class__ is not dict:
            found = {}
        _put(found, copied, parts, value)
    return found  # type: ignore[no-any-return]


def _put(data: dict[str, Json], copied: _Copied, parts: Sequence[str], value: Json) -> None:
    """Merge a value into a map that is a copy, as are those of its fields that are in `copied`."""
    *lead, last = parts
    for part in lead:
        if part not in copied:
            inner = data.get(part)
            data[part] = dict(inner) if inner.__class__ is dict else {}
            copied[part] = _Copied()
        data, copied = data[part], copied[part]
    data[last] = _merged(data.get(last), value)
    copied.pop(last, None)


def _merged(old: Json, new: Json) -> Json:
    if old.__class__ is not dict or new.__class__ is not dict:
        return new
    return {**old, **{key: _merged(old.get(key), value) for key, value in new.items()}}
