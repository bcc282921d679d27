"""A process that evaluates input with a limit on time and memory.

It starts before the first query, and is replaced after it was killed.
"""

import contextlib
import multiprocessing
import os
import signal
import sys
from collections.abc import Iterable, Iterator, Sequence
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from kyvsim.api.apply import render_run
from kyvsim.api.explain import explained_run
from kyvsim.api.inline_inputs import Typed, explain_typed, simulate_typed, sources_of
from kyvsim.api.workspace import remarks_on
from kyvsim.lsp.document import read_text, span_of
from kyvsim.lsp.hints import completions_at
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.ports import fault_text
from kyvsim.model.result import EngineResponse
from kyvsim.model.source import Location
from kyvsim.report.explain import banner, object_part
from kyvsim.report.finding import WEIGHTS, Finding, finding_of
from kyvsim.report.page import ending_of, fragment
from kyvsim.report.results import QUIET, compile_rows
from kyvsim.report.run import Lists, Run
from kyvsim.report.run_html import streaming_page, values_of
from kyvsim.report.style import RenderOptions
from kyvsim.report.timeline_formats import columns
from kyvsim.report.timeline_formats import values_of as timeline_values
from kyvsim.report.timeline_rows import (
    NOT_BEGUN,
    SimulationTerms,
    TimelineOptions,
    simulation_ending,
)


class Mark(NamedTuple):
    """A diagnostic or failed result in the gutter of an editor; lines and columns count from 1."""

    text: str
    """The name of the text: `policies`."""
    line: int
    column: int
    end: int
    """The exclusive end, on the same line."""
    severity: str
    message: str


class PageUpdate(NamedTuple):
    """The content that replaces the previous result."""

    html: str
    style: str = ""
    """The CSS it needs in addition to the page's own."""
    marks: tuple[Mark, ...] = ()


def _marks(
    typed: Typed, diagnostics: Iterable[Diagnostic], findings: Iterable[Finding] = ()
) -> tuple[Mark, ...]:
    """Return the marks of a run: those of `lint`, as in other editors, and those of results."""
    sources = sources_of(typed)
    lines = {one.name: one.text.split("\n") for one in sources}
    found: list[tuple[Location | None, str, str]] = []
    for own in sources:
        others = tuple(one for one in sources if one is not own)
        linted = (one for one in remarks_on(own, others) if one not in diagnostics)
        found += [(one.location, one.severity, f"{one.code}: {one.message}") for one in linted]
    found += [(one.location, one.severity, f"{one.code}: {one.message}") for one in diagnostics]
    for one in findings:
        text = f"{one.shown_name}: {one.shown_text or one.row.status}"
        found.append((one.location, one.weight, text))
    marks: dict[Mark, None] = {}
    for place, severity, message in found:
        if place is not None and place.file in lines:
            line, column, end = span_of(place, lines[place.file])
            name = place.file.removesuffix(".yaml")
            marks[Mark(name, line + 1, column + 1, end + 1, severity, message)] = None
    return tuple(marks)


def _findings(run: Run, response: EngineResponse) -> Iterator[Finding]:
    for row in compile_rows(audit_warn=run.audit_warn, hidden=QUIET)(response):
        if row.status in WEIGHTS:
            yield finding_of(row, response, run.explain)


def _verdicts(typed: Typed) -> PageUpdate:
    run, options = explained_run(explain_typed(typed)), RenderOptions(detailed=True)
    findings: list[Finding] = []

    def noted() -> Iterator[EngineResponse]:
        for response in run.responses:
            findings.extend(_findings(run, response))
            yield response

    def tail(lists: Lists) -> Iterator[str]:
        yield fragment("playground_verdicts.html", **values_of(run, options, lists))

    parts = streaming_page(run, options, tail)
    rendered = render_run(run._replace(responses=noted()), (parts,))
    html = "".join(piece for _, piece in rendered)
    return PageUpdate(html, marks=_marks(typed, run.all_diagnostics(), findings))


def _reasons(typed: Typed) -> PageUpdate:
    found = explain_typed(typed)
    explained = tuple(found.objects)
    objects = tuple(map(object_part, explained))
    diagnostics = found.run.all_diagnostics()
    html = fragment(
        "playground_reasons.html",
        objects=objects,
        diagnostics=diagnostics,
        ending=banner(objects, diagnostics),
    )
    findings = (one for obj in explained for one in _findings(found.run, obj.response))
    return PageUpdate(html, marks=_marks(typed, diagnostics, findings))


def _timeline(typed: Typed) -> PageUpdate:
    found = simulate_typed(typed)
    simulation, diagnostics = found.simulation, found.diagnostics
    ending = ending_of(
        simulation_ending(simulation or NOT_BEGUN, SimulationTerms(tuple(diagnostics)))
    )
    values: dict[str, Any] = {"simulation": None}
    style = ""
    if simulation is not None:
        values = timeline_values(simulation, TimelineOptions())
        style = columns(len(values["lanes"].names))
    html = fragment("playground_timeline.html", diagnostics=diagnostics, ending=ending, **values)
    return PageUpdate(html, style, _marks(typed, diagnostics))


VIEWS: Final = MappingProxyType({"verdicts": _verdicts, "reasons": _reasons, "timeline": _timeline})
"""The tabs of the page, and the functions that render them."""


# A sandbox: the process opens no files, connections or other processes.
# Policies, values and scenarios can refer to files. `kyvsim/api/inline_inputs.py` rejects these;
# this is the second line of defence.

_NEVER: Final = (
    "socket.", "subprocess.", "os.exec", "os.fork", "os.posix_spawn", "os.spawn", "os.startfile",
    "os.system", "pty.", "ctypes.", "shutil.", "tempfile.",
)  # fmt: skip
"""Prefixes of forbidden audit events; https://docs.python.org/3/library/audit_events.html."""
_CHANGING: Final = frozenset(
    {"os.chmod", "os.chown", "os.link", "os.mkdir", "os.remove", "os.rename", "os.rmdir"}
    | {"os.symlink", "os.truncate", "os.utime"}
)
_WRITING: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def confine() -> None:
    """Permanently restrict this process to reading code and data of installed packages.

    Everything else raises PermissionError.
    """
    package = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
    beside = os.path.dirname(package)
    # The working directory contains users' files: nothing is imported from there.
    here = os.path.realpath(os.curdir)
    sys.path[:] = [one for one in sys.path if one and os.path.realpath(one) != here]
    if beside not in sys.path:
        sys.path.append(beside)
    folders = [os.path.realpath(one) for one in sys.path if os.path.realpath(one) != beside]
    readable = (*folders, package)

    def watch(event: str, arguments: Sequence[object]) -> None:
        if event == "open":
            mode, flags = arguments[1], arguments[2]
            by_mode = isinstance(mode, str) and bool(set(mode) & set("wax+"))
            writes = by_mode or (isinstance(flags, int) and bool(flags & _WRITING))
            allowed = not writes and _is_within(arguments[0], readable)
        elif event in {"os.listdir", "os.scandir", "os.walk", "glob.glob"}:
            allowed = _is_within(arguments[0], (*readable, beside), also_itself=True)
        else:
            allowed = not event.startswith(_NEVER) and event not in _CHANGING
        if not allowed:
            raise PermissionError(1, "files are not read here")

    sys.addaudithook(watch)


def _is_within(path: object, folders: Sequence[str], *, also_itself: bool = False) -> bool:
    """Return whether a path is in a folder; descriptors of open files are accepted."""
    if isinstance(path, int):
        return True
    if not isinstance(path, str | bytes | os.PathLike):
        return False
    real = os.path.realpath(os.fsdecode(path))
    inside = any(real.startswith(one + os.sep) for one in folders)
    return inside or (also_itself and real in folders)


class PageQuery(NamedTuple):
    """A query of the page."""

    typed: Typed
    view: str

    def answer(self) -> dict[str, Any]:
        """Return the content of the view, a PageUpdate for JSON."""
        update = VIEWS[self.view](self.typed)
        return {**update._asdict(), "marks": [one._asdict() for one in update.marks]}


class CompletionQuery(NamedTuple):
    """A query for completions at a position of a text; line and column count from 1."""

    text: str
    line: int
    column: int

    def answer(self) -> list[dict[str, Any]]:
        """Return the completions, whose `column` counts from 1, too."""
        found = completions_at(read_text(self.text), self.line - 1, self.column - 1)
        return [one._replace(column=one.column + 1)._asdict() for one in found]


try:
    import resource
except ImportError:  # not available on Windows
    _CAN_LIMIT = False
else:
    _CAN_LIMIT = True

SECONDS: Final = 10.0  # for an evaluation
_PATIENCE: Final = 60.0  # seconds until a process must have started
_MEMORY: Final = 2 << 30
"""Memory limit of the process in bytes, if the system supports one."""


class NoAnswerError(Exception):
    """An evaluation without a result; the message explains why."""


class _Worker(NamedTuple):
    process: BaseProcess
    connection: Connection


class Evaluator:
    """Evaluates one query at a time."""

    __slots__ = ("_is_ready", "_seconds", "_worker")

    def __init__(self, seconds: float = SECONDS) -> None:
        self._seconds = seconds
        self._is_ready = False
        self._worker = _begun()

    def evaluate(self, query: PageQuery | CompletionQuery) -> Any:
        """Return the answer of the query, for JSON; raises NoAnswerError."""
        connection = self._worker.connection
        try:
            if not self._is_ready:
                self._is_ready = connection.poll(_PATIENCE) and connection.recv()
            connection.send(query)
            if not connection.poll(self._seconds):
                self._renew()
                text = f"stopped: evaluation took longer than {self._seconds:g} seconds"
                raise NoAnswerError(text)
            found = connection.recv()
        except (EOFError, OSError):
            self._renew()
            raise NoAnswerError("evaluation crashed: it may have run out of memory") from None
        if isinstance(found, str):
            raise NoAnswerError(found)
        return found

    def close(self) -> None:
        """End the process."""
        _end(self._worker)

    def _renew(self) -> None:
        _end(self._worker)
        self._is_ready = False
        self._worker = _begun()


def _begun() -> _Worker:
    # A new interpreter: it inherits nothing from this one, in particular no connections.
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_work, args=(theirs, sys.getrecursionlimit()), daemon=True)
    process.start()
    theirs.close()
    return _Worker(process, ours)


def _end(worker: _Worker) -> None:
    worker.connection.close()
    worker.process.kill()
    worker.process.join()


def _work(connection: Connection, calls: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.setrecursionlimit(calls)
    if _CAN_LIMIT:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    confine()
    with contextlib.suppress(EOFError, OSError):
        connection.send(True)
        while True:
            query = connection.recv()
            try:
                result = query.answer()
            except Exception as error:  # noqa: BLE001 — INVARIANT: no input ends the process
                result = fault_text(error)
            connection.send(result)
