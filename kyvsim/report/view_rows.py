"""Results in the view of `apply`: what is said, where the manifest has it, and who says it."""

from collections.abc import Iterable

from kyvsim.light.named_tuple import NamedTuple
from kyvsim.light.typed import Protocol
from kyvsim.model.policy import Policy, Rule
from kyvsim.model.result import BaselineState, EngineResponse
from kyvsim.report.run import Run
from kyvsim.report.summary import NO_RESULT, Row, once_a_rule
from kyvsim.report.text_blocks import QUIET
from kyvsim.report.wrapped import INDENT, Sheet, apart, wrapped


class Said(NamedTuple):
    """What is told of a result or a change."""

    word: str
    """What it is: a status, `edit` or `new`."""
    name: str
    """The rule, or the object that was changed or created."""
    size: str = ""
    """What stands at the end of the line with its name."""
    text: str = ""
    """Lines on what holds for all that are alike."""
    places: str = ""
    """Lines on what is only of this one."""


def behind(policy: str, rule: str) -> str:
    """Return the name of a rule behind that of its policy; that alone of one without rules."""
    return " / ".join(filter(None, (policy, rule)))


def rule_title(policy: Policy, rule: Rule) -> str:
    """Return a rule behind its policy; one that was derived is called as the written one is."""
    written = next((one for one in policy.rules if one.path == rule.path), rule)
    is_derived = bool(rule.variant) or not written.is_renamed(rule)
    name = behind(policy.key, written.name if is_derived else rule.name)
    return f"{name} (autogen)" if is_derived else name


def written_title(policy: Policy, rule: Rule) -> str:
    """Return what a rule is called with all that are derived from it, as tables count them."""
    written = next((one for one in policy.rules if one.path == rule.path), None)
    return rule_title(policy, written) if written else behind(policy.key, rule.name)


def row_title(row: Row) -> str:
    """Return the title of the rule of a row."""
    return rule_title(row.policy, row.result.rule)


class TellRow(Protocol):
    """What tells a result of a response."""

    def __call__(self, row: Row, response: EngineResponse, *, whole: bool) -> Said:
        """Return what is told; what names it alone where it is not to be told as a whole."""


def headline(word: str, name: str, right: str, sheet: Sheet) -> str:
    """Return the line with a word, a name, and what stands at its end."""
    shown = f"{word:<4}"
    lines = [*wrapped(name, sheet.width, INDENT, f"  {shown}  ")]
    start, end = apart(lines[-1], right, sheet.width)
    told = "\n".join((*lines[:-1], start))
    return f"{told.replace(shown, sheet.paint(word.lower(), shown), 1)}{sheet.paint('dim', end)}\n"


def compile_rows_told(run: Run, sheet: Sheet) -> TellRow:
    """Return a function that tells a result, with why it failed and where that stands.

    If it is not to be told as a whole, only what names it is there.
    """
    title = once_a_rule(row_title)

    def told(row: Row, response: EngineResponse, *, whole: bool) -> Said:
        said = Said(word_of(row.status), title(row))
        if not whole:
            return said
        text = message_lines((row.result.own or row.result.message, row.result.note), sheet)
        if row.status in QUIET or row.result.baseline is BaselineState.UNCHANGED:
            return said._replace(text=text)
        from kyvsim.report.told_reasons import (  # noqa: PLC0415 — where something failed
            reason_lines,
            told_reasons,
        )

        lines = reason_lines(told_reasons(row, response, run.explain), sheet)
        return said._replace(text=text, places="".join(lines))

    return told


def word_of(status: str) -> str:
    """Return how a status is told: those that need somebody's attention in capitals."""
    return status if status in QUIET | {NO_RESULT} else status.upper()


def message_lines(texts: Iterable[str], sheet: Sheet) -> str:
    """Return what is said of a result, wrapped."""
    return "".join(f"{line}\n" for text in texts if text for line in wrapped(text, sheet.width))
