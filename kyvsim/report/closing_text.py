"""The end of a view for people: how the run ended."""

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

from kyvsim.model.ending import Ending, Verdict
from kyvsim.report.wrapped import Sheet

_LOOKS: Mapping[Verdict, str] = MappingProxyType(
    {
        Verdict.INCOMPLETE: "error",
        Verdict.FAILED: "fail",
        Verdict.WARNED: "warn",
        Verdict.NOTHING: "warn",
        Verdict.PASSED: "pass",
    }
)


def closing_lines(ending: Ending, sheet: Sheet, seconds: float | None = None) -> Iterator[str]:
    """Yield the lines that say how a run ended, in the words of the closing line.

    `seconds` is how long the run took; it is told where
    nobody compares two runs.
    """
    told = [fact.text for fact in ending.ranked if fact.text]
    if seconds is not None:
        told.append(f"{seconds:.1f} s")
    told.append(f"exit status {ending.status}")
    name = ending.verdict.value
    yield from _named(name, _LOOKS[ending.verdict], _joined(told, _room(name, sheet)), sheet)


def _room(name: str, sheet: Sheet) -> int:
    return sheet.width - len(name) - len(": ")


def _joined(facts: Iterable[str], room: int) -> Iterator[str]:
    """Yield the lines of facts, each of which stays on one line."""
    line = ""
    for fact in facts:
        longer = f"{line} · {fact}" if line else fact
        if len(longer) > room and line:
            yield f"{line} ·"
            line = fact
        else:
            line = longer
    yield line


def _named(name: str, look: str, lines: Iterable[str], sheet: Sheet) -> Iterator[str]:
    first, *rest = lines
    yield f"{sheet.paint(look, name)}: {first}\n"
    yield from (f"{' ' * len(name)}  {line}\n" for line in rest)
