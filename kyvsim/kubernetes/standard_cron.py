"""Whether a text is a schedule of five fields, as Kyverno asks of cleanup policies.

What it then computes with is another reading, `cron.py`, which knows more forms and fewer names.

upstream: github.com/robfig/cron (ParseStandard).
"""

import re
from collections.abc import Mapping
from types import MappingProxyType

from kyvsim.kubernetes.quantities import parse_duration

_NAMES = frozenset(
    {"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"}
)
_EVERY = "@every "
_NUMBER = re.compile(r"[+-]?[0-9]+")
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec"
_WEEK = "sun mon tue wed thu fri sat"


def _numbered(names: str, first: int) -> Mapping[str, int]:
    return MappingProxyType({name: number for number, name in enumerate(names.split(), first)})


_FIELDS: tuple[tuple[int, int, Mapping[str, int]], ...] = (
    (0, 59, {}),
    (0, 23, {}),
    (1, 31, {}),
    (1, 12, _numbered(_MONTHS, 1)),
    (0, 6, _numbered(_WEEK, 0)),
)
"""The least and greatest number of each field, and its names."""


def is_standard_schedule(text: str) -> bool:
    """Return whether a text has the five fields, or a name that stands for them."""
    if text.startswith("@"):
        every = parse_duration(text[len(_EVERY) :]) if text.startswith(_EVERY) else None
        return text in _NAMES or every is not None
    fields = text.split()
    return len(fields) == len(_FIELDS) and all(map(_is_field, fields, _FIELDS))


def _is_field(text: str, field: tuple[int, int, Mapping[str, int]]) -> bool:
    return all(_is_part(part, *field) for part in text.split(",") if part)


def _is_part(text: str, least: int, most: int, names: Mapping[str, int]) -> bool:
    """Return whether a part is `*`, `5` or `5-20`, with a step behind `/` or without."""
    base, *steps = text.split("/")
    low, *highs = base.split("-")
    if low in {"*", "?"}:
        first, last = least, most
    else:
        start = _number(low, names)
        end = _number(highs[0], names) if highs else (most if steps else start)
        if start is None or end is None or len(highs) > 1:
            return False
        first, last = start, end
    step = _number(steps[0], {}) if steps else 1
    return len(steps) <= 1 and bool(step) and least <= first <= last <= most


def _number(text: str, names: Mapping[str, int]) -> int | None:
    """Return the number, from 0 on, that a name or digits stand for; None for anything else."""
    named = names.get(text.lower())
    if named is not None:
        return named
    number = int(text) if _NUMBER.fullmatch(text) else -1
    return number if number >= 0 else None
