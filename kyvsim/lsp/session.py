"""The state of an editor session: open documents, diagnostics and their quick fixes."""

import asyncio
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final, TypeVar

from lsprotocol import types as lsp
from pygls import uris
from pygls.lsp.server import LanguageServer
from pygls.workspace import TextDocument

from kyvsim.api import Source
from kyvsim.api.workspace import (
    ProjectSettings,
    Rules,
    can_be_fixed,
    concerns,
    read_within,
    read_workspace,
    remarks_on,
)
from kyvsim.lsp.document import YamlText, read_text
from kyvsim.model.diagnostic import Diagnostic, Edit, Severity
from kyvsim.model.ports import fault_text
from kyvsim.report.diagnostic_codes import code_markdown, codes_by_name


def for_client(document: TextDocument, own: lsp.Range) -> lsp.Range:
    """Return a range of a document in the units of its editor, such as UTF-16."""
    return document.position_codec.range_to_client_units(document.lines, own)


def from_client(document: TextDocument, position: lsp.Position) -> tuple[int, int]:
    """Return line and column of a position; a position after the text is at its end."""
    if position.line >= len(document.lines):
        return document.source.count("\n"), 0
    found = document.position_codec.position_from_client_units(document.lines, position)
    return found.line, found.character


_SEVERITIES = MappingProxyType(
    {
        Severity.ERROR: lsp.DiagnosticSeverity.Error,
        Severity.WARNING: lsp.DiagnosticSeverity.Warning,
        Severity.INFO: lsp.DiagnosticSeverity.Information,
    }
)
_KEY = re.compile(r'("[^"]*"|\'[^\']*\'|[^\s:#{}\[\],][^:#{}\[\],]*?)(?=\s*:(?:\s|$))')
_REST = re.compile(r"[^#]*?(?=\s*(?:#.*)?$)")


def shown(remarks: Iterable[Diagnostic], text: str) -> Iterator[lsp.Diagnostic]:
    """Yield LSP diagnostics for a text, with columns that count characters."""
    lines = text.split("\n")
    known = codes_by_name()
    for one in remarks:
        yield lsp.Diagnostic(
            range=range_of(one, lines),
            message=one.message,
            severity=_SEVERITIES[one.severity],
            code=one.code,
            source="kyvsim",
            tags=[lsp.DiagnosticTag.Deprecated] if known[one.code].deprecated else None,
        )


def meant_at(remarks: Iterable[lsp.Diagnostic], position: lsp.Position) -> Iterator[str]:
    """Yield explanations of the codes of the diagnostics at a position, as Markdown."""
    found = {one.code for one in remarks if one.range.start <= position <= one.range.end}
    for name, code in codes_by_name().items():
        if name in found:
            yield code_markdown(code, f"**{name}**: {code.title}")


def range_of(remark: Diagnostic, lines: Sequence[str]) -> lsp.Range:
    """Return the range of a diagnostic: a key, or a value to the end of its line."""
    place = remark.location
    line = max(0, min((place.line if place else 1) - 1, len(lines) - 1))
    column = min(max(0, (place.column if place else 1) - 1), len(lines[line]))
    rest = lines[line].removesuffix("\r")
    found = _KEY.match(rest, column) or _REST.match(rest, column)
    end = found.end() if found else column
    start = lsp.Position(line, column)
    return lsp.Range(start, lsp.Position(line, max(end, column)))


_PAUSE: Final = 0.15
"""Seconds without typing before a text is checked."""
_Answer = TypeVar("_Answer")


class EditorSession:
    """The state of one editor."""

    def __init__(self, server: LanguageServer, settle: Callable[[], ProjectSettings]) -> None:
        self.server = server
        self.files: Mapping[str, Source] = {}
        self.found: dict[str, list[tuple[Diagnostic, lsp.Diagnostic]]] = {}
        """The latest diagnostics of texts, each also as it was sent to the editor."""
        self._settle = settle
        self._rules = Rules()
        self._waiting: dict[str, asyncio.Task[None]] = {}
        self._reported: frozenset[str] = frozenset()

    def is_open(self, uri: str) -> bool:
        """Return whether the editor has a document open: other files are not read for it."""
        return uri in self.server.workspace.text_documents

    def document(self, uri: str) -> TextDocument:
        """Return an open document."""
        return self.server.workspace.get_text_document(uri)

    def text(self, uri: str) -> YamlText:
        """Return the text of an open document, an empty one if it is not open."""
        return read_text(self.document(uri).source if self.is_open(uri) else "")

    def sources(self) -> Mapping[str, Source]:
        """Return all sources by real path; open documents with their unsaved content."""
        typed = {
            one.name: one
            for one in map(self.source, self.server.workspace.text_documents)
            if concerns(one.text)
        }
        return {**self.files, **{os.path.realpath(name): one for name, one in typed.items()}}

    def read(self, file: str) -> Source | None:
        """Return a file of the workspace or of configured paths, by its real path."""
        known = self.sources().get(file)
        roots = (*self._folders(), *self._rules.paths, *self._rules.exceptions)
        return known or read_within(file, roots)

    def source(self, uri: str) -> Source:
        """Return an open document as an input; its name is its path or URI."""
        return Source(uris.to_fs_path(uri) or uri, self.document(uri).source)

    async def begin(self) -> None:
        """Read configuration and files of the workspace, and check open documents."""
        folders = [*self._folders()]
        if folders:
            os.chdir(folders[0])  # commands look for a configuration there, too
        settings = self.guarded(self._settle, ProjectSettings(Rules()))
        self._rules = settings.rules
        self._publish_settings(settings.remarks)
        paths = (*(self._rules.paths or folders), *self._rules.exceptions)
        walking = self._rules.walking
        self.files = await asyncio.to_thread(
            self.guarded, lambda: read_workspace(paths, walking), self.files
        )
        for uri in [*self.server.workspace.text_documents]:
            self.schedule_check(uri, 0)

    def _folders(self) -> Iterator[str]:
        workspace = self.server.workspace
        roots = [*workspace.folders] or [workspace.root_uri or ""]
        paths = (uris.to_fs_path(one) for one in roots if one)
        return (one for one in paths if one and os.path.isdir(one))

    def _publish_settings(self, remarks: tuple[Diagnostic, ...]) -> None:
        files = {os.path.realpath(one.location.file) for one in remarks if one.location}
        for file in files | self._reported:
            own = [
                one
                for one in remarks
                if one.location and os.path.realpath(one.location.file) == file
            ]
            uri = uris.from_fs_path(file)
            if uri is None:
                continue
            text = self.document(uri).source if os.path.isfile(file) else ""
            published = lsp.PublishDiagnosticsParams(uri, [*shown(own, text)])
            self.server.text_document_publish_diagnostics(published)
        self._reported = frozenset(files)

    def schedule_check(self, uri: str, pause: float = _PAUSE) -> None:
        """Check a document after a pause in typing."""
        self._cancel_check(uri)
        self._waiting[uri] = asyncio.ensure_future(self._check(uri, pause))

    def _cancel_check(self, uri: str) -> None:
        waiting = self._waiting.pop(uri, None)
        if waiting is not None:
            waiting.cancel()

    async def _check(self, uri: str, pause: float) -> None:
        await asyncio.sleep(pause)
        version, own = self.document(uri).version, self.source(uri)
        others = [one for one in self.sources().values() if not _are_same(one, own)]
        remarks = await asyncio.to_thread(
            self.guarded, lambda: remarks_on(own, others, self._rules), ()
        )
        if not self.is_open(uri) or self.document(uri).version != version:
            return
        document = self.document(uri)
        published = [*shown(remarks, document.source)]
        for one in published:
            one.range = for_client(document, one.range)
        self.found[uri] = list(zip(remarks, published, strict=True))
        self.server.text_document_publish_diagnostics(
            lsp.PublishDiagnosticsParams(uri, published, document.version)
        )

    def close(self, uri: str) -> None:
        """Forget a document and its diagnostics."""
        self._cancel_check(uri)
        self.found.pop(uri, None)
        self.server.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, []))

    def guarded(self, answer: Callable[[], _Answer], default: _Answer) -> _Answer:
        """Return a result, or a default if it fails because of a document."""
        try:
            return answer()
        except Exception as error:  # noqa: BLE001 — INVARIANT: one bad document ends nothing
            message = lsp.LogMessageParams(lsp.MessageType.Error, fault_text(error))
            self.server.window_log_message(message)
            return default


def _are_same(first: Source, second: Source) -> bool:
    return os.path.realpath(first.name) == os.path.realpath(second.name)


def actions_of(session: EditorSession, uri: str, requested: lsp.Range) -> Iterator[lsp.CodeAction]:
    """Yield a quick fix for each diagnostic in a range that `lint --fix` can fix."""
    document = session.document(uri)
    for remark, published in session.found.get(uri, ()):
        start, end = published.range.start.line, published.range.end.line
        is_within = start <= requested.end.line and requested.start.line <= end
        if remark.fix is None or not (is_within and can_be_fixed(remark, session.source(uri))):
            continue
        edits = [
            lsp.TextEdit(for_client(document, _range(one)), one.text) for one in remark.fix.edits
        ]
        yield lsp.CodeAction(
            title=remark.fix.title,
            kind=lsp.CodeActionKind.QuickFix,
            diagnostics=[published],
            is_preferred=True,
            edit=lsp.WorkspaceEdit(
                document_changes=[
                    lsp.TextDocumentEdit(
                        lsp.OptionalVersionedTextDocumentIdentifier(uri, document.version), [*edits]
                    )
                ]
            ),
        )


def _range(one: Edit) -> lsp.Range:
    start = lsp.Position(one.line - 1, one.column - 1)
    return lsp.Range(start, lsp.Position(one.end_line - 1, one.end_column - 1))
