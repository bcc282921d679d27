"""The language server: requests of an editor and the responses.

https://microsoft.github.io/language-server-protocol/specifications/lsp/3.17/specification/
"""

import logging
import os
import sys
from collections.abc import Callable, Iterator

from lsprotocol import types as lsp
from pygls import uris
from pygls.lsp.server import LanguageServer

from kyvsim import __version__
from kyvsim.api.workspace import ProjectSettings
from kyvsim.lsp.hints import completions_at, hover_at
from kyvsim.lsp.navigation import DefinitionContext, named_by, spots_of, symbols_of
from kyvsim.lsp.session import (
    EditorSession,
    actions_of,
    for_client,
    from_client,
    meant_at,
)

_TRIGGERS = (" ", "{", ".", "-", "[")
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
        session.schedule_check(params.text_document.uri)

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


def _completions(
    session: EditorSession, params: lsp.CompletionParams
) -> Iterator[lsp.CompletionItem]:
    uri = params.text_document.uri
    if not session.is_open(uri):
        return
    document = session.document(uri)
    for one in completions_at(session.text(uri), *from_client(document, params.position)):
        if isinstance(one.text_edit, lsp.TextEdit):
            one.text_edit.range = for_client(document, one.text_edit.range)
        yield one


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
