"""The language server: requests of an editor and the responses.

https://microsoft.github.io/language-server-protocol/specifications/lsp/3.17/specification/
"""

import logging
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from types import MappingProxyType

from lsprotocol import types as lsp
from pygls import uris
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer

from kyvsim import __version__
from kyvsim.api.workspace import ProjectSettings
from kyvsim.lsp.document import YamlText
from kyvsim.lsp.hints import completions_at, hover_at
from kyvsim.lsp.navigation import (
    DefinitionContext,
    NamedTarget,
    Occurrence,
    defined_by,
    named_by,
    occurrences_of,
    rename_problem,
    runnable_rows,
    spots_of,
    symbols_of,
    written_rule,
)
from kyvsim.lsp.session import EditorSession, actions_of, for_client, from_client, meant_at

_TRIGGERS = (" ", "{", ".", "-", "[")
_KINDS = MappingProxyType(
    {
        "property": lsp.CompletionItemKind.Property,
        "function": lsp.CompletionItemKind.Function,
        "value": lsp.CompletionItemKind.Value,
    }
)
_WATCHED = "**/{*.yaml,*.yml,*.json,pyproject.toml,.kyvsimignore}"


def serve(settle: Callable[[], ProjectSettings]) -> None:
    """Serve the protocol on standard input and output until the editor ends the session.

    `settle` returns a project's settings, as seen from the working directory.
    """
    logging.getLogger("pygls").setLevel(logging.CRITICAL)
    server = LanguageServer("kyvsim", __version__)
    session = EditorSession(server, settle)
    _follow(server, session)
    _answer(server, session)
    _rename(server, session)
    _run(server, session)
    # The output is closed at the end, and standard output must stay open.
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as output:
        server.start_io(sys.stdin.buffer, output)


def _follow(server: LanguageServer, session: EditorSession) -> None:
    @server.feature(lsp.INITIALIZED)
    async def begin(_: lsp.InitializedParams) -> None:
        await session.begin()
        capabilities = server.client_capabilities.workspace
        watching = capabilities and capabilities.did_change_watched_files
        if watching and watching.dynamic_registration:
            options = lsp.DidChangeWatchedFilesRegistrationOptions(
                [lsp.FileSystemWatcher(_WATCHED)]
            )
            await server.client_register_capability_async(
                lsp.RegistrationParams(
                    [lsp.Registration("files", lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)]
                )
            )

    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    async def opened(params: lsp.DidOpenTextDocumentParams) -> None:
        session.schedule_check(params.text_document.uri, 0)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    async def changed(params: lsp.DidChangeTextDocumentParams) -> None:
        session.changed(params.text_document.uri)

    # pygls stores the name of the feature on the function: each needs a function of its own.
    @server.feature(lsp.TEXT_DOCUMENT_DID_SAVE)
    async def saved(_: lsp.DidSaveTextDocumentParams) -> None:
        await session.begin()

    @server.feature(lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    async def renewed(_: lsp.DidChangeWatchedFilesParams) -> None:
        await session.begin()

    @server.feature(lsp.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    async def moved(_: lsp.DidChangeWorkspaceFoldersParams) -> None:
        await session.begin()

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    async def closed(params: lsp.DidCloseTextDocumentParams) -> None:
        session.close(params.text_document.uri)


def _answer(server: LanguageServer, session: EditorSession) -> None:
    @server.feature(
        lsp.TEXT_DOCUMENT_COMPLETION, lsp.CompletionOptions(trigger_characters=[*_TRIGGERS])
    )
    def complete(params: lsp.CompletionParams) -> list[lsp.CompletionItem]:
        return session.guarded(lambda: [*_completions(session, params)], [])

    @server.feature(lsp.TEXT_DOCUMENT_HOVER)
    def hover(params: lsp.HoverParams) -> lsp.Hover | None:
        hover_text = session.guarded(lambda: _hover(session, params), "")
        if not hover_text:
            return None
        return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, hover_text))

    @server.feature(lsp.TEXT_DOCUMENT_DEFINITION)
    def define(params: lsp.DefinitionParams) -> list[lsp.Location]:
        return session.guarded(lambda: [*_definitions(session, params)], [])

    @server.feature(lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    def outline(params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
        text = session.text(params.text_document.uri)
        return session.guarded(lambda: [*symbols_of(text)], [])

    @server.feature(
        lsp.TEXT_DOCUMENT_CODE_ACTION,
        lsp.CodeActionOptions(code_action_kinds=[lsp.CodeActionKind.QuickFix]),
    )
    def act(params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        uri = params.text_document.uri
        return session.guarded(lambda: [*actions_of(session, uri, params.range)], [])


def _rename(server: LanguageServer, session: EditorSession) -> None:
    @server.feature(lsp.TEXT_DOCUMENT_REFERENCES)
    def refer(params: lsp.ReferenceParams) -> list[lsp.Location]:
        def found() -> list[lsp.Location]:
            wanted = _target_at(session, params.text_document.uri, params.position)
            with_definition = params.context.include_declaration
            every = occurrences_of(wanted, session.sources())
            return [
                *_locations(
                    session, (one for one in every if with_definition or not one.is_definition)
                )
            ]

        return session.guarded(found, [])

    @server.feature(lsp.TEXT_DOCUMENT_PREPARE_RENAME)
    def prepare(params: lsp.PrepareRenameParams) -> lsp.PrepareRenamePlaceholder | None:
        return session.guarded(
            lambda: _renamed_range(session, params.text_document.uri, params.position), None
        )

    @server.feature(lsp.TEXT_DOCUMENT_RENAME, lsp.RenameOptions(prepare_provider=True))
    def rename(params: lsp.RenameParams) -> lsp.WorkspaceEdit:
        wanted = _target_at(session, params.text_document.uri, params.position)
        files = session.sources()
        found = [*occurrences_of(wanted, files)]
        problem = rename_problem(wanted, params.new_name, found, files)
        if problem:
            raise JsonRpcInvalidParams(problem)
        changes: dict[str, list[lsp.TextEdit]] = {}
        for place in _locations(session, found):
            changes.setdefault(place.uri, []).append(lsp.TextEdit(place.range, params.new_name))
        return lsp.WorkspaceEdit(changes=changes)


RUN_TEST, REPORT = "kyvsim.runTest", "kyvsim.report"


def _run(server: LanguageServer, session: EditorSession) -> None:
    @server.feature(lsp.TEXT_DOCUMENT_CODE_LENS, lsp.CodeLensOptions())
    def lenses(params: lsp.CodeLensParams) -> list[lsp.CodeLens]:
        uri = params.text_document.uri
        return session.guarded(lambda: [*_lenses(session.text(uri), uri)], [])

    @server.command(RUN_TEST)
    async def run_test(uri: str, line: int) -> dict[str, int]:
        """Run the tests in a document, or the row on a line unless it is 0; return the counts."""
        if not session.is_open(uri):
            raise JsonRpcInvalidParams(f"{uri} is not open")
        outcomes = await session.run_tests(uri, line)
        rows = [row for manifest in outcomes for row in manifest.rows]
        failed = sum(row.failed for row in rows)
        kind = lsp.MessageType.Warning if failed or not rows else lsp.MessageType.Info
        text = f"{len(rows) - failed} passed, {failed} failed" if rows else "no row was run"
        server.window_show_message(lsp.ShowMessageParams(kind, f"kyvsim test: {text}"))
        return {"passed": len(rows) - failed, "failed": failed}

    @server.command(REPORT)
    async def report(uri: str) -> str:
        """Return the page with the results of the tests or manifests in a document."""
        if not session.is_open(uri):
            raise JsonRpcInvalidParams(f"{uri} is not open")
        return await session.report(uri)


def _lenses(text: YamlText, uri: str) -> Iterator[lsp.CodeLens]:
    for name, entry in runnable_rows(text):
        start = lsp.Position(entry.line, entry.column)
        title, line = (f"Run {name}", entry.line + 1) if name else ("Run all rows", 0)
        yield lsp.CodeLens(
            lsp.Range(start, start), command=lsp.Command(title, RUN_TEST, arguments=[uri, line])
        )


def _target_at(session: EditorSession, uri: str, position: lsp.Position) -> NamedTarget:
    """Return the policy or rule that is defined or referenced at a position."""
    if not session.is_open(uri):
        return NamedTarget()
    text = session.text(uri)
    entry = text.entry_at(*from_client(session.document(uri), position))
    if entry is None:
        return NamedTarget()
    defined = defined_by(text, entry)
    found = defined if defined.policy else named_by(text, entry)
    return NamedTarget(found.policy, written_rule(found.rule))


def _locations(session: EditorSession, found: Iterable[Occurrence]) -> Iterator[lsp.Location]:
    codec = session.server.workspace.position_codec
    files = session.sources()
    for one, _ in found:
        uri = uris.from_fs_path(one.file)
        if uri is not None:
            start = lsp.Position(one.line, one.column)
            own = lsp.Range(start, lsp.Position(one.line, one.column + one.length))
            lines = files[one.file].text.splitlines(keepends=True)
            yield lsp.Location(uri, codec.range_to_client_units(lines, own))


def _renamed_range(
    session: EditorSession, uri: str, position: lsp.Position
) -> lsp.PrepareRenamePlaceholder | None:
    """Return the range and name of the policy or rule at a position, None if there is none."""
    wanted = _target_at(session, uri, position)
    file = os.path.realpath(session.source(uri).name)
    own = {name: one for name, one in session.sources().items() if name == file}
    for place in _locations(session, occurrences_of(wanted, own)):
        if place.range.start.line == position.line:
            return lsp.PrepareRenamePlaceholder(place.range, wanted.rule or wanted.policy)
    return None


def _completions(
    session: EditorSession, params: lsp.CompletionParams
) -> Iterator[lsp.CompletionItem]:
    uri = params.text_document.uri
    if not session.is_open(uri):
        return
    document = session.document(uri)
    line, column = from_client(document, params.position)
    for one in completions_at(session.text(uri), line, column):
        replaced = lsp.Range(lsp.Position(line, one.column), lsp.Position(line, column))
        note = lsp.MarkupContent(lsp.MarkupKind.Markdown, one.note) if one.note else None
        yield lsp.CompletionItem(
            label=one.label,
            kind=_KINDS[one.kind],
            detail=one.detail,
            documentation=note,
            text_edit=lsp.TextEdit(for_client(document, replaced), one.insert),
        )


def _hover(session: EditorSession, params: lsp.HoverParams) -> str:
    uri = params.text_document.uri
    if not session.is_open(uri):
        return ""
    line, column = from_client(session.document(uri), params.position)
    published = [one for _, one in session.found.get(uri, ())]
    meant = meant_at(published, params.position)
    hover_text = hover_at(session.text(uri), session.source(uri), line, column)
    return "\n---\n\n".join(filter(None, (*meant, hover_text)))


def _definitions(session: EditorSession, params: lsp.DefinitionParams) -> Iterator[lsp.Location]:
    uri = params.text_document.uri
    if not session.is_open(uri):
        return
    text = session.text(uri)
    entry = text.entry_at(*from_client(session.document(uri), params.position))
    if entry is None:
        return
    around = DefinitionContext(session.source(uri).name, session.sources(), session.read)
    for spot in spots_of(named_by(text, entry), text, around):
        start = lsp.Position(spot.line, spot.column)
        end = lsp.Position(spot.line, spot.column + spot.length)
        place = uris.from_fs_path(spot.file)
        if place is not None:
            yield lsp.Location(place, lsp.Range(start, end))
