"""The state of an editor session: open documents, diagnostics and their quick fixes."""

import asyncio
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from lsprotocol import types as lsp
from pygls import uris
from pygls.lsp.server import LanguageServer
from pygls.workspace import TextDocument

from kyvsim import report
from kyvsim.api import Source
from kyvsim.api.lint import with_suggestion
from kyvsim.api.workspace import (
    ProjectSettings,
    Rules,
    can_be_fixed,
    concerns,
    read_within,
    read_workspace,
    remarks_on,
)
from kyvsim.api.workspace_runs import (
    WorkspacePolicies,
    compile_workspace,
    findings_on,
    holds_manifests,
    report_on,
    run_tests_in,
    unknown_names,
)
from kyvsim.lsp.document import YamlText, read_text, span_of
from kyvsim.model.diagnostic import Diagnostic, Edit, Severity
from kyvsim.model.ports import fault_text
from kyvsim.model.source import Location
from kyvsim.model.suite import ManifestOutcome
from kyvsim.report.diagnostic_codes import code_markdown, codes_by_name, description_place
from kyvsim.report.finding import Finding
from kyvsim.report.suite_text import reason


def for_client(document: TextDocument, own: lsp.Range) -> lsp.Range:
    """Return a range of a document in the units of its editor, such as UTF-16."""
    return document.position_codec.range_to_client_units(document.lines, own)


def from_client(document: TextDocument, position: lsp.Position) -> tuple[int, int]:
    """Return line and column of a position; a position after the text is at its end."""
    if position.line >= len(document.lines):
        return document.source.count("\n"), 0
    found = document.position_codec.position_from_client_units(document.lines, position)
    return found.line, found.character


_SEVERITIES: Mapping[Severity, lsp.DiagnosticSeverity] = {
    Severity.ERROR: lsp.DiagnosticSeverity.Error,
    Severity.WARNING: lsp.DiagnosticSeverity.Warning,
    Severity.INFO: lsp.DiagnosticSeverity.Information,
}


def shown(remarks: Iterable[Diagnostic], text: str) -> Iterator[lsp.Diagnostic]:
    """Yield LSP diagnostics for a text, with columns that count characters.

    Codes of test results, such as `Rule not found`, have no description.
    """
    lines = text.split("\n")
    known = codes_by_name()
    for one in remarks:
        code = known.get(one.code)
        yield lsp.Diagnostic(
            range=range_of(one.location, lines),
            message=one.message,
            severity=_SEVERITIES[one.severity],
            code=one.code,
            code_description=_link(code.code) if code else None,
            source="kyvsim",
            tags=[lsp.DiagnosticTag.Deprecated] if code and code.deprecated else None,
        )


def _link(code: str) -> lsp.CodeDescription | None:
    """Return the link to the description of a code, in a file of the installed package."""
    name, line = description_place(code)
    file = os.path.join(os.path.dirname(report.__file__), name)
    uri = uris.from_fs_path(file)
    return lsp.CodeDescription(f"{uri}#L{line}") if uri and os.path.isfile(file) else None


_STATUSES: Mapping[str, lsp.DiagnosticSeverity] = {
    "fail": lsp.DiagnosticSeverity.Error,
    "warn": lsp.DiagnosticSeverity.Warning,
    # Often because of data that only a cluster has.
    "error": lsp.DiagnosticSeverity.Information,
}


def shown_findings(findings: Iterable[Finding], text: str) -> Iterator[lsp.Diagnostic]:
    """Yield LSP diagnostics for results of policies on the objects in a text.

    They refer to the positions of the rules.
    """
    lines = text.split("\n")
    for one in findings:
        rule = _location(one.rule_location)
        status = one.row.status
        if status in _STATUSES:
            yield lsp.Diagnostic(
                range=range_of(one.location, lines),
                message=f"{one.shown_name}: {one.shown_text or status}",
                severity=_STATUSES[status],
                code=status,
                source="kyvsim",
                related_information=[lsp.DiagnosticRelatedInformation(rule, one.shown_name)],
            )


def _location(place: Location) -> lsp.Location:
    start = lsp.Position(max(place.line - 1, 0), max(place.column - 1, 0))
    uri = uris.from_fs_path(os.path.abspath(place.file)) or place.file
    return lsp.Location(uri, lsp.Range(start, start))


def failures_of(outcomes: Iterable[ManifestOutcome]) -> Iterator[Diagnostic]:
    """Yield the failed rows of tests as diagnostics whose code is the reason."""
    for manifest in outcomes:
        yield from manifest.diagnostics
        for row in manifest.rows:
            if row.failed:
                reasons = [one.text for one in row.reasons if one.text]
                lines = [f"{row.rule or row.policy}: {reason(row)}", row.message, *reasons]
                text = "\n".join(dict.fromkeys(filter(None, lines)))
                yield Diagnostic(row.reason, Severity.ERROR, text, row.location)


def meant_at(remarks: Iterable[lsp.Diagnostic], position: lsp.Position) -> Iterator[str]:
    """Yield explanations of the codes of the diagnostics at a position, as Markdown."""
    found = {one.code for one in remarks if one.range.start <= position <= one.range.end}
    for name, code in codes_by_name().items():
        if name in found:
            yield code_markdown(code, f"**{name}**: {code.title}")


def range_of(place: Location | None, lines: Sequence[str]) -> lsp.Range:
    """Return the range of a diagnostic, as `span_of`."""
    line, column, end = span_of(place, lines)
    return lsp.Range(lsp.Position(line, column), lsp.Position(line, end))


_PAUSE: Final = 0.15
"""Seconds without typing before a text is checked."""
_PAUSE_OF_OTHERS: Final = 0.5
"""The same before manifests are evaluated again after a change of a policy."""
_LARGEST: Final = 1_000_000
"""Maximum number of characters of a text that is read while it is edited."""
_NO_REMARKS: tuple[Diagnostic, ...] = ()
_NO_RESULTS: tuple[lsp.Diagnostic, ...] = ()
_NO_OUTCOMES: tuple[ManifestOutcome, ...] = ()
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
        self._failures: dict[str, tuple[Diagnostic, ...]] = {}
        """The failed rows of the last test run of documents that are unchanged since."""
        self._compiled: tuple[tuple[Source, ...], WorkspacePolicies] | None = None
        # One thread each, so that work does not run beside outdated work, which cannot be stopped.
        self._checks = ThreadPoolExecutor(max_workers=1)
        self._evaluations = ThreadPoolExecutor(max_workers=1)
        self._reported: frozenset[str] = frozenset()

    def is_open(self, uri: str) -> bool:
        """Return whether the editor has a document open: other files are not read for it."""
        return uri in self.server.workspace.text_documents

    def document(self, uri: str) -> TextDocument:
        """Return an open document."""
        return self.server.workspace.get_text_document(uri)

    def text(self, uri: str) -> YamlText:
        """Return the text of an open document, an empty one if it is not open or too large."""
        text = self.document(uri).source if self.is_open(uri) else ""
        return read_text(text if len(text) <= _LARGEST else "")

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
        return known or read_within(file, self._roots())

    def _roots(self) -> tuple[str, ...]:
        return (*self._folders(), *self._rules.paths, *self._rules.exceptions)

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
        self.files = await self._check_apart(lambda: read_workspace(paths, walking), self.files)
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

    def changed(self, uri: str) -> None:
        """Check a document after a pause in typing; after a policy, manifests are evaluated."""
        self._failures.pop(uri, None)
        self.schedule_check(uri)
        if concerns(self.document(uri).source):
            for other in [*self.server.workspace.text_documents]:
                if other != uri and not concerns(self.document(other).source):
                    self.schedule_check(other, _PAUSE_OF_OTHERS)

    def schedule_check(self, uri: str, pause: float = _PAUSE) -> None:
        """Check a document after a pause in typing."""
        self._cancel_check(uri)
        self._waiting[uri] = asyncio.ensure_future(self._check(uri, pause))

    def _cancel_check(self, uri: str) -> None:
        waiting = self._waiting.pop(uri, None)
        if waiting is not None:
            waiting.cancel()

    async def _check_apart(self, answer: Callable[[], _Answer], default: _Answer) -> _Answer:
        """Return a result of reading, or a default if it fails because of a document."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._checks, self.guarded, answer, default)

    async def _evaluate_apart(self, answer: Callable[[], _Answer], default: _Answer) -> _Answer:
        """Return a result of evaluation, which may take longer, in the same way."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._evaluations, self.guarded, answer, default)

    async def _check(self, uri: str, pause: float) -> None:
        await asyncio.sleep(pause)
        version, own = self.document(uri).version, self.source(uri)
        others = self._others(own)
        remarks = await self._check_apart(lambda: self._remarks(own, others), _NO_REMARKS)
        results = await self._evaluate_apart(lambda: self._results(own, others), _NO_RESULTS)
        if not self.is_open(uri) or self.document(uri).version != version:
            return
        document = self.document(uri)
        remarks = (*remarks, *self._failures.get(uri, ()))
        published = [*shown(remarks, document.source)]
        self.found[uri] = list(zip(remarks, published, strict=True))
        published += results
        for one in published:
            one.range = for_client(document, one.range)
        self.server.text_document_publish_diagnostics(
            lsp.PublishDiagnosticsParams(uri, published, document.version)
        )

    def _others(self, own: Source) -> list[Source]:
        return [one for one in self.sources().values() if not _are_same(one, own)]

    def _remarks(self, own: Source, others: Sequence[Source]) -> tuple[Diagnostic, ...]:
        """Return the diagnostics of a text, with unknown names in the rows of tests."""
        if len(own.text) > _LARGEST:
            text = (
                f"files of more than {_LARGEST} characters are not checked in editors: use "
                "`kyvsim lint` and `kyvsim apply`"
            )
            return (Diagnostic("KV065", Severity.INFO, text, Location(own.name, 1, 1)),)
        remarks = remarks_on(own, others, self._rules)
        if concerns(own.text):
            unknown = tuple(unknown_names(own, self._roots()))
            lines = {one.location.line for one in unknown if one.location}
            # `lint` reports some of these names, too.
            rest = (
                one
                for one in remarks
                if one.code != "KV042" or one.location is None or one.location.line not in lines
            )
            remarks = (*rest, *unknown)
        return remarks

    def _results(self, own: Source, others: Sequence[Source]) -> tuple[lsp.Diagnostic, ...]:
        """Return the failed results of the workspace's policies on the manifests in a text."""
        if not self._rules.shows_results or len(own.text) > _LARGEST or not holds_manifests(own):
            return ()
        return tuple(shown_findings(findings_on(own, self._policies(others)), own.text))

    def _policies(self, others: Sequence[Source]) -> WorkspacePolicies:
        given = tuple(others)
        if self._compiled is None or self._compiled[0] != given:
            self._compiled = given, compile_workspace(given, self._rules)
        return self._compiled[1]

    async def run_tests(self, uri: str, line: int = 0) -> tuple[ManifestOutcome, ...]:
        """Return the outcomes of the tests in a document, and show failed rows in it.

        With `line`, which counts from 1, only the row on this line is run.
        """
        own = self.source(uri)
        outcomes = await self._evaluate_apart(lambda: run_tests_in(own, line), _NO_OUTCOMES)
        if self.is_open(uri) and self.source(uri) == own:
            self._failures[uri] = tuple(failures_of(outcomes))
            self.schedule_check(uri, 0)
        return outcomes

    async def report(self, uri: str) -> str:
        """Return a page with the results of a test or of manifests, "" if it fails."""
        own = self.source(uri)
        others = self._others(own)
        return await self._evaluate_apart(lambda: report_on(own, others, self._rules), "")

    def can_be_fixed(self, remark: Diagnostic, own: Source) -> bool:
        """Return whether the fix of a diagnostic works; other files are not checked again."""
        return can_be_fixed(remark, own, lambda source: self._remarks(source, ()))

    def close(self, uri: str) -> None:
        """Forget a document and its diagnostics."""
        self._cancel_check(uri)
        self.found.pop(uri, None)
        self._failures.pop(uri, None)
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
    """Yield a quick fix for each diagnostic in a range that has one.

    It is a fix of `lint --fix`, which is preferred, or the name that the message suggests.
    """
    document, source = session.document(uri), session.source(uri)
    for remark, published in session.found.get(uri, ()):
        start, end = published.range.start.line, published.range.end.line
        if not (start <= requested.end.line and requested.start.line <= end):
            continue
        fixable = with_suggestion(remark, source)
        if fixable.fix is None or not session.can_be_fixed(fixable, source):
            continue
        edits = [
            lsp.TextEdit(for_client(document, _range(one)), one.text) for one in fixable.fix.edits
        ]
        yield lsp.CodeAction(
            title=fixable.fix.title,
            kind=lsp.CodeActionKind.QuickFix,
            diagnostics=[published],
            is_preferred=remark.fix is not None,
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
