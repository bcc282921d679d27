"""Colours, and text that is safe to show on a terminal."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeAlias

Paint: TypeAlias = Callable[[str, str], str]
"""Gives a text the look of a name from `CODES`, or leaves it as it is."""

CODES: Mapping[str, str] = MappingProxyType(
    {
        "title": "1",
        "dim": "2",
        "pass": "32",
        "fail": "31",
        "error": "31",
        "warn": "33",
        "skip": "36",
        "none": "33",
        "added": "32",
        "removed": "31",
        "place": "36",
    }
)

_BIDI = (0x061C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A), 0xFEFF)
_CONTROLS = (*range(0x20), *range(0x7F, 0xA0))
_VISIBLE: Mapping[int, str] = MappingProxyType(
    {code: f"\\x{code:02x}" for code in _CONTROLS if chr(code) not in "\n\t"}
    | {code: f"\\u{code:04x}" for code in _BIDI}
)


MARK_LOOKS: Mapping[str, str] = MappingProxyType({"+": "added", "-": "removed", "@": "dim"})
"""The look of a line of a diff, by its mark; other lines have none."""


def counted(count: int, noun: str) -> str:
    """Return `1 row`, `2 rows`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def painter(*, colours: bool) -> Paint:
    """Return a function that colours text, or one that does nothing."""
    if not colours:
        return lambda _name, text: text
    return lambda name, text: f"\x1b[{CODES[name]}m{text}\x1b[0m"


def safe_text(text: str) -> str:
    """Return `text` with control and direction-changing characters shown as escapes.

    Text of a user's file must not move the cursor, recolour or reorder what a terminal shows.
    Line ends and tabs stay.
    """
    return text if text.isprintable() else text.translate(_VISIBLE)


def safe_line(text: str) -> str:
    """Return `text` on one line, safe to show; line ends become a visible escape."""
    return safe_text(text).replace("\n", "\\n")


def indented(text: str, indent: str) -> str:
    """Return `text`, safe to show, with every line after the first one indented."""
    return safe_text(text.rstrip()).replace("\n", "\n" + indent)
