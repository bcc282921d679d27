"""The folder of a run: its plan, its partial reports, and its end.

Files are written atomically, by a rename or an upload. Damaged files count as missing.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from kyvsim import __version__
from kyvsim.fleet import FleetError, ReadError
from kyvsim.fleet.files import LocalFiles, is_url, storage_of
from kyvsim.fleet.partials import FORMATS, diagnostic_of, rows_in
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.partial import Head, Key, Partial, ReportRow
from kyvsim.model.release import NEWEST
from kyvsim.report.diagnostics import diagnostic_json

_REMARKS = ("before", "after", "left_out")


class RunPlan(NamedTuple):
    """The plan of a run; it is stored before any report."""

    run: str
    assignment: str
    everything: bool
    """Whether all rows are reported."""
    audit_warn: bool
    piece_size: int
    rules: int
    exceptions: int
    before: tuple[Diagnostic, ...]
    """Diagnostics of policies and options that precede those of resources."""
    after: tuple[Diagnostic, ...]
    left_out: tuple[Diagnostic, ...]
    """Diagnostics of files in policy folders that were ignored."""
    files: Mapping[str, tuple[int, str]]
    """Size and stamp of each file, by name."""
    version: str = __version__
    release: str = NEWEST.name
    """The release of Kyverno that is emulated."""
    deprecated: tuple[str, ...] = ()
    """What that release reports about deprecated kinds: a line for each document."""


class RunEnd(NamedTuple):
    """Diagnostics of a finished run."""

    run: str
    remarks: tuple[Diagnostic, ...]
    """Those before the results."""
    last: tuple[Diagnostic, ...]
    """Those after them."""


try:
    import fcntl
except ImportError:  # not available on Windows
    _CAN_LOCK = False
else:
    _CAN_LOCK = True

Heads: TypeAlias = Mapping[Key, Head]
_PLAN = "run.json"
_END = "end.json"
_LOCK = ".lock"
_UNSAFE = re.compile(r"[^\w.-]+")
_BY_SUFFIX = MappingProxyType({one.suffix: one for one in FORMATS.values()})


class ReportStore:
    """The files of one folder."""

    __slots__ = ("_files", "_format", "_places", "folder")

    def __init__(self, folder: str, form: str = "jsonl") -> None:
        self.folder = folder
        self._files = storage_of(folder)
        self._format = FORMATS[form]
        self._places: dict[Key, str] = {}

    def plan(self) -> RunPlan | None:
        """Return the plan, None if there is no run yet."""
        try:
            content = json.loads(self._read(_PLAN))
            content |= {name: tuple(map(diagnostic_of, content[name])) for name in _REMARKS}
            sizes = content["files"].items()
            files = {name: (int(size), str(stamp)) for name, (size, stamp) in sizes}
            deprecated = tuple(map(str, content.get("deprecated", ())))
            return RunPlan(**{**content, "files": files, "deprecated": deprecated})
        except (ValueError, KeyError, TypeError, AttributeError):
            return None

    def begin(self, plan: RunPlan) -> None:
        """Write the plan; raises FleetError."""
        self._format.write(Partial(_EMPTY))  # report a missing package now, not after an hour
        self._files.make_folder(self.folder)
        content = plan._asdict()
        content |= {name: [*map(diagnostic_json, content[name])] for name in _REMARKS}
        self._write(_PLAN, content)

    def end(self) -> RunEnd | None:
        """Return the end of the run, None if it is not finished."""
        try:
            content = json.loads(self._read(_END))
            remarks, last = (
                tuple(map(diagnostic_of, content[name])) for name in ("remarks", "last")
            )
            return RunEnd(str(content["run"]), remarks, last)
        except (ValueError, KeyError, TypeError):
            return None

    def finish(self, end: RunEnd) -> None:
        """Write the end; raises FleetError if another run has started here."""
        plan = self.plan()
        if plan is None or plan.run != end.run:
            raise FleetError(f"{self.folder}: another run also writes its partial reports there")
        remarks, last = (list(map(diagnostic_json, some)) for some in (end.remarks, end.last))
        self._write(_END, {"run": end.run, "remarks": remarks, "last": last})

    def write(self, partial: Partial) -> None:
        """Write a report, replacing an older one on the same piece; raises FleetError."""
        file, first, last = partial.head.key
        content = hashlib.sha256(f"{file}\0{first}\0{last}".encode("utf-8", "surrogatepass"))
        shown = _UNSAFE.sub("_", file.rpartition("/")[2])[:60].lstrip(".")
        name = f"{shown}-{first}-{content.hexdigest()[:16]}"
        place = self._place(name + self._format.suffix)
        self._files.write(place, self._format.write(partial))
        self._places[partial.head.key] = place

    def heads(self, plan: RunPlan) -> Heads:
        """Return the heads of the reports that belong to a plan.

        Reports on other files, or on files that have changed, are skipped. Raises FleetError for
        one with other policies or options, or of another version of kyvsim.
        """
        found: dict[Key, Head] = {}
        for name in self._files.names_in(self.folder):
            form = _BY_SUFFIX.get(os.path.splitext(name)[1])
            partial = form.read(self._read(name)) if form else None
            if partial and partial.head.assignment != plan.assignment:
                text = "a partial report of different policies, options or versions"
                raise FleetError(f"{self._place(name)}: {text}: use another folder")
            known = plan.files.get(partial.head.file) if partial else None
            # The report counts if it was created for this content of the file.
            if partial and known and known[1] == partial.head.stamp:
                found[partial.head.key] = partial.head
                self._places[partial.head.key] = self._place(name)
        return found

    def rows(self, key: Key) -> Iterator[ReportRow]:
        """Yield the rows of a report; raises FleetError if it was removed or changed."""
        place = self._places[key]
        form = _BY_SUFFIX[os.path.splitext(place)[1]]
        partial = form.read(self._read(place.removeprefix(f"{self.folder.rstrip('/')}/")))
        if partial is None:
            raise FleetError(f"{place}: the partial report changed while it was read")
        yield from rows_in(partial.rows)

    def is_used(self) -> bool:
        """Return whether the folder has files of a run."""
        names = self._files.names_in(self.folder)
        return any(one == _PLAN or os.path.splitext(one)[1] in _BY_SUFFIX for one in names)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the folder on this machine; raises FleetError if another run has locked it."""
        if is_url(self.folder):
            yield  # object storages have no locks: `finish` notices another run
            return
        self._files.make_folder(self.folder)
        if not _CAN_LOCK:
            yield
            return
        try:
            file = open(self._place(_LOCK), "ab")  # noqa: SIM115 — it is closed below
        except OSError as error:
            raise FleetError(f"cannot write to {self.folder}: {error.strerror}") from None
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                text = "another run is writing its partial reports there"
                raise FleetError(f"{self.folder}: {text}") from None
            LocalFiles.remove_passing(self.folder)  # no other run writes there now
            yield

    def _place(self, name: str) -> str:
        return f"{self.folder.rstrip('/')}/{name}"

    def _write(self, name: str, content: object) -> None:
        self._files.write(self._place(name), f"{json.dumps(content, indent=1)}\n".encode())

    def _read(self, name: str) -> bytes:
        try:
            return self._files.read(self._place(name), 0, None)
        except ReadError:
            return b""


_EMPTY = Head(file="", first=0, last=0, stamp="", assignment="", cluster="", lines=0)
