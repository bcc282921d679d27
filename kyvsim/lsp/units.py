"""Positions of editors, which may count columns in UTF-16, and ours, which count characters."""

from lsprotocol import types as lsp
from pygls.workspace import TextDocument


def for_client(document: TextDocument, own: lsp.Range) -> lsp.Range:
    """Return a range of a document as its editor counts."""
    return document.position_codec.range_to_client_units(document.lines, own)


def from_client(document: TextDocument, position: lsp.Position) -> tuple[int, int]:
    """Return line and column of a position; behind the text they are those of its last line."""
    if position.line >= len(document.lines):
        return document.source.count("\n"), 0
    found = document.position_codec.position_from_client_units(document.lines, position)
    return found.line, found.character
