"""What puts a remark right, as actions of an editor: the fixes of `lint --fix`."""

from collections.abc import Iterator

from lsprotocol import types as lsp

from kyvsim.api.workspace import can_be_fixed
from kyvsim.lsp.session import Session
from kyvsim.lsp.units import for_client
from kyvsim.model.diagnostic import Edit


def actions_of(session: Session, uri: str, wanted: lsp.Range) -> Iterator[lsp.CodeAction]:
    """Yield an action for each remark in a range that surely can be put right."""
    found = session.found.get(uri)
    if found is None:
        return
    document = session.document(uri)
    for remark, told in zip(found.remarks, found.shown, strict=True):
        if remark.fix is None or not _meet(told.range, wanted):
            continue
        if not can_be_fixed(remark, session.source(uri)):
            continue
        edits = [_edit(one) for one in remark.fix.edits]
        for one in edits:
            one.range = for_client(document, one.range)
        yield lsp.CodeAction(
            title=remark.fix.title,
            kind=lsp.CodeActionKind.QuickFix,
            diagnostics=[told],
            is_preferred=True,
            edit=lsp.WorkspaceEdit(
                document_changes=[
                    lsp.TextDocumentEdit(
                        lsp.OptionalVersionedTextDocumentIdentifier(uri, document.version),
                        [*edits],
                    )
                ]
            ),
        )


def _edit(one: Edit) -> lsp.TextEdit:
    start = lsp.Position(one.line - 1, one.column - 1)
    end = lsp.Position(one.end_line - 1, one.end_column - 1)
    return lsp.TextEdit(lsp.Range(start, end), one.text)


def _meet(first: lsp.Range, second: lsp.Range) -> bool:
    """Return whether two ranges have a line in common."""
    return first.start.line <= second.end.line and second.start.line <= first.end.line
