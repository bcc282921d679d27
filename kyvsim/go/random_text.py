r"""Random texts that fit a regular expression.

upstream: zach-klippenstein/goregen, which reads Go's expressions without any Perl syntax: there is
no `\d`, no `(?:`, no lazy repetition. Unbounded repetition ends at 4096.
"""

from collections.abc import Callable
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from kyvsim.go.random_class import Runes, read_class, read_escape, regex_error
from kyvsim.kube.regexes import RegexError


class Chance(NamedTuple):
    """Where random texts come from."""

    below: Callable[[int], int]
    """Draws a whole number from 0 up to and without the one that it takes."""
    spend: Callable[[int], None]
    """Is told of steps that are about to be taken, and raises where they are too many."""


Maker: TypeAlias = Callable[[Chance], str]
"""Makes one random text."""

_UNBOUNDED = 4096
_MAX_REPEAT = 1000
_MAX_LENGTH = 1 << 20

"""Texts are held below this; upstream goes on until memory ends."""
_STEPS = 4
"""What a repetition costs: a draw takes as long as some steps."""
_SIMPLE = MappingProxyType({"*": (0, _UNBOUNDED), "+": (1, _UNBOUNDED), "?": (0, 1)})
_ANY_CHARACTER = 0x7FFF_FFFF
"""upstream draws `.` from all int32, of which nearly none is a character."""


def make_random(pattern: str, chance: Chance) -> str:
    """Return a random text that fits `pattern`.

    Raises RegexError with Go's message, and what `chance.spend` raises.
    """
    return _maker(pattern)(chance)


@lru_cache(maxsize=64)
def _maker(pattern: str) -> Maker:
    reader = _Reader(pattern)
    maker = reader.alternatives()
    if reader.at < len(pattern):
        raise regex_error("unexpected )", pattern)
    return maker


def _literal(text: str) -> Maker:
    return lambda _: text


def _any_character(chance: Chance) -> str:
    return _character(1 + chance.below(_ANY_CHARACTER))


def _character(code: int) -> str:
    return "\ufffd" if code > 0x10FFFF or 0xD800 <= code < 0xE000 else chr(code)


def _one_of(runes: Runes) -> Maker:
    size = sum(high - low + 1 for low, high in runes)
    if not size:
        raise RegexError("random: no character fits the class")  # upstream: panics

    def make(chance: Chance) -> str:
        place = chance.below(size)
        for low, high in runes:
            if place <= high - low:
                return _character(low + place)
            place -= high - low + 1
        raise AssertionError  # a place within size is always found

    return make


def _sequence(makers: list[Maker]) -> Maker:
    if len(makers) == 1:
        return makers[0]
    return lambda chance: "".join(make(chance) for make in makers)


def _repeated(make: Maker, low: int, high: int) -> Maker:
    def repeat(chance: Chance) -> str:
        count = low + chance.below(high - low + 1)
        chance.spend(count * _STEPS)
        pieces: list[str] = []
        length = 0
        for _ in range(count):
            piece = make(chance)
            pieces.append(piece)
            length += len(piece)
            if length > _MAX_LENGTH:
                raise RegexError("random: the text grows too long")
        return "".join(pieces)

    return repeat


def _with_pending(maker: Maker, sign: str) -> Maker:
    return _repeated(maker, *_SIMPLE[sign]) if sign else maker


class _Reader:
    """Reads an expression from left to right; `at` is the place of the next character."""

    __slots__ = ("at", "depth", "pattern")

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0
        self.depth = 0

    def alternatives(self) -> Maker:
        choices = [self._sequence()]
        while self.pattern.startswith("|", self.at):
            self.at += 1
            choices.append(self._sequence())
        if len(choices) == 1:
            return choices[0]
        return lambda chance: choices[chance.below(len(choices))](chance)

    def _sequence(self) -> Maker:
        makers: list[Maker] = []
        while self.at < len(self.pattern) and self.pattern[self.at] not in "|)":
            start = self.at
            if self._bounds() is not None:
                where = self.pattern[start : self.at]
                raise regex_error("missing argument to repetition operator", where)
            maker = self._atom()
            makers.append(self._repetitions(maker))
        return _sequence(makers)

    def _repetitions(self, maker: Maker) -> Maker:
        """Read the repetitions behind an atom; several of `*`, `+`, `?` in a row make one."""
        pending = ""
        limit = 1
        while self.at < len(self.pattern):
            start, sign = self.at, self.pattern[self.at]
            bounds = self._bounds()
            if bounds is None:
                break
            if sign in _SIMPLE:
                pending = sign if pending in ("", sign) else "*"
                continue
            maker, pending = _with_pending(maker, pending), ""
            limit *= max(bounds[1] if bounds[1] < _UNBOUNDED else bounds[0], 1)
            if limit > _MAX_REPEAT:
                raise regex_error("invalid repeat count", self.pattern[start : self.at])
            maker = _repeated(maker, *bounds)
        return _with_pending(maker, pending)

    def _bounds(self) -> tuple[int, int] | None:
        """Read a repetition; None where the next thing is none."""
        char = self.pattern[self.at]
        if char in _SIMPLE:
            self.at += 1
            return _SIMPLE[char]
        end = self.pattern.find("}", self.at)
        if char != "{" or end < 0:
            return None
        low, comma, high = self.pattern[self.at + 1 : end].partition(",")
        good = low.isascii() and low.isdigit() and (not high or (high.isascii() and high.isdigit()))
        if not good or (len(low) > 1 and low[0] == "0"):
            return None
        whole = self.pattern[self.at : end + 1]
        self.at = end + 1
        least = int(low[:9])
        most = least if not comma else int(high[:9]) if high else _UNBOUNDED
        if least > _MAX_REPEAT or (high and most > _MAX_REPEAT) or least > most:
            raise regex_error("invalid repeat count", whole)
        return least, most

    def _atom(self) -> Maker:
        char = self.pattern[self.at]
        match char:
            case "(":
                return self._group()
            case "[":
                runes, self.at = read_class(self.pattern, self.at)
                return _one_of(runes)
            case "\\":
                code, self.at = read_escape(self.pattern, self.at)
                return _literal(_character(code))
        self.at += 1
        if char == ".":
            return _any_character
        return _literal("" if char in "^$" else char)

    def _group(self) -> Maker:
        self.at += 1
        self.depth += 1
        if self.depth > 200:
            raise regex_error("expression nests too deeply", self.pattern)
        maker = self.alternatives()
        if not self.pattern.startswith(")", self.at):
            raise regex_error("missing closing )", self.pattern)
        self.at += 1
        self.depth -= 1
        return maker
