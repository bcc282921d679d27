"""The place of a text in its document as a JMESPath expression: what `{{@}}` stands for.

upstream: pkg/utils/jsonpointer and `substituteVariablesIfAny` in pkg/engine/variables/vars.go.
"""

import re
from typing import Final

_PLAIN: Final = re.compile(r"[(A-Za-z_][)0-9A-Za-z_]*")
_PART: Final = re.compile(r"(?:\\.|[^/\\])+", re.DOTALL)
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)
_SPECIAL: Final = re.compile(r'["\\/\x00-\x1f]')
_NAMED_ESCAPES: Final = (
    ('"', '\\"'),
    ("\\", "\\\\"),
    ("/", "\\/"),
    ("\b", "\\b"),
    ("\f", "\\f"),
    ("\n", "\\n"),
    ("\r", "\\r"),
    ("\t", "\\t"),
)


def current_path(path: str, start: tuple[str, ...]) -> str:
    """Return the expression for the text at `path`, below `start`.

    Everything up to `foreach` is left out, then the first two parts (such as `validate/pattern`).
    """
    parts = [_ESCAPED.sub(r"\1", part) for part in _PART.findall(path)]
    if "foreach" in parts:
        parts = parts[parts.index("foreach") + 1 :]
    return _expression([*start, *parts[2:]])


def _expression(parts: list[str]) -> str:
    written = ""
    for part in parts:
        if part.isascii() and part.isdigit():
            written += f"[{part}]"
            continue
        written += "." if written else ""
        written += part if _PLAIN.fullmatch(part) else f'"{_SPECIAL.sub(_escape, part)}"'
    return written


def _escape(found: re.Match[str]) -> str:
    named = dict(_NAMED_ESCAPES).get(found[0])
    return named if named is not None else f"\\u{ord(found[0]):04x}"
