"""Colours, and text that is safe to show on a terminal."""

from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType
from typing import TypeAlias

Paint: TypeAlias = Callable[[str, str], str]
"""Gives a text the look of a name from `LOOKS`, or leaves it as it is."""

LOOKS: Mapping[str, str] = MappingProxyType(
    {
        "title": "bold",
        "dim": "dim",
        "pass": "green",
        "fail": "red",
        "error": "red",
        "warn": "yellow",
        "skip": "cyan",
        "none": "yellow",
        "added": "green",
        "removed": "red",
        "place": "cyan",
        "edit": "green",
        "new": "green",
    }
)
"""Names of looks, and what they are in rich's words."""

_BIDI = (0x061C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A), 0xFEFF)
_CONTROLS = (*range(0x20), *range(0x7F, 0xA0))
CONTROLS: Mapping[int, str] = MappingProxyType(
    {code: f"\\x{code:02x}" for code in _CONTROLS if chr(code) not in "\n\t"}
    | {code: f"\\u{code:04x}" for code in _BIDI}
)
"""Characters that control a terminal or the direction of text, and how they are shown."""

MARK_LOOKS: Mapping[str, str] = MappingProxyType({"+": "added", "-": "removed", "@": "dim"})
"""The look of a line of a diff, by its mark; other lines have none."""


def counted(count: int, noun: str) -> str:
    """Return `1 row`, `2 rows`, `2 policies`."""
    if count == 1:
        return f"{count} {noun}"
    return f"{count} {noun[:-1]}ies" if noun.endswith("y") else f"{count} {noun}s"


def painter(*, colours: bool) -> Paint:
    """Return a function that colours text, or one that does nothing."""
    if not colours:
        return lambda _name, text: text
    return _painted


def _painted(name: str, text: str) -> str:
    return _styles()[name](text)


@cache
def _styles() -> Mapping[str, Callable[[str], str]]:
    """Return what gives texts their looks, by the names of these."""
    from rich.color import ColorSystem
    from rich.style import Style

    def look(style: Style) -> Callable[[str], str]:
        return lambda text: style.render(text, color_system=ColorSystem.STANDARD)

    return MappingProxyType({name: look(Style.parse(text)) for name, text in LOOKS.items()})


def safe_text(text: str) -> str:
    """Return `text` with control and direction-changing characters shown as escapes.

    Text of a user's file must not move the cursor, recolour or reorder what a terminal shows. Line
    ends and tabs stay. Commands of CI logs are not looked for here, but where text leaves
    (`kyvsim/report/log_commands.py`).
    """
    return text if text.isprintable() else text.translate(CONTROLS)


def safe_line(text: str) -> str:
    """Return `text` on one line, safe to show; line ends become a visible escape."""
    return safe_text(text).replace("\n", "\\n")


def indented(text: str, indent: str) -> str:
    """Return `text`, safe to show, with every line after the first one indented."""
    return safe_text(text.rstrip()).replace("\n", "\n" + indent)
