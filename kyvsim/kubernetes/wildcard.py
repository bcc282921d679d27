"""Kyverno's wildcards: `*` matches any characters, `?` exactly one; nothing else is special.

upstream: ext/wildcard (IGLOU-EU/go-wildcard); this has the same results in linear time.
"""

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeAlias

from kyvsim.kubernetes.go_text import format_float
from kyvsim.kubernetes.quantities import parse_duration, parse_quantity
from kyvsim.kubernetes.regexes import compile_regex


def has_wildcard(text: str) -> bool:
    """Return whether `text` contains a `*` or `?`."""
    return "*" in text or "?" in text


def matches(pattern: str, text: str) -> bool:
    """Return whether `pattern` matches all of `text`; an empty pattern only matches ""."""
    if "*" not in pattern:
        return _fits(pattern, text)
    first, *middle, last = pattern.split("*")
    return _follow(text, first, middle, last)


def compile_wildcard(pattern: str) -> Callable[[str], bool]:
    """Return a function that returns whether `pattern` matches a text."""
    if "?" in pattern:
        return lambda text: matches(pattern, text)
    first, *rest = pattern.split("*")
    if not rest:
        return pattern.__eq__
    last = rest[-1]
    middle = tuple(part for part in rest[:-1] if part)
    if middle:
        if first or last or middle[1:]:
            return lambda text: _follow(text, first, middle, last)
        part = middle[0]
        return lambda text: part in text
    if first and last:
        shortest = len(first) + len(last)
        return lambda text: len(text) >= shortest and text.startswith(first) and text.endswith(last)
    if last:
        return lambda text: text.endswith(last)
    return lambda text: text.startswith(first)


def _follow(text: str, first: str, middle: Sequence[str], last: str) -> bool:
    """Return whether the parts between stars match the text in order, from start to end."""
    if not (_fits(first, text[: len(first)]) and _fits(last, text[len(text) - len(last) :])):
        return False
    at, end = len(first), len(text) - len(last)
    for part in middle:
        if "?" not in part:
            at = text.find(part, at, end)
        else:
            found = _regex(part).search(text, at, end)
            at = -1 if found is None else found.start()
        if at < 0:
            return False
        at += len(part)
    return at <= end


def _fits(part: str, text: str) -> bool:
    if "?" not in part:
        return part == text
    return len(part) == len(text) and _regex(part).fullmatch(text) is not None


@lru_cache(maxsize=256)
def _regex(part: str) -> re.Pattern[str]:
    """Return a part as a regular expression of fixed length, without backtracking."""
    return re.compile("".join("." if one == "?" else re.escape(one) for one in part), re.DOTALL)


# Patterns in strings: alternatives, operators, ranges, durations, quantities, wildcards.
# `">=1Gi & <4Gi | none"`: `|` separates alternatives, `&` combines conditions; each atom is an
# operator with an operand, a range (`1-5` inside, `1!-5` outside) or a text with wildcards. They
# are used in validation patterns and in ranges of conditions.
# upstream: pkg/engine/pattern/pattern.go and pkg/engine/operator/operator.go.

Predicate: TypeAlias = Callable[[object], bool]

SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(
    chr(code) for code in range(0x2000, 0x200B)
)
"""White space in Go; Python's own set is larger."""
_REMEMBERED = 512
_ENDPOINT = r"([-|+]?[0-9]+(?:\.[0-9]+)?[A-Za-z]*)"
_PLAIN = re.compile(r"[A-Za-z0-9_./:@-]+")
_RANGE_STARTS = frozenset("-|+0123456789")
_INSIDE = f"{_ENDPOINT}-{_ENDPOINT}"
_OUTSIDE = f"{_ENDPOINT}!-{_ENDPOINT}"


class Operator(NamedTuple):
    """The implementation of an operator."""

    compare: Callable[[Any, Any], bool]
    """Compares a value with the operand, both as durations or as quantities."""
    matches_text: bool | None
    """Whether a text must match the operand, or must not; None if texts never match, as they have
    no order.
    """


OPERATORS: Final[Mapping[str, Operator]] = {
    ">=": Operator(operator.ge, None),
    "<=": Operator(operator.le, None),
    ">": Operator(operator.gt, None),
    "<": Operator(operator.lt, None),
    "!": Operator(operator.ne, matches_text=False),
    "": Operator(operator.eq, matches_text=True),
}
"""In the order in which they are searched; a text without an operator means equality."""


class Comparison(NamedTuple):
    """An operator of `OPERATORS` with its operand, such as `>=1Gi`."""

    operator: str
    operand: str


class Range(NamedTuple):
    """The values from `first` to `last`, or all others."""

    first: str
    last: str
    inside: bool


Alternative: TypeAlias = tuple[Comparison | Range, ...]
"""Conditions that must all be true."""


@lru_cache(maxsize=_REMEMBERED)
def parse_alternatives(text: str) -> tuple[Alternative, ...]:
    """Return the alternatives of a pattern in a string, one of which a value has to match."""
    return tuple(
        tuple(
            range_ends(atom.strip(" ")) or split_operator(atom.strip(" "))
            for atom in alternative.split("&")
        )
        for alternative in text.split("|")
    )


def split_operator(atom: str) -> Comparison:
    """Return the operator at the start of an atom ("" for equality) and its operand."""
    name = ""
    if len(atom) >= 2:
        name = next(sign for sign in OPERATORS if atom.startswith(sign))
    return Comparison(name, atom[len(name) :].strip(SPACE))


def range_ends(text: str) -> Range | None:
    """Return the ends of a range and whether the inside is meant; None for other texts."""
    if "-" not in text or text[0] not in _RANGE_STARTS:
        return None
    inside = "!" not in text
    found = re.fullmatch(_INSIDE if inside else _OUTSIDE, text)
    return Range(found[1], found[2], inside) if found else None


def is_range(text: str) -> bool:
    """Return whether `text` is a range with both ends included, such as `1Mi-2Gi`."""
    ends = range_ends(text)
    return ends is not None and ends.inside


@lru_cache(maxsize=_REMEMBERED)
def plain_alternatives(text: str) -> frozenset[str]:
    """Return texts that match `text` by equality; it may match others, too."""
    atoms = (one[0] for one in parse_alternatives(text) if len(one) == 1)
    equal = (one.operand for one in atoms if isinstance(one, Comparison) and not one.operator)
    return frozenset((text, *equal))


@lru_cache(maxsize=_REMEMBERED)
def fits_itself_only(text: str) -> bool:
    """Return whether `text` is known to match only itself."""
    return (
        _PLAIN.fullmatch(text) is not None
        and range_ends(text) is None
        and parse_duration(text) is None
        and parse_quantity(text) is None
    )


@lru_cache(maxsize=_REMEMBERED)
def compile_text_pattern(text: str) -> Predicate:
    """Return a predicate for whether one value (not a list) matches the pattern `text`.

    Cached, since policies and their autogen rules repeat texts.
    """
    plain = plain_alternatives(text)
    tests = tuple(map(_compile_alternative, parse_alternatives(text)))
    test = tests[0] if len(tests) == 1 else _any_of(tests)

    def fits(value: object) -> bool:
        if value.__class__ is str and value in plain:
            return True
        return test(value)

    return fits


def _any_of(tests: tuple[Predicate, ...]) -> Predicate:
    def fits(value: object) -> bool:
        for test in tests:  # noqa: SIM110 — a plain loop is faster than any() with a generator
            if test(value):
                return True
        return False

    return fits


def _compile_alternative(alternative: Alternative) -> Predicate:
    tests = tuple(map(_compile_atom, alternative))
    if len(tests) == 1:
        return tests[0]

    def fits(value: object) -> bool:
        for test in tests:  # noqa: SIM110 — a plain loop is faster than all() with a generator
            if not test(value):
                return False
        return True

    return fits


def _compile_atom(atom: Comparison | Range) -> Predicate:
    if isinstance(atom, Comparison):
        return _comparison(*atom)
    if atom.inside:
        least, most = _comparison(">=", atom.first), _comparison("<=", atom.last)
        return lambda value: least(value) and most(value)
    below, above = _comparison("<", atom.first), _comparison(">", atom.last)
    return lambda value: below(value) or above(value)


def _comparison(name: str, operand: str) -> Predicate:
    """Return a predicate that compares durations, otherwise quantities, otherwise texts."""
    compare, matches_text = OPERATORS[name]
    as_text = _text_comparison(operand, matches_text)
    duration, quantity = parse_duration(operand), parse_quantity(operand)
    if duration is None and quantity is None:
        return as_text

    def fits(value: object) -> bool:
        number = _number_text(value)
        if number is None:
            return as_text(value)
        if duration is not None:
            nanoseconds = parse_duration(number)
            if nanoseconds is not None:
                return compare(nanoseconds, duration)
        if quantity is not None:
            amount = parse_quantity(number)
            if amount is not None:
                return compare(amount, quantity)
        return as_text(value)

    return fits


def _number_text(value: object) -> str | None:
    """Return the text to parse as a duration or quantity; a missing value is zero."""
    kind = value.__class__
    if kind is str:
        return str(value)
    if kind is float:
        return f"{value:f}"
    if kind is int:
        return str(value)
    return "0" if value is None else None


def _text_comparison(operand: str, expected: bool | None) -> Predicate:
    """Return the comparison of texts; None has no text."""
    if expected is None:
        return lambda _: False
    match = bool if operand == "?*" else compile_wildcard(operand)

    def fits(value: object) -> bool:
        text = _scalar_text(value)
        return text is not None and match(text) is expected

    return fits


def _scalar_text(value: object) -> str | None:
    if value.__class__ is str:
        return value
    if value.__class__ is float:
        return format_float(value, "E")
    if value.__class__ is bool:
        return "true" if value else "false"
    return str(value) if value.__class__ is int else None


# Globs for texts without separators: `*`, `?`, `[a-z]`, `[!abc]`, `{a,b}` and a backslash.
# upstream: github.com/gobwas/glob (syntax/lexer, syntax/ast).

_GLOB_RANGE = r"(?s)\[(!?)(?:(.)-(.)|((?:\\.|[^\]\\])*))(\])?"


class GlobError(ValueError):
    """The string is not a glob; the message is upstream's."""


def compile_glob(text: str) -> Any:
    """Return the glob as a compiled pattern for `fullmatch`; raises GlobError."""
    made: list[str] = []
    at = depth = 0
    while at < len(text):
        char = text[at]
        at += 1
        if char == "*":
            made.append(".*")
        elif char == "?":
            made.append(".")
        elif char == "[":
            shown, at = _glob_range(text, at - 1)
            made.append(shown)
        elif char == "{":
            depth += 1
            made.append("(?:")
        elif char == "}" and depth:
            depth -= 1
            made.append(")")
        elif char == "," and depth:
            made.append("|")
        elif char == "\\":
            made.append(re.escape(text[at : at + 1]))
            at += 1
        else:
            made.append(re.escape(char))
    return compile_regex(f"(?s){''.join(made)}{')' * depth}")  # as in upstream, the end closes them


def _glob_range(text: str, at: int) -> tuple[str, int]:
    """Return a range as a regular expression, and its end."""
    found = re.compile(_GLOB_RANGE).match(text, at)
    if found is None or (found[4] is not None and not found[5]):
        raise GlobError("unexpected end of input")
    negated, low, high, chars, end = found.groups()
    if low is not None:
        if not end:
            rest = found.end() < len(text)
            raise GlobError("expected close range character" if rest else "unexpected end of input")
        if high < low:
            raise GlobError(f"hi character '{high}' should be greater than lo '{low}'")
        inner = f"{re.escape(low)}-{re.escape(high)}"
    else:
        if not chars:
            raise GlobError("could not parse range")
        inner = re.escape(re.sub(r"\\(.)", r"\1", chars, flags=re.DOTALL))
    return f"[{'^' if negated else ''}{inner}]", found.end()


_EXPANSIONS = ("", "\0" * 99)
"""Texts for a `*`: only another `*` matches so many characters that are in no name."""


def covers(pattern: str, other: str) -> bool:
    """Return whether a wildcard certainly matches all texts that another one matches."""
    return all(matches(pattern, other.replace("?", "\0").replace("*", one)) for one in _EXPANSIONS)
