"""Globs over texts without separators: `*`, `?`, `[a-z]`, `[!abc]`, `{a,b}` and a backslash.

Source of the rules: upstream github.com/gobwas/glob (syntax/lexer, syntax/ast).
"""

import re
from typing import Any

from kyvsim.kubernetes.regexes import compile_regex

_RANGE = re.compile(r"\[(!?)(?:(.)-(.)|((?:\\.|[^\]\\])*))(\])?", re.DOTALL)


class GlobError(ValueError):
    """The text is no glob; the message is upstream's."""


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
            shown, at = _range(text, at - 1)
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
    return compile_regex(f"(?s){''.join(made)}{')' * depth}")  # as upstream, the end closes them


def _range(text: str, at: int) -> tuple[str, int]:
    """Return a range as a pattern, and where it ends."""
    found = _RANGE.match(text, at)
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
