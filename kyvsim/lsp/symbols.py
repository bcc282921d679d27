"""What a file has, as an outline: its documents, with the rules of policies in them."""

from collections.abc import Iterator

from lsprotocol import types as lsp

from kyvsim.lsp.outline import Entry
from kyvsim.lsp.texts import Text


def symbols_of(text: Text) -> Iterator[lsp.DocumentSymbol]:
    """Yield a symbol for each document that has a kind."""
    lines = text.text.split("\n")
    for document in sorted({one.document for one in text.entries}):
        own = [*text.of(document)]
        kind, name = text.value(document, "kind"), text.value(document, "metadata", "name")
        if not kind:
            continue
        last = max(one.line for one in own)
        whole = lsp.Range(lsp.Position(own[0].line, 0), lsp.Position(last, len(lines[last])))
        yield lsp.DocumentSymbol(
            name=name or kind,
            detail=kind,
            kind=lsp.SymbolKind.Class,
            range=whole,
            selection_range=_at(own[0]),
            children=[*_named(own)],
        )


def _named(entries: list[Entry]) -> Iterator[lsp.DocumentSymbol]:
    """Yield the rules of a policy, or the results of a test."""
    for one in entries:
        is_result = one.path[:1] == ("results",) and one.name == "rule" and len(one.path) == 3
        if (one.names_rule or is_result) and one.value:
            yield lsp.DocumentSymbol(
                name=one.value,
                kind=lsp.SymbolKind.Method,
                range=_at(one),
                selection_range=_at(one),
            )


def _at(entry: Entry) -> lsp.Range:
    end = entry.value_column + len(entry.value)
    return lsp.Range(lsp.Position(entry.line, entry.column), lsp.Position(entry.line, end))
