"""Values to try at a place: what a policy writes for it, what just misses that, and unusual ones.

A written text may be a pattern: alternatives, operators, ranges, wildcards. Each part of it gives a
value that meets it and values beside it.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from kyvsim.kubernetes.objects import Json
from kyvsim.kubernetes.quantities import SECOND, parse_duration, parse_quantity
from kyvsim.kubernetes.wildcard import has_wildcard
from kyvsim.model.policy import FieldPath

_NUMBER = re.compile(r"([+-]?\d+(?:\.\d+)?)([A-Za-z]*)")
_RANGE = re.compile(r"([-+]?\d+(?:\.\d+)?[A-Za-z]*)!?-([-+]?\d+(?:\.\d+)?[A-Za-z]*)")
_OPERATORS = (">=", "<=", "!=", ">", "<", "!")
_SPLIT = re.compile(r"[|&]")
_EXPRESSION = re.compile(r"\\[bBdDsSwW.]|^\^|\$$|\.[*+]|\[[^\]]+\]")
"""Shows that a text may be meant as a regular expression."""
_FORMS = tuple(
    (re.compile(form), text)
    for form, text in (
        (r"\\[bBAzZ]|[\^$()]|\(\?[a-zA-Z:]*", ""),
        (r"\\d|\[0-9\]", "1"),
        (r"\\[wW]|\[[^\]]*\]", "a"),
        (r"\\s", " "),
        (r"(?<!\\)\.", "x"),
        (r"(?<!\\)[*+?]|\{\d*,?\d*\}", ""),
        (r"\\(.)", r"\1"),
    )
)
"""Parts of a regular expression, and strings that match them, in this order."""
_SEPARATOR = re.compile(r"[/:.@_-]")
_MOST_WILD = 3
"""So many of the texts that are written for a place are tried with wildcards in them."""
_LONGEST = 256
"""Longer strings are not compared with."""
_MOST_DIGITS = 18
_MILLISECOND = SECOND // 1000
OTHER = "other"
UNUSUAL: tuple[Json, ...] = (None, "", OTHER, 0, 1, True, False, {}, [])
"""Values of every type, whatever a policy expects."""


_KEY = re.compile(r"([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-_.A-Za-z0-9]*[A-Za-z0-9])?")


def is_key(text: str) -> bool:
    """Return whether a text can be the key of a label or an annotation."""
    return _KEY.fullmatch(text) is not None


def is_pattern(text: str) -> bool:
    """Return whether a text has an operator of patterns: alternatives, comparisons, a range."""
    return bool(text.startswith(_OPERATORS) or _SPLIT.search(text) or _RANGE.fullmatch(text))


def samples(written: Iterable[Json]) -> Iterator[Json]:
    """Yield values for a place from those that are written for it; the fitting ones come first."""
    values = tuple(written)
    beside: list[Json] = []
    for value in values:
        first, *others = _near(value)
        yield first
        beside += others
    yield from beside


def wildcards(written: Iterable[Json]) -> Iterator[str]:
    """Yield texts with wildcards that match what is written: `*`, `nodes/*`, `*/proxy`, `ge?`.

    Rules take a text of an object for a pattern where operators match in both directions (AnyIn and
    the like), and lists of objects do have wildcards: verbs and resources of roles, hosts.
    """
    parts = (flat for one in written for flat in (one if one.__class__ is list else (one,)))
    texts = [one for one in parts if one.__class__ is str and 0 < len(one) <= _LONGEST]
    plain = [one for one in dict.fromkeys(texts) if not has_wildcard(one)][:_MOST_WILD]
    if plain:
        yield "*"
    for text in plain:
        # A prefix ends where names are usually split.
        heads = [text[: one.end()] for one in _SEPARATOR.finditer(text)] or [text[:1]]
        tails = [text[one.start() :] for one in _SEPARATOR.finditer(text)] or [text[1:]]
        yield from (f"{heads[-1]}*", f"*{tails[0]}", f"{text[:-1]}?")


def _near(value: Json) -> list[Json]:
    """Return values for one that is written: one that fits first, or the value itself."""
    if value.__class__ is bool:
        return [value, not value]
    if value.__class__ in {int, float}:
        whole = int(value) if value == int(value) else value
        return [whole, whole + 1, whole - 1, str(whole)]
    if value.__class__ is not str or len(value) > _LONGEST:
        return [value]
    parts = [one.strip() for one in _SPLIT.split(value)] if _SPLIT.search(value) else [value]
    found = [near for part in parts for near in _near_text(part)]
    return [*found, value] if value in parts or has_wildcard(value) else found


def _near_text(text: str) -> list[Json]:
    """Return texts for one alternative: one that fits, then those beside it."""
    operator = next((one for one in _OPERATORS if text.startswith(one)), "")
    operand = text[len(operator) :].strip()
    bounds = _RANGE.fullmatch(operand)
    if bounds:
        low, high = bounds.groups()
        return [low, high, *_steps(low), *_steps(high)]
    if has_wildcard(operand) and operand != "*":
        filled = [
            operand.replace("*", star).replace("?", mark)
            for star, mark in (("x", "x"), ("", "y"), ("ab", "z"))
        ]
        bare = operand.replace("*", "").replace("?", "")
        # What goes on behind the end, or begins before, shows that the whole text has to fit.
        longer = [] if operand.endswith("*") else [f"{filled[0]}x"]
        longer += [] if operand.startswith("*") else [f"x{filled[0]}"]
        return [*filled, *([bare] if bare else []), *longer, OTHER, operand]
    number = _NUMBER.fullmatch(operand)
    if number:
        near: list[Json] = [operand, *_steps(operand)]
        # Fields of numbers are held against texts, too.
        near += [int(one) for one in near if one.isdecimal()]
        size = parse_quantity(operand) if number[2] else None
        if size is not None and size.scale >= 0:
            # A size as a number, and the next one: of images nobody writes them otherwise.
            whole = size.mantissa * 10**size.scale
            near += [whole, whole + 1]
        near += _in_another_unit(operand) if number[2] else ()
        return near[::-1] if operator in {">", "<", "!", "!="} else near
    duration = parse_duration(operand)
    if duration is not None:
        seconds = duration // SECOND
        return [operand, f"{seconds - 1}s", f"{seconds + 1}s", *_in_another_unit(operand)]
    if _EXPRESSION.search(operand):
        return [*map(_matching, operand.split("|")), OTHER, operand]
    return [OTHER, operand] if operator else [operand, f"{operand}x"]


def _in_another_unit(amount: str) -> Iterator[str]:
    """Yield the same amount as it is also written: quantities and durations are compared so."""
    duration, quantity = parse_duration(amount), parse_quantity(amount)
    if duration is not None:
        yield f"{duration // _MILLISECOND}ms"
        yield str(duration // SECOND)
    if quantity is not None and 0 <= quantity.scale <= _MOST_DIGITS:
        yield str(quantity.mantissa * 10**quantity.scale)


def _matching(expression: str) -> str:
    """Return a text that a plain regular expression is likely to match."""
    for form, text in _FORMS:
        expression = form.sub(text, expression)
    return expression


def _steps(text: str) -> list[str]:
    """Return the numbers one below and one above, in the same unit."""
    number = _NUMBER.fullmatch(text)
    if number is None:
        return []
    amount, unit = number.groups()
    if "." in amount:
        return [f"{float(amount) - 1:g}{unit}", f"{float(amount) + 1:g}{unit}"]
    return [f"{int(amount) - 1}{unit}", f"{int(amount) + 1}{unit}"]


# Times to try: now, moved by the durations that policies compare with.

_NANOSECONDS = 1000
_ENDS = ("Timestamp", "Time")
_BESIDE = timedelta(seconds=1)


def moments(way: FieldPath, written: Iterable[Json], now: datetime) -> Iterator[str]:
    """Yield times for a place that holds one: just as far from now as a duration, and beside that.

    Nothing for other places.
    """
    if not str(way[-1]).endswith(_ENDS):
        return
    for one in dict.fromkeys(value for value in written if isinstance(value, str)):
        found = parse_duration(one)
        if found is None:
            continue
        try:
            away = timedelta(microseconds=found // _NANOSECONDS)
            for moment in (now - away - _BESIDE, now - away, now - away + _BESIDE):
                yield moment.strftime("%Y-%m-%dT%H:%M:%SZ")
        except OverflowError:
            continue
