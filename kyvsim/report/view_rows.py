"""Results in the view of `apply`: what is said, where the manifest has it, and who says it."""

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from kyvsim.model.policy import Policy, Rule
from kyvsim.model.result import BaselineState, EngineResponse
from kyvsim.report.failure_reasons import reason_lines
from kyvsim.report.finding import finding_of
from kyvsim.report.results import NO_RESULT, QUIET, Row, once_a_rule
from kyvsim.report.run import Run
from kyvsim.report.style import INDENT, Sheet, apart, wrapped


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
    message: str = ""
    """Lines that this one has in place of them: Kyverno's message can name a path, or an image."""
    places: str = ""
    """Lines on what is only of this one."""


def behind(policy: str, rule: str) -> str:
    """Return the name of a rule behind that of its policy; that alone of one without rules."""
    return " / ".join(filter(None, (policy, rule)))


def written_title(policy: Policy, rule: Rule) -> str:
    """Return the title under which tables count a rule: autogen's count with the written one."""
    written = next((one for one in policy.rules if one.path == rule.path), rule)
    return behind(policy.key, written.name)


def row_title(row: Row) -> str:
    """Return the title of the rule of a row, with the name that Kyverno reports."""
    return behind(row.policy.key, row.result.rule.name)


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
        result = row.result
        said = with_message(said, (result.own, result.message, result.note), sheet)
        if row.status in QUIET or row.result.baseline is BaselineState.UNCHANGED:
            return said

        finding = finding_of(row, response, run.explain, with_reasons=True)
        return said._replace(places="".join(reason_lines(finding.reasons, sheet)))

    return told


def word_of(status: str) -> str:
    """Return how a status is told: those that need somebody's attention in capitals."""
    return status if status in QUIET | {NO_RESULT} else status.upper()


def with_message(said: Said, texts: tuple[str, str, str], sheet: Sheet) -> Said:
    """Return the same with a message: what the policy says itself of it, all of it, a note."""
    own, message, note = texts
    text = message_lines((own or message, note), sheet)
    whole = message_lines((message, note), sheet)
    return said._replace(text=text, message=whole if whole != text else "")


def message_lines(texts: Iterable[str], sheet: Sheet) -> str:
    """Return what is said of a result, wrapped."""
    return "".join(f"{line}\n" for text in texts if text for line in wrapped(text, sheet.width))
