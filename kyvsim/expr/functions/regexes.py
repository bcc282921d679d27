"""Regular expressions (RE2, as in Go) and Kyverno's wildcards.

upstream: pkg/engine/jmespath/functions.go, over Go's regexp package.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from kyvsim.expr.errors import QueryError
from kyvsim.expr.functions.record import BOOLEAN, NUMBER, STRING, Example, Function
from kyvsim.kube.go_text import format_float
from kyvsim.kube.regexes import RegexError, as_bytes, compile_regex, each_match, is_found
from kyvsim.kube.wildcard import matches
from kyvsim.model.budget import CHARACTERS, FEW, SHORT
from kyvsim.model.ports import System

_REFERENCE = re.compile(r"\$(?:\$|\{(\w+)\}|(\w+))")


def as_text(value: str | float) -> str:
    """Return a text argument, numbers written plainly with the digits of a float32."""
    return value if isinstance(value, str) else format_float(value, "f", bits=32)


def regex_match(pattern: str, source: str | float) -> bool:
    """Tell whether a place in `source` fits the pattern."""
    try:
        return is_found(compile_regex(pattern), as_text(source))
    except RegexError as error:
        raise QueryError(str(error)) from None


def regex_replace_all(
    system: System, pattern: str, source: str | float, replacement: str | float
) -> str:
    """Return `source` with each match replaced; `$1` and `${name}` stand for groups."""
    parts = _template(as_text(replacement))
    compiled = _compiled_for("regex_replace_all", pattern)

    def expand(match: Any) -> bytes:
        found = []
        for part in parts:
            found.append(part if isinstance(part, bytes) else _group(match, part[0]))
            if len(found[-1]) > SHORT:
                system.meter.spend_text(len(found[-1]))
        return b"".join(found)

    return _replaced(system, compiled, as_text(source), expand)


def regex_replace_all_literal(
    system: System, pattern: str, source: str | float, replacement: str | float
) -> str:
    """Return `source` with each match replaced by the text as it stands."""
    compiled = _compiled_for("regex_replace_all_literal", pattern)
    text = as_bytes(as_text(replacement))
    return _replaced(system, compiled, as_text(source), lambda _: text)


def _compiled_for(name: str, pattern: str) -> Any:
    try:
        return compile_regex(pattern)
    except RegexError as error:
        raise QueryError(f"JMESPath function '{name}': {error}") from None


def _replaced(system: System, compiled: Any, source: str, expand: Callable[[Any], bytes]) -> str:
    data = as_bytes(source)
    pieces: list[bytes] = []
    last = 0
    for match in each_match(compiled, data):
        start, end = match.span()
        pieces += (data[last:start], expand(match))
        last = end
        if len(pieces) > FEW:
            system.meter.spend(1 + len(pieces[-1]) // CHARACTERS)
    pieces.append(data[last:])
    return b"".join(pieces).decode("utf-8", "replace")


@lru_cache(maxsize=128)
def _template(text: str) -> tuple[bytes | tuple[str], ...]:
    """Return literal texts and, as one-element tuples, the names of groups."""
    parts: list[bytes | tuple[str]] = []
    last = 0
    for found in _REFERENCE.finditer(text):
        name = found[1] or found[2]
        parts += (as_bytes(text[last : found.start()]), (name,) if name else b"$")
        last = found.end()
    return (*parts, as_bytes(text[last:]))


def _group(match: Any, name: str) -> bytes:
    """Return what a group by number or name matched, nothing where there is none."""
    found = None
    if name.isascii() and name.isdigit():
        is_number = name == "0" or name[0] != "0"
        number = int(name) if is_number and len(name) < 9 else -1
        if 0 <= number <= match.re.groups:
            found = match.group(number)
    elif name in match.re.groupindex:
        found = match.group(name)
    return found or b""


def pattern_match(pattern: str, source: str | float) -> bool:
    """Tell whether all of `source` fits a pattern with `*` and `?`."""
    return matches(pattern, as_text(source))


FUNCTIONS = (
    Function(
        "regex_replace_all",
        (STRING, STRING + NUMBER, STRING + NUMBER),
        STRING,
        "puts the third text in place of every match; `$1` and `${name}` stand for groups",
        regex_replace_all,
        needs_system=True,
        examples=(Example("regex_replace_all('a(b+)', 'xabbx', '[$1]')", "x[bb]x"),),
    ),
    Function(
        "regex_replace_all_literal",
        (STRING, STRING + NUMBER, STRING + NUMBER),
        STRING,
        "puts the third text in place of every match, as it stands",
        regex_replace_all_literal,
        needs_system=True,
        examples=(Example("regex_replace_all_literal('b+', 'abba', '$1')", "a$1a"),),
    ),
    Function(
        "regex_match",
        (STRING, STRING + NUMBER),
        BOOLEAN,
        "whether the RE2 expression fits somewhere in a text or number",
        regex_match,
        examples=(Example("regex_match('^v[0-9]+$', 'v12')", output=True),),
    ),
    Function(
        "pattern_match",
        (STRING, STRING + NUMBER),
        BOOLEAN,
        "whether a whole text or number fits a pattern: `*` any run, `?` one character",
        pattern_match,
        examples=(Example("pattern_match('nginx:*', 'nginx:1.25')", output=True),),
    ),
)
