"""Codes of remarks for people: all of them in a list, or one with its examples."""

import re
from collections.abc import Iterable, Iterator

from kyvsim.report.known_codes import LINTED, Code
from kyvsim.report.wrapped import Sheet, wrapped

_INDENT = "    "


def list_lines(codes: Iterable[Code], sheet: Sheet) -> Iterator[str]:
    """Yield code and title of each, below the names of their groups."""
    group = ""
    for one in codes:
        if one.group != group:
            yield "\n" if group else ""
            yield f"{sheet.paint('title', one.group)}\n"
            group = one.group
        for line in wrapped(f"{one.code}  {one.title}", sheet.width, " " * 9, "  "):
            yield f"{line}\n"


def code_lines(one: Code, sheet: Sheet) -> Iterator[str]:
    """Yield what a code means, why it is told, and its examples."""
    yield from _paragraph(f"{one.code}: {one.title}", sheet, "title")
    for text in filter(None, re.split(r"\n{2,}", one.why)):
        yield "\n"
        yield from _paragraph(" ".join(text.split()), sheet)
    for style, title, text in blocks_of(one):
        yield f"\n{sheet.paint(style, title)}\n\n"
        yield from (f"{_INDENT}{line}\n" if line else "\n" for line in text.splitlines())


def blocks_of(one: Code) -> Iterator[tuple[str, str, str]]:
    """Yield the blocks of a code's examples: a style, a line that says what it is, a text."""
    for style, name, example in (("fail", "Bad", one.bad), ("pass", "Good", one.good)):
        if example:
            typed = "" if example.command == LINTED else f", with `kyvsim {example.command}`"
            yield style, f"{name}{typed}:", example.text
    if one.beside:
        yield "title", "Beside both:", one.beside


def _paragraph(text: str, sheet: Sheet, style: str = "") -> Iterator[str]:
    for line in wrapped(text, sheet.width, "", ""):
        yield (sheet.paint(style, line) if style else line) + "\n"
