"""What is known of an editor's files while it is open: their texts, and what is wrong with them."""

import asyncio
import os
from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple, TypeVar

from lsprotocol import types as lsp
from pygls import uris
from pygls.lsp.server import LanguageServer
from pygls.workspace import TextDocument

from kyvsim.api import Source
from kyvsim.api.workspace import Rules, concerns, read_within, read_workspace, remarks_on
from kyvsim.lsp.remarks import shown
from kyvsim.lsp.texts import Text, read_text
from kyvsim.lsp.units import for_client
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.ports import fault_text

_PAUSE: Final = 0.15
"""Seconds without a key before a text is looked at."""
_Answer = TypeVar("_Answer")


class Settings(NamedTuple):
    """What a project's configuration says, and what is wrong with it."""

    rules: Rules
    remarks: tuple[Diagnostic, ...] = ()


class Found(NamedTuple):
    """What was found last in a text."""

    remarks: tuple[Diagnostic, ...]
    shown: tuple[lsp.Diagnostic, ...]
    """The same as the editor has it."""


class Session:
    """The state of one editor."""

    def __init__(self, server: LanguageServer, settle: Callable[[], Settings]) -> None:
        self.server = server
        self.files: Mapping[str, Source] = {}
        self.found: dict[str, Found] = {}
        self._settle = settle
        self._rules = Rules()
        self._waiting: dict[str, asyncio.Task[None]] = {}
        self._told: frozenset[str] = frozenset()

    def is_open(self, uri: str) -> bool:
        """Return whether the editor has a document: of others nothing is read for it."""
        return uri in self.server.workspace.text_documents

    def document(self, uri: str) -> TextDocument:
        """Return an open document."""
        return self.server.workspace.get_text_document(uri)

    def text(self, uri: str) -> Text:
        """Return the text of an open document, nothing of one that is not open."""
        return read_text(self.document(uri).source if self.is_open(uri) else "")

    def sources(self) -> Mapping[str, Source]:
        """Return the texts beside each other by real paths: what is open counts as it is typed."""
        typed = {
            one.name: one
            for one in map(self.source, self.server.workspace.text_documents)
            if concerns(one.text)
        }
        return {**self.files, **{os.path.realpath(name): one for name, one in typed.items()}}

    def read(self, file: str) -> Source | None:
        """Return a file of the editor's folders or of what is named besides, by its real path."""
        known = self.sources().get(file)
        roots = (*self._folders(), *self._rules.paths, *self._rules.exceptions)
        return known or read_within(file, roots)

    def source(self, uri: str) -> Source:
        """Return an open document as an input; its name is its path, or its address."""
        return Source(uris.to_fs_path(uri) or uri, self.document(uri).source)

    async def begin(self) -> None:
        """Read configuration and files of the editor's folders, and look at what is open."""
        folders = [*self._folders()]
        if folders:
            os.chdir(folders[0])  # where a configuration is looked for, as commands do
        settings = self.guarded(self._settle, Settings(Rules()))
        self._rules = settings.rules
        self._tell_settings(settings.remarks)
        paths = (*(self._rules.paths or folders), *self._rules.exceptions)
        walking = self._rules.walking
        self.files = await asyncio.to_thread(
            self.guarded, lambda: read_workspace(paths, walking), self.files
        )
        for uri in [*self.server.workspace.text_documents]:
            self.look(uri, 0)

    def _folders(self) -> Iterator[str]:
        workspace = self.server.workspace
        roots = [*workspace.folders] or [workspace.root_uri or ""]
        paths = (uris.to_fs_path(one) for one in roots if one)
        return (one for one in paths if one and os.path.isdir(one))

    def _tell_settings(self, remarks: tuple[Diagnostic, ...]) -> None:
        """Show what is wrong with the configuration at its places."""
        files = {os.path.realpath(one.location.file) for one in remarks if one.location}
        for file in files | self._told:
            own = [one for one in remarks if one.location and _is_in(one, file)]
            text = ""
            uri = uris.from_fs_path(file)
            if uri is None:
                continue
            if os.path.isfile(file):
                text = self.document(uri).source
            told = lsp.PublishDiagnosticsParams(uri, [*shown(own, text)])
            self.server.text_document_publish_diagnostics(told)
        self._told = frozenset(files)

    def look(self, uri: str, pause: float = _PAUSE) -> None:
        """Have a document looked at once nobody has typed for a while."""
        waiting = self._waiting.pop(uri, None)
        if waiting is not None:
            waiting.cancel()
        self._waiting[uri] = asyncio.ensure_future(self._look(uri, pause))

    async def _look(self, uri: str, pause: float) -> None:
        await asyncio.sleep(pause)
        document = self.document(uri)
        version, own = document.version, self.source(uri)
        others = [one for one in self.sources().values() if not _are_same(one, own)]
        remarks = await asyncio.to_thread(
            self.guarded, lambda: remarks_on(own, others, self._rules), ()
        )
        if self.is_open(uri) and self.document(uri).version == version:
            self._publish(uri, remarks)

    def _publish(self, uri: str, remarks: tuple[Diagnostic, ...]) -> None:
        document = self.document(uri)
        told = [*shown(remarks, document.source)]
        for one in told:
            one.range = for_client(document, one.range)
        self.found[uri] = Found(remarks, tuple(told))
        self.server.text_document_publish_diagnostics(
            lsp.PublishDiagnosticsParams(uri, told, document.version)
        )

    def close(self, uri: str) -> None:
        """Forget a document, and what was wrong with it."""
        waiting = self._waiting.pop(uri, None)
        if waiting is not None:
            waiting.cancel()
        self.found.pop(uri, None)
        self.server.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, []))

    def guarded(self, ask: Callable[[], _Answer], otherwise: _Answer) -> _Answer:
        """Return an answer, or what is said where a document makes it impossible."""
        try:
            return ask()
        except Exception as error:  # noqa: BLE001 — INVARIANT: a faulty document costs only itself
            message = lsp.LogMessageParams(lsp.MessageType.Error, fault_text(error))
            self.server.window_log_message(message)
            return otherwise


def _are_same(first: Source, second: Source) -> bool:
    return os.path.realpath(first.name) == os.path.realpath(second.name)


def _is_in(remark: Diagnostic, file: str) -> bool:
    return remark.location is not None and os.path.realpath(remark.location.file) == file
