"""Tests → text of several lines: one idea a line."""

from typing import Final

from kyvsim.migrate.expressions import (
    AND,
    OR,
    RELATION,
    UNARY,
    All,
    Choice,
    Each,
    Not,
    Some,
    Test,
    enclosed,
    head_of,
    level_of,
    one_line,
    short_line,
)

_WIDTH: Final = 84
_STEP: Final = 2


def laid_out(test: Test) -> str:
    """Return a test as text, on several lines where one would be too long."""
    return "\n".join(_lines(test, _WIDTH))


def _lines(test: Test, width: int) -> list[str]:
    text = short_line(test, width)
    if text is not None:
        return [text]
    if isinstance(test, All | Some):
        return _joined(test, width)
    if isinstance(test, Each):
        body = _indented(_lines(test.body, width - _STEP))
        return [f"{head_of(test)},", *body, ")"]
    if isinstance(test, Not) and level_of(test.test) >= UNARY:
        first, *rest = _lines(test.test, width)
        return [f"!{first}", *rest]
    if isinstance(test, Not):
        return ["!(", *_indented(_lines(test.test, width - _STEP)), ")"]
    if isinstance(test, Choice):
        question = enclosed(test.question, AND)
        yes = _part(test.yes, width - _STEP, OR)
        no = _lines(test.no, width - _STEP)
        return [question, *_led("? ", yes), *_led(": ", no)]
    return [one_line(test)]


def _joined(test: All | Some, width: int) -> list[str]:
    sign = " &&" if isinstance(test, All) else " ||"
    lines: list[str] = []
    for one in test.parts:
        part = _part(one, width, RELATION)
        if lines:
            lines[-1] += sign
        lines += part
    return lines


def _part(test: Test, width: int, least: int) -> list[str]:
    if level_of(test) >= least:
        return _lines(test, width)
    text = short_line(test, width - 2)
    if text is not None:
        return [f"({text})"]
    return ["(", *_indented(_lines(test, width - _STEP)), ")"]


def _led(sign: str, lines: list[str]) -> list[str]:
    return [f"{sign}{lines[0]}", *_indented(lines[1:])]


def _indented(lines: list[str]) -> list[str]:
    return [f"{' ' * _STEP}{one}" for one in lines]
