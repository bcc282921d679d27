"""Results in the view of `apply`: what is said, where the manifest has it, and who says it."""

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import Protocol

from kyvsim.light.named_tuple import NamedTuple
from kyvsim.model.policy import Policy, Rule
from kyvsim.model.result import BaselineState, EngineResponse
from kyvsim.model.source import Document, Location, Path
from kyvsim.report.places import failed_place, rule_place
from kyvsim.report.run import Run
from kyvsim.report.style import safe_line
from kyvsim.report.summary import NO_RESULT, Row
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


def rule_title(policy: Policy, rule: Rule) -> str:
    """Return a rule behind its policy; one that was derived is called as the written one is."""
    written = next((one for one in policy.rules if one.path == rule.path), rule)
    is_derived = bool(rule.variant) or not written.is_renamed(rule)
    name = " / ".join(filter(None, (policy.key, written.name if is_derived else rule.name)))
    return f"{name} (autogen)" if is_derived else name


def compile_titles() -> Callable[[Row], str]:
    """Return a function that gives the title of the rule of a row; it looks once."""
    known: dict[tuple[int, str, Path], str] = {}

    def title(row: Row) -> str:
        rule = row.result.rule
        key = (id(row.policy), rule.name, rule.path)
        found = known.get(key)
        if found is None:
            found = known[key] = rule_title(row.policy, rule)
        return found

    return title


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
    title = compile_titles()

    def told(row: Row, response: EngineResponse, *, whole: bool) -> Said:
        said = Said(_word(row), title(row))
        if not whole:
            return said
        text = "".join(f"{line}\n" for line in _message(row, sheet.width))
        is_known = row.result.baseline is BaselineState.UNCHANGED
        places = () if is_known or row.status in QUIET else _places(row, response, run, sheet)
        return said._replace(text=text, places="".join(places))

    return told


def _word(row: Row) -> str:
    return row.status if row.status in QUIET | {NO_RESULT} else row.status.upper()


def _message(row: Row, width: int) -> Iterator[str]:
    for text in (row.result.own or row.result.message, row.result.note):
        if text:
            yield from wrapped(text, width)


def _places(row: Row, response: EngineResponse, run: Run, sheet: Sheet) -> Iterator[str]:
    """Yield where a result has its reasons, in the manifest and in the policy."""
    from kyvsim.report.reasons import Reason, reasons_of  # noqa: PLC0415 — where something failed

    explained = run.explain(response, row)
    reasons = reasons_of(explained, row.result) if explained else ()
    if not reasons:
        reasons = (Reason("", None, failed_place(response.document, row.result.path)),)
    message = row.result.message
    for seen_at, some in groupby(reasons, lambda one: one.seen_at):
        texts = [one.text for one in some if one.text and one.text not in message]
        yield from _seen(seen_at, texts, response.document, sheet)
    rules = dict.fromkeys(one.place or rule_place(row) for one in reasons)
    yield from (f"{INDENT}{sheet.paint('dim', 'rule: ' + safe_line(str(one)))}\n" for one in rules)


def _seen(
    place: Location | None,
    texts: Iterable[str],
    document: Document | None,
    sheet: Sheet,
) -> Iterator[str]:
    """Yield a place in the manifest with its line, and what is to be said of it."""
    texts = [*texts]
    marked = [*_marked(place, document, sheet.width - len(INDENT))] if place else []
    if place and (marked or place != _start(document)):
        yield f"{INDENT}{sheet.paint('place', safe_line(str(place)))}\n"
    if marked:
        (gutter, source), (blank, mark) = marked
        yield f"{INDENT}{sheet.paint('dim', gutter)}{source}\n"
        line = f"{INDENT}{blank}{mark}"
        start = f"{INDENT}{sheet.paint('dim', blank)}{sheet.paint('fail', mark)}"
        if len(texts) == 1 and len(line) + 1 + len(safe_line(texts[0])) <= sheet.width:
            yield f"{start} {safe_line(texts[0])}\n"
            return
        yield f"{start}\n"
    for text in texts:
        yield from (f"{line}\n" for line in wrapped(text, sheet.width, f"{INDENT}  ", INDENT))


def _marked(place: Location, document: Document | None, width: int) -> Iterator[tuple[str, str]]:
    """Yield the line of a place and the mark below it; nothing where it is that of the object."""
    if document is None or not place.line or place == _start(document):
        return
    from kyvsim.report.source_excerpt import excerpt_lines  # noqa: PLC0415 — as above

    yield from excerpt_lines(document.line(place.line), (place.line, place.column), width)


def _start(document: Document | None) -> Location | None:
    return document.locate(()) if document else None
