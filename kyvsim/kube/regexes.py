"""Regular expressions as Go has them (RE2).

upstream: Go's regexp package.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from kyvsim.kube.regex_height import is_too_high

_MAX_MEMORY = 64 << 20
_FEW_GROUPS = 200
_ESCAPE = re.compile(r"\\Q.*?(?:\\E|\Z)|\\.", re.DOTALL)
_GO_WORDS = MappingProxyType(
    {
        "missing ]": "missing closing ]",
        "missing )": "missing closing )",
        "no argument for repetition operator": "missing argument to repetition operator",
        "bad repetition operator": "invalid nested repetition operator",
        "invalid repetition size": "invalid repeat count",
        "invalid perl operator": "invalid or unsupported Perl syntax",
        "invalid named capture group": "invalid named capture",
    }
)
"""What Go's regexp says where RE2 words it otherwise."""


class RegexError(ValueError):
    """The text is no regular expression; the message is Go's."""


@lru_cache(maxsize=512)
def compile_regex(pattern: str) -> Any:
    """Return the compiled pattern; raises `RegexError`.

    Cached, since many patterns are constants and the text of the others only exists at run time.
    """
    import re2

    for found in _ESCAPE.finditer(pattern):
        if found[0] == r"\C":  # RE2 knows it, Go does not
            raise RegexError(r"error parsing regexp: invalid escape sequence: `\C`")
    if pattern.count("(") > _FEW_GROUPS and is_too_high(pattern):
        raise RegexError(f"error parsing regexp: expression nests too deeply: `{pattern}`")
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MAX_MEMORY
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        raise RegexError(_go_message(error.args[0])) from None


def _go_message(problem: str | bytes) -> str:
    text = problem.decode("utf-8", "replace") if isinstance(problem, bytes) else problem
    if text.startswith("trailing \\"):
        return "error parsing regexp: trailing backslash at end of expression: ``"
    words, colon, where = text.partition(": ")
    shown = f": `{where}`" if colon else ""
    return f"error parsing regexp: {_GO_WORDS.get(words, words)}{shown}"


def is_found(compiled: Any, text: str) -> bool:
    """Tell whether a place in the text fits the pattern."""
    return next(each_match(compiled, as_bytes(text)), None) is not None


def each_match(compiled: Any, data: bytes) -> Iterator[Any]:
    r"""Yield the matches in UTF-8 bytes from the left, as Go's FindAll does.

    Left out is an empty match right behind another one, or inside of a character, where RE2 finds
    `\B`.
    """
    last = -1
    for match in compiled.finditer(data):
        start, end = match.span()
        if start == end and (start == last or _is_inside_character(data, start)):
            continue
        last = end
        yield match


def _is_inside_character(data: bytes, place: int) -> bool:
    return place < len(data) and data[place] & 0xC0 == 0x80


def as_bytes(text: str) -> bytes:
    """Return the UTF-8 bytes of a text, `?` for half a surrogate pair."""
    return text.encode("utf-8", "replace")
