"""Words that may be written where somebody types."""

from collections.abc import Iterator

from lsprotocol import types as lsp

from kyvsim.api.workspace import concerns
from kyvsim.lsp.expressions import cel_offers, jmespath_offers
from kyvsim.lsp.fields import Offer, offers_at
from kyvsim.lsp.texts import Cursor, Text, in_cel, in_template


def completions_at(text: Text, line: int, column: int) -> Iterator[lsp.CompletionItem]:
    """Yield what may follow at a position, which counts characters."""
    cursor = text.cursor(line, column)
    for one in dict.fromkeys(_offers(text, cursor)):
        kind = lsp.CompletionItemKind.Property if one.is_key else _kind(one)
        yield lsp.CompletionItem(
            label=one.label,
            kind=kind,
            detail=one.detail,
            documentation=lsp.MarkupContent(lsp.MarkupKind.Markdown, one.note)
            if one.note
            else None,
            text_edit=lsp.TextEdit(_typed(cursor), one.insert or one.label),
        )


def _offers(text: Text, cursor: Cursor) -> Iterator[Offer]:
    if in_template(cursor):
        yield from jmespath_offers(text, cursor.document)
    elif in_cel(cursor, text.kind(cursor.document)):
        yield from cel_offers(text, cursor.document)
    elif concerns(text.text) or len(text.text.split("\n")) <= 2:
        yield from offers_at(text, cursor)


def _kind(offer: Offer) -> lsp.CompletionItemKind:
    is_function = offer.insert.endswith("(") or "->" in offer.detail
    return lsp.CompletionItemKind.Function if is_function else lsp.CompletionItemKind.Value


def _typed(cursor: Cursor) -> lsp.Range:
    """Return the word that is replaced."""
    start = lsp.Position(cursor.line, cursor.column - len(cursor.typed))
    return lsp.Range(start, lsp.Position(cursor.line, cursor.column))
