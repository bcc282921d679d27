r"""Random texts that match a regular expression of the usual forms.

These are characters, classes, `.`, groups, alternatives, repetitions and escapes with `\`.

upstream: zach-klippenstein/goregen, which parses Go's expressions without Perl syntax: there is no
`\d`, no `(?:`, no lazy repetition. Unbounded repetition ends at 4096.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple, TypeAlias, TypeVar

from kyvsim.kubernetes.regexes import RegexError, compile_regex


class Chance(NamedTuple):
    """The source of randomness for texts."""

    below: Callable[[int], int]
    """Returns a random integer from 0 to its argument, exclusive."""
    spend: Callable[[int], None]
    """Counts steps before they are taken; raises if there are too many."""


_Maker: TypeAlias = Callable[[Chance], str]
_Choice = TypeVar("_Choice")
_UNBOUNDED = 4096
_MAX_LENGTH = 1 << 20
"""Maximum length of a text; upstream has no limit."""
_MAX_DEPTH = 100
_STEPS = 4
"""The steps of a repetition: a random number takes as long as some steps."""
_SIGNS = MappingProxyType({"*": (0, _UNBOUNDED), "+": (1, _UNBOUNDED), "?": (0, 1)})
_PRINTABLE = tuple(map(chr, range(0x20, 0x7F)))
"""The characters for `.` and `[^…]`; upstream uses all of Unicode, and beyond."""
_TOKEN = re.compile(
    r"(?P<repetition>[*+?]|\{(?P<low>\d+)(?P<more>,(?P<high>\d+)?)?\})"
    r"|\[(?P<negated>\^)?(?P<class>\]?(?:\\.|[^\]\\])*)\]|\\?.",
    re.DOTALL | re.ASCII,
)
_OF_CLASS = re.compile(r"(\\?.)(?:-(\\?.))?", re.DOTALL)


def make_random(pattern: str, chance: Chance) -> str:
    """Return a random text that matches `pattern`.

    Raises RegexError, and the errors of `chance.spend`.
    """
    return _maker(pattern)(chance)


@lru_cache(maxsize=64)
def _maker(pattern: str) -> _Maker:
    compile_regex(pattern)  # raises the errors of invalid expressions, which are not parsed below
    return _alternatives(_TOKEN.finditer(pattern), 0)


def _alternatives(tokens: Iterator[re.Match[str]], depth: int) -> _Maker:
    if depth > _MAX_DEPTH:
        raise RegexError("random: the groups are nested too deeply")
    choices: list[list[_Maker]] = [[]]
    for token in tokens:
        last = choices[-1]
        if token[0] == ")":
            break
        if token[0] == "|":
            choices.append([])
        elif token[0] == "(":
            last.append(_alternatives(tokens, depth + 1))
        elif not token["repetition"]:
            last.append(_atom(token))
        elif last:
            if token[0] in _SIGNS:
                low, high = _SIGNS[token[0]]
            else:
                low = int(token["low"])
                high = int(token["high"] or _UNBOUNDED) if token["more"] else low
            last[-1] = _repeated(last[-1], low, high)
        else:  # valid Perl syntax, such as `(?:a)`
            text = f"missing argument to repetition operator: `{token[0]}`"
            raise RegexError(f"error parsing regexp: {text}")
    choose = _one_of(choices)
    return lambda chance: "".join([make(chance) for make in choose(chance)])


def _one_of(choices: Sequence[_Choice]) -> Callable[[Chance], _Choice]:
    if len(choices) == 1:
        return lambda _: choices[0]
    return lambda chance: choices[chance.below(len(choices))]


def _atom(token: re.Match[str]) -> _Maker:
    if token[0] == ".":
        return _one_of(_PRINTABLE)
    if token["class"] is None:
        return _one_of(["" if token[0] in "^$" else _character(token[0])])
    if "[:" in token["class"]:
        raise RegexError(f"random: a class with a name is not supported: `{token[0]}`")
    found: set[str] = set()
    for first, last in _OF_CLASS.findall(token["class"]):
        low, high = _character(first), _character(last or first)
        found.update(map(chr, range(ord(low), ord(high) + 1)))
    drawn = [one for one in _PRINTABLE if one not in found] if token["negated"] else sorted(found)
    if not drawn:
        raise RegexError(f"random: no printable character fits the class: `{token[0]}`")
    return _one_of(drawn)


def _character(text: str) -> str:
    if len(text) > 1 and text[1] in "afnrtvx01234567":
        raise RegexError(f"random: this escape sequence is not supported: `{text}`")
    if len(text) > 1 and text[1].isalnum():  # Perl syntax
        raise RegexError(f"error parsing regexp: invalid escape sequence: `{text}`")
    return text[-1]


def _repeated(make: _Maker, low: int, high: int) -> _Maker:
    def repeat(chance: Chance) -> str:
        count = low + chance.below(high - low + 1)
        chance.spend(count * _STEPS)
        text = ""
        for _ in range(count):
            text += make(chance)
            if len(text) > _MAX_LENGTH:
                raise RegexError("random: the text grows too long")
        return text

    return repeat
