"""The language server as editors run it, spoken to by pygls' own client."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

types = pytest.importorskip("lsprotocol.types", reason="the extra `lsp` is not installed")
exceptions = pytest.importorskip("pygls.exceptions", reason="the extra `lsp` is not installed")
client = pytest.importorskip("pygls.lsp.client", reason="the extra `lsp` is not installed")

ROOT = Path(__file__).parents[3]


class Editor:
    """An editor with a folder open."""

    def __init__(self, folder, *arguments, cwd=None):
        self.types, self.folder, self.error = types, folder, exceptions.JsonRpcException
        self.told, self.versions, self.logged = {}, {}, []
        self.loop = asyncio.new_event_loop()
        self.client = client.LanguageClient("editor", "1")

        @self.client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def tell(params):
            self.told.setdefault(params.uri, []).append(params)

        @self.client.feature(types.WINDOW_LOG_MESSAGE)
        def log(params):
            self.logged.append(params.message)

        @self.client.feature(types.WINDOW_SHOW_MESSAGE)
        def show(params):
            self.logged.append(params.message)

        self.run(self._begin(arguments, cwd or folder))

    async def _begin(self, arguments, cwd):
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "default"}
        command = [sys.executable, "-m", "kyvsim", "lsp", *arguments]
        await self.client.start_io(*command, cwd=str(cwd), env=environment)
        await self.client.initialize_async(
            types.InitializeParams(
                capabilities=types.ClientCapabilities(),
                root_uri=self.folder.as_uri(),
                workspace_folders=[types.WorkspaceFolder(self.folder.as_uri(), "own")],
            )
        )
        self.client.initialized(types.InitializedParams())

    def run(self, waited):
        return self.loop.run_until_complete(waited)

    def until(self, holds):
        """Let messages come until something holds."""
        while not holds():
            self.run(asyncio.sleep(0.02))

    def uri(self, name):
        return (self.folder / name).as_uri()

    def open(self, name, text=None):
        """Open a file, or a text that is to become one; return what is wrong with it."""
        path = self.folder / name
        text = path.read_text(encoding="utf-8") if text is None else text
        self.versions[name] = 1
        item = self.types.TextDocumentItem(self.uri(name), "yaml", 1, text)
        self.client.text_document_did_open(self.types.DidOpenTextDocumentParams(item))
        return self.remarks(name)

    def type(self, name, text):
        """Change all of a text; return what is wrong with it."""
        self.versions[name] += 1
        document = self.types.VersionedTextDocumentIdentifier(
            uri=self.uri(name), version=self.versions[name]
        )
        change = self.types.TextDocumentContentChangeWholeDocument(text)
        self.client.text_document_did_change(
            self.types.DidChangeTextDocumentParams(document, [change])
        )
        return self.remarks(name)

    def remarks(self, name):
        """Return the last remarks on the version of a document that is open."""
        uri, version = self.uri(name), self.versions.get(name)

        self.until(lambda: any(one.version == version for one in self.told.get(uri, ())))
        self.run(asyncio.sleep(0.1))
        return [*self.told[uri][-1].diagnostics]

    def save(self, name):
        count = len(self.told.get(self.uri(name), ()))
        self.client.text_document_did_save(
            self.types.DidSaveTextDocumentParams(self._document(name))
        )

        self.until(lambda: len(self.told.get(self.uri(name), ())) > count)
        return self.remarks(name)

    def _document(self, name):
        return self.types.TextDocumentIdentifier(self.uri(name))

    def _at(self, kind, name, line, column):
        return kind(text_document=self._document(name), position=self.types.Position(line, column))

    def complete(self, name, line, column):
        params = self._at(self.types.CompletionParams, name, line, column)
        return self.run(self.client.text_document_completion_async(params))

    def labels(self, name, line, column):
        return [one.label for one in self.complete(name, line, column)]

    def hover(self, name, line, column):
        params = self._at(self.types.HoverParams, name, line, column)
        found = self.run(self.client.text_document_hover_async(params))
        return found.contents.value if found else ""

    def define(self, name, line, column):
        """Return the files and lines, from 1, to which a name leads."""
        params = self._at(self.types.DefinitionParams, name, line, column)
        found = self.run(self.client.text_document_definition_async(params))
        return [(self._name(one.uri), one.range.start.line + 1) for one in found]

    def symbols(self, name):
        params = self.types.DocumentSymbolParams(self._document(name))
        return self.run(self.client.text_document_document_symbol_async(params))

    def actions(self, name, line):
        place = self.types.Position(line, 0)
        params = self.types.CodeActionParams(
            text_document=self._document(name),
            range=self.types.Range(place, place),
            context=self.types.CodeActionContext(diagnostics=[]),
        )
        return self.run(self.client.text_document_code_action_async(params))

    def references(self, name, line, column, *, definition=True):
        """Return the places, as file, line from 1 and column from 0, where a name is used."""
        params = self.types.ReferenceParams(
            context=self.types.ReferenceContext(include_declaration=definition),
            text_document=self._document(name),
            position=self.types.Position(line, column),
        )
        found = self.run(self.client.text_document_references_async(params))
        return [
            (self._name(one.uri), one.range.start.line + 1, one.range.start.character)
            for one in found
        ]

    def renamed_name(self, name, line, column):
        params = self._at(self.types.PrepareRenameParams, name, line, column)
        found = self.run(self.client.text_document_prepare_rename_async(params))
        return found.placeholder if found else ""

    def rename(self, name, line, column, new):
        """Return the edits of a new name by file; raises the server's error."""
        params = self.types.RenameParams(
            new_name=new,
            text_document=self._document(name),
            position=self.types.Position(line, column),
        )
        found = self.run(self.client.text_document_rename_async(params))
        return {self._name(uri): edits for uri, edits in found.changes.items()}

    def lenses(self, name):
        params = self.types.CodeLensParams(self._document(name))
        return self.run(self.client.text_document_code_lens_async(params))

    def execute(self, command, *arguments):
        params = self.types.ExecuteCommandParams(command, [*arguments])
        return self.run(self.client.workspace_execute_command_async(params))

    def _name(self, uri):
        return uri.removeprefix(self.folder.as_uri() + "/")

    def end(self):
        """End the server as editors do; return its exit status."""

        async def ending():
            await self.client.shutdown_async(None)
            self.client.exit(None)
            process = self.client._server  # noqa: SLF001 — it tells its status nowhere else
            status = await process.wait()
            await self.client.stop()
            return status

        status = self.run(ending())
        self.loop.run_until_complete(self.loop.shutdown_asyncgens())
        self.loop.close()
        return status


@pytest.fixture
def edit(tmp_path):
    """A function that opens an editor on files; those that are open in the end are ended."""
    opened = []

    def begin(files, *arguments, cwd=None):
        folder = tmp_path / "own"
        folder.mkdir(parents=True)
        for name, text in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        opened.append(Editor(folder, *arguments, cwd=cwd))
        return opened[-1]

    yield begin
    for one in opened:
        if not one.loop.is_closed():
            assert one.end() == 0
