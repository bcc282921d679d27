"""Why a result failed, with the line of the manifest that it is about: made once, told anywhere."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import groupby

from kyvsim.model.result import EngineResponse, Excerpt, ToldReason
from kyvsim.model.source import Document, Location
from kyvsim.report.diagnostics import excerpt_lines, excerpt_of, failed_place, rule_place, window_of
from kyvsim.report.reasons import Reason
from kyvsim.report.results import Row
from kyvsim.report.run import Explain
from kyvsim.report.style import INDENT, Sheet, safe_line, wrapped


def told_reasons(row: Row, response: EngineResponse, explain: Explain) -> tuple[ToldReason, ...]:
    """Return why a result failed, at least where its rule stands."""
    document = response.document
    reasons = explain(response, row)
    at = failed_place(document, row.result.path)
    if not reasons:
        reasons = (Reason((), "", None, at),)
    elif at is not None and len(reasons) == 1:
        # The result names the field, and formats that explain nothing point there.
        reasons = (replace(reasons[0], seen_at=at),)
    return tuple(_told(one, row, document) for one in reasons)


def explained_place(row: Row, response: EngineResponse, explain: Explain) -> Location | None:
    """Return the place of the first of `told_reasons` that has one, without working out texts."""
    document = response.document
    if document is None:
        return None
    whole = document.locate(())
    places = (one.seen_at for one in explain(response, row))
    return next((one for one in places if one is not None and one != whole), None)


def _told(reason: Reason, row: Row, document: Document | None) -> ToldReason:
    text = "" if reason.text in row.result.message else reason.text
    place = reason.place or rule_place(row)
    seen_at = reason.seen_at
    if document is None or seen_at is None or seen_at == document.locate(()):
        return ToldReason(text, place)
    return ToldReason(text, place, seen_at, _excerpt(seen_at, document))


def _excerpt(place: Location, document: Document) -> Excerpt | None:
    if not place.line:
        return None
    first, last = window_of(place.column)
    return excerpt_of(document.line(place.line, first, last), place.column - first)


def reason_lines(reasons: Iterable[ToldReason], sheet: Sheet) -> Iterator[str]:
    """Yield the lines on places in the manifest, each with what was seen there; then the rules."""
    told = tuple(reasons)
    for (seen_at, excerpt), some in groupby(told, lambda one: (one.seen_at, one.excerpt)):
        yield from _seen(seen_at, excerpt, [one.text for one in some if one.text], sheet)
    for place in dict.fromkeys(one.place for one in told):
        yield f"{INDENT}{sheet.paint('dim', 'rule: ' + safe_line(str(place)))}\n"


def _seen(
    place: Location | None, excerpt: Excerpt | None, texts: list[str], sheet: Sheet
) -> Iterator[str]:
    """Yield a place in the manifest with its line, and what is to be said of it."""
    if place:
        yield f"{INDENT}{sheet.paint('place', safe_line(str(place)))}\n"
    if place and excerpt:
        (gutter, source), (blank, mark) = marked = [
            *excerpt_lines(excerpt, place.line, sheet.width - len(INDENT))
        ]
        yield f"{INDENT}{sheet.paint('dim', gutter)}{source}\n"
        start = f"{INDENT}{sheet.paint('dim', blank)}{sheet.paint('fail', mark)}"
        length = len(INDENT) + sum(map(len, marked[1]))
        if len(texts) == 1 and length + 1 + len(safe_line(texts[0])) <= sheet.width:
            yield f"{start} {safe_line(texts[0])}\n"
            return
        yield f"{start}\n"
    for text in texts:
        yield from (f"{line}\n" for line in wrapped(text, sheet.width, f"{INDENT}  ", INDENT))
