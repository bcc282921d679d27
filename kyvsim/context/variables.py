"""Variables given by dotted names, put into the data that expressions see."""

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
    import csv  # noqa: PLC0415 — only quoted names need it

    return tuple(next(csv.reader([name], delimiter=".")))


def top_names(variables: Mapping[str, Json]) -> frozenset[str]:
    """Return the top-level names that the variables stand in."""
    return frozenset(split_name(name)[0] for name in variables)


def with_variables(data: dict[str, Json], variables: Mapping[str, Json]) -> dict[str, Json]:
    """Return `data` with the variables merged in; maps are merged, everything else is replaced."""
    for name, value in variables.items():
        data = _with_value(data, split_name(name), value)
    return data


def _with_value(data: Json, parts: Sequence[str], value: Json) -> Json:
    if not parts:
        return _merged(data, value)
    mapping = data if data.__class__ is dict else {}
    return {**mapping, parts[0]: _with_value(mapping.get(parts[0]), parts[1:], value)}


def _merged(old: Json, new: Json) -> Json:
    if old.__class__ is not dict or new.__class__ is not dict:
        return new
    return {**old, **{key: _merged(old.get(key), value) for key, value in new.items()}}
