"""Parts of the resources of a run, rendered separately and by several processes.

A part consists of blocks, of which one at a time is in memory, or of resources that are already in
memory. Its result is pieces of the output and a PartTotals. Joined in the order of their parts, the
pieces are the output of the whole run; if they cannot be, NotStreamable is raised.
"""

import pickle
import struct
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import as_completed
from contextvars import ContextVar
from functools import partial
from itertools import chain
from typing import Any, Final, NamedTuple, Protocol, TypeAlias, TypeVar

from kyvsim.api.apply import Compiled, counted_responses, explaining, failure_marker, responses_of
from kyvsim.api.inputs import ApplyInputs, ReadInputs, objects_of
from kyvsim.api.process_pool import ProcessLostError, ProcessPool
from kyvsim.api.refused_objects import RefusedObjects
from kyvsim.engine.compile import CompiledPolicy, PolicySet
from kyvsim.engine.world import RecordingView, view_of_part
from kyvsim.kubernetes.discovery import KindTable, crd_kinds
from kyvsim.kubernetes.objects import KubernetesObject, metadata, text_field
from kyvsim.load.blocks import FileBlock, Indivisible, load_block
from kyvsim.load.resources import LoadedText
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.result import EngineResponse
from kyvsim.model.source import Document, Location
from kyvsim.report.run import (
    DocumentSet,
    FailureMarker,
    NotStreamable,
    RenderedRun,
    ResultCounts,
    Run,
    StreamingDocument,
)

_Part = TypeVar("_Part")
Example: TypeAlias = tuple[str, str, str]
"""API version, kind and name; "" for a name that values do not refer to."""
KindVersion: TypeAlias = tuple[str, str]
"""apiVersion and kind."""

PARTS_EACH: Final = 8
"""Parts per process; several, so that all processes end at about the same time."""
SHARED: Final = frozenset({"Namespace", "CustomResourceDefinition", "GlobalContextEntry"})
"""Kinds of objects that affect other objects without lookups."""
_NEEDED_WHOLE: Final = frozenset({"GlobalContextEntry"})
"""The kinds in SHARED for which all resources have to be read as a whole."""


class NeedsMoreObjects(Exception):  # noqa: N818 — not an error: the run begins again
    """A rule looked up objects that are not available in parts."""

    def __init__(self, kinds: frozenset[str], rule: str = "") -> None:
        super().__init__(kinds, rule)  # arguments are needed for pickling
        self.kinds = kinds
        self.rule = rule


class PartWork(NamedTuple):
    """The data shared by all parts."""

    inputs: ApplyInputs
    read: ReadInputs
    kinds: frozenset[str]
    """The kinds of objects available in all parts: those in SHARED, and those that rules look up.
    """
    shared: tuple[Document, ...]
    versions: tuple[KindVersion, ...]
    """The kinds of all objects, by first object; () if no rule depends on which kinds there are."""
    compiled: Compiled
    run: Run
    documents: DocumentSet

    def view(self) -> RecordingView:
        """Return the objects that rules can read in every part."""
        read, shared = self.read, objects_of(self.shared)
        if self.versions:
            of_kind: dict[KindVersion, list[KubernetesObject]] = {one: [] for one in self.versions}
            for obj in shared:
                of_kind.setdefault((obj["apiVersion"], obj["kind"]), []).append(obj)
            for (version, kind), objects in of_kind.items():
                if not objects:
                    objects.append({"apiVersion": version, "kind": kind})
            shared = tuple(chain.from_iterable(of_kind.values()))
        others = objects_of((*read.targets, *read.shared_data))
        return view_of_part(self.kinds, (*shared, *others), read.definitions)


class PartTotals:
    """The counts and diagnostics of a part, or of several in the order of their addition."""

    def __init__(self, *, audit_warn: bool, is_final: bool = True) -> None:
        self.refused = RefusedObjects(is_final=is_final)
        self.remarks: list[Diagnostic] = []
        self.problems: list[Diagnostic] = []
        self.resources = 0
        self.examples: dict[Example, None] = {}
        """API versions and kinds of resources, with those names that values refer to."""
        self.files: dict[str, None] = {}
        self.result_counts = ResultCounts(audit_warn=audit_warn)
        self.lists: dict[tuple[int, str], None] = {}
        """The lists after the results that have entries: index of the format, and name."""

    def add_block(self, file: str, loaded: LoadedText, names: frozenset[str]) -> None:
        """Add the resources of a block; `names` are the names that values refer to."""
        self.remarks += loaded.remarks
        self.problems += loaded.problems
        self.resources += len(loaded.resources)
        self.refused.add(loaded.resources)
        for document in loaded.resources:
            name = text_field(metadata(document.data), "name") if names else ""
            shown = name if name in names else ""
            self.examples[document.data["apiVersion"], document.data["kind"], shown] = None
        if any(loaded):
            self.files[file] = None

    def add(self, partial: "PartTotals") -> None:
        """Add the next part."""
        self.remarks += partial.remarks
        self.problems += partial.problems
        self.resources += partial.resources
        self.examples |= partial.examples
        self.files |= partial.files
        self.result_counts.add(partial.result_counts)
        self.lists |= partial.lists
        self.refused.merge(partial.refused.found)

    @property
    def versions(self) -> tuple[KindVersion, ...]:
        """The kinds of the resources, by their first object."""
        return tuple(dict.fromkeys((version, kind) for version, kind, _ in self.examples))

    def objects(self) -> tuple[KubernetesObject, ...]:
        """Return an object for each example."""
        return tuple(
            {"apiVersion": version, "kind": kind, "metadata": {"name": name}}
            for version, kind, name in self.examples
        )


def shared_among(
    blocks: Iterable[FileBlock], read: ReadInputs, kinds: frozenset[str]
) -> tuple[Document, ...]:
    """Return the resources of some kinds in blocks that contain any; raises NotStreamable."""
    table = crd_kinds(read.definitions)
    # Only their data is read. Positions would keep the texts of the blocks in memory, which are
    # all texts if there is a Namespace in each.
    shared = tuple(
        Document(document.data, block.origin.name, document.number, lambda _: Location(""))
        for block in blocks
        if block.mentions
        for document in _loaded(block, table).resources
        if document.data["kind"] in kinds
    )
    if any(document.data["kind"] in _NEEDED_WHOLE for document in shared):
        raise NotStreamable("the resources contain a GlobalContextEntry")
    return shared


Watch: TypeAlias = Callable[[Iterator[Any], int], Iterator[Any]]
"""Yields the given items, whose number is the second argument, and may show the progress."""


class Sink(Protocol):
    """Receives the output of a part."""

    def write(self, number: int, piece: str) -> None:
        """Write the next piece of the text in the format with this index."""

    def note(self, number: int, name: str, entries: Iterable[str]) -> None:
        """Add the next entries of a list of that format, which are texts of one line."""


RenderPart: TypeAlias = Callable[[_Part, Sink], PartTotals]
"""Writes the output of a part and returns its PartTotals. Raises NeedsMoreObjects if the run can
begin again with more objects, or NotStreamable.
"""


def compile_render_part(work: PartWork) -> RenderPart[Iterable[FileBlock]]:
    """Return a function that renders parts in order.

    A process uses one for all of its parts, so that explanations are compiled once.
    """
    entries = work.read.values.entries if work.read.values else ()
    names = frozenset(entry.name for entry in entries if entry.kind == "resource")
    cluster = work.view()
    explain = explaining(work.inputs, work.read, cluster)
    documents = work.documents.begin(work.run._replace(is_part=True, explain=explain))

    def render_part(part: Iterable[FileBlock], sink: Sink) -> PartTotals:
        is_final = not work.compiled.policies.mutates
        totals = PartTotals(audit_warn=work.inputs.audit_warn, is_final=is_final)
        marker = failure_marker(work.inputs, work.read, totals.result_counts)
        responses = _responses(work, part, (totals, names), cluster)
        render_responses(responses, documents, marker, sink, totals)
        return totals

    return render_part


def render_responses(
    responses: Iterable[EngineResponse],
    documents: Sequence[StreamingDocument],
    marker: FailureMarker | None,
    sink: Sink,
    totals: PartTotals,
) -> None:
    """Write the output for the responses of a part, and count their results."""
    counts = totals.result_counts
    for response in counted_responses(responses, counts, marker):
        for number, document in enumerate(documents):
            _write(number, document.row(response), document, sink, totals.lists)
    for number, document in enumerate(documents):
        _write(number, document.counted(), document, sink, totals.lists)
    totals.result_counts = counts.closed()


def _write(
    number: int,
    piece: str,
    document: StreamingDocument,
    sink: Sink,
    filled: dict[tuple[int, str], None],
) -> None:
    """Write a piece of a document and its new list entries; record which lists have entries."""
    if piece:
        sink.write(number, piece)
    for name, entries in document.lists.items():
        if entries:
            filled[number, name] = None
            sink.note(number, name, entries)
            entries.clear()


def _responses(
    work: PartWork,
    part: Iterable[FileBlock],
    seen: tuple[PartTotals, frozenset[str]],
    cluster: RecordingView,
) -> Iterator[EngineResponse]:
    """Yield the responses to the resources of a part, of which one block at a time is in memory.

    Raises NotStreamable for results that depend on other objects.
    """
    table = crd_kinds(work.read.definitions)
    for block in part:
        loaded = _loaded(block, table)
        seen[0].add_block(block.origin.name, loaded, seen[1])
        if not block.mentions and any(one.data["kind"] in work.kinds for one in loaded.resources):
            raise NotStreamable(f"{block.origin.name} can only be read as a whole")
        read = work.read._replace(resources=loaded.resources)
        responses = responses_of(work.compiled.policies, read, work.inputs, cluster)
        try:
            yield from without_lookups(responses, cluster)
        except NeedsMoreObjects as needed:
            raise NeedsMoreObjects(needed.kinds, _first_lookup(work, loaded.resources)) from None


def _first_lookup(work: PartWork, documents: Iterable[Document]) -> str:
    """Return the first rule that looks up other objects, as `policy/rule`, or ""."""
    for document in documents:
        read = work.read._replace(resources=(document,))
        for policy in work.compiled.policies.policies:
            for rule in policy.of_kind(document.data["kind"]):
                cluster = work.view()
                alone_with_it = PolicySet((CompiledPolicy(policy.policy, (rule,)),))
                for _ in responses_of(alone_with_it, read, work.inputs, cluster):
                    pass
                if cluster.queried:
                    return "/".join(filter(None, (policy.policy.key, rule.rule.name)))
    return ""


def _loaded(block: FileBlock, kinds: KindTable) -> LoadedText:
    try:
        return load_block(block, kinds)
    except Indivisible as error:
        raise NotStreamable(f"{block.origin.name} can only be read as a whole") from error


def without_lookups(
    responses: Iterable[EngineResponse], cluster: RecordingView
) -> Iterator[EngineResponse]:
    """Yield responses; raises NeedsMoreObjects if a rule looked up other objects of the run."""
    for response in responses:
        if cluster.queried:
            raise NeedsMoreObjects(frozenset(cluster.queried))
        yield response
    if cluster.queried:
        # For objects without a response.
        raise NeedsMoreObjects(frozenset(cluster.queried))


_BUFFER: Final = 1 << 16
_ERRORS: Final = "surrogatepass"
"""Error handler for encoding and decoding; it preserves lone surrogates."""
_HEAD: Final = struct.Struct(">BI")
"""Header of each record: the sizes of its name and of its content, in bytes."""
_FOOTER: Final = struct.Struct(">Q")
"""End of the file: the offset of the PartTotals."""
_TEXT: Final = ""


class PartText:
    """A file of records that is written by one process and read by another when it is complete.

    Each record contains a part of the text in one format, or of a list after it. Forked processes
    share the position in the file, so it has no buffer, which would move the position when one of
    them closes it.
    """

    __slots__ = ("_file", "_sizes", "_waiting")

    def __init__(self) -> None:
        """Create the file; raises OSError if that is impossible."""
        self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 — closed with this object
        self._waiting: dict[str, list[str]] = {}
        self._sizes: dict[str, int] = {}

    def __del__(self) -> None:
        """Close the file, which deletes it."""
        if hasattr(self, "_file"):
            self._file.close()

    def write(self, number: int, piece: str) -> None:
        """Write the next piece of the text in the format with this index."""
        self._put(_label(number, _TEXT), piece)

    def note(self, number: int, name: str, entries: Iterable[str]) -> None:
        """Add the next entries of a list of that format, which are texts of one line."""
        label = _label(number, name)
        for entry in entries:
            self._put(label, f"{entry}\n")

    def _put(self, name: str, piece: str) -> None:
        self._waiting.setdefault(name, []).append(piece)
        size = self._sizes[name] = self._sizes.get(name, 0) + len(piece)
        if size >= _BUFFER:
            self._flush(name)

    def _flush(self, name: str) -> None:
        data = "".join(self._waiting[name]).encode("utf-8", _ERRORS)
        self._waiting[name], self._sizes[name] = [], 0
        label = name.encode()
        self._write(_HEAD.pack(len(label), len(data)) + label + data)

    def _write(self, data: bytes) -> None:
        written = 0
        while written < len(data):
            written += self._file.write(data[written:])

    def end(self, partial: PartTotals) -> None:
        """Add the PartTotals, which completes the file."""
        for name in self._waiting:
            self._flush(name)
        place = self._file.tell()
        self._write(pickle.dumps(partial) + _FOOTER.pack(place))

    def partial(self) -> PartTotals:
        """Return the PartTotals."""
        self._file.seek(self._end())
        data = self._file.read()
        partial: PartTotals = pickle.loads(data)  # noqa: S301 — no other process can write to it
        return partial

    def pieces(self, number: int) -> Iterator[str]:
        """Yield the text in a format, in pieces of some thousand characters."""
        return self._records(_label(number, _TEXT))

    def entries(self, number: int, name: str) -> Iterator[str]:
        """Yield the entries of a list of that format."""
        for lines in self._records(_label(number, name)):
            yield from lines.split("\n")[:-1]

    def _end(self) -> int:
        self._file.seek(-_FOOTER.size, 2)
        place: int = _FOOTER.unpack(self._file.read(_FOOTER.size))[0]
        return place

    def _records(self, name: str) -> Iterator[str]:
        at, end, label = 0, self._end(), name.encode()
        while at < end:
            self._file.seek(at)
            label_size, size = _HEAD.unpack(self._file.read(_HEAD.size))
            if self._file.read(label_size) == label:
                yield self._file.read(size).decode("utf-8", _ERRORS)
            at += _HEAD.size + label_size + size


def _label(number: int, name: str) -> str:
    return f"{number} {name}"


def totals_of(texts: Iterable[PartText], inputs: ApplyInputs, read: ReadInputs) -> PartTotals:
    """Return the totals of all parts; raises NotStreamable if parts marked known failures wrongly.

    A part does not know how often a failure of the baseline occurred in earlier parts.
    """
    totals = PartTotals(audit_warn=inputs.audit_warn)
    for text in texts:
        totals.add(text.partial())
    matches = totals.result_counts.matches
    if matches and not matches.is_certain(read.baseline):
        raise NotStreamable("baseline entries can only be matched with all results")
    return totals


def joined(texts: Sequence[PartText], totals: PartTotals, formats: int) -> RenderedRun:
    """Return the output of all parts, in order."""
    numbers = range(formats)
    pieces = [_OfAllParts(partial(PartText.pieces, number=number), texts) for number in numbers]
    lists: list[dict[str, _OfAllParts]] = [{} for _ in numbers]
    for number, name in totals.lists:
        entries = partial(PartText.entries, number=number, name=name)
        lists[number][name] = _OfAllParts(entries, texts)
    return RenderedRun(pieces, lists)


class _OfAllParts:
    """The texts that `read` yields of each part; can be read several times."""

    def __init__(
        self, read: Callable[[PartText], Iterator[str]], parts: Sequence[PartText]
    ) -> None:
        self._read = read
        self._parts = parts

    def __iter__(self) -> Iterator[str]:
        return chain.from_iterable(map(self._read, self._parts))


# Parts rendered by several processes, which are forked when the policies are compiled. Each one
# writes to an unnamed file, so that no file is left if a process is killed.


class DistributionError(Exception):
    """Processes cannot share the work, for the given reason."""


_WORKER: ContextVar[tuple[RenderPart[Any], Sequence[object], Sequence[PartText]]] = ContextVar(
    "worker"
)


def rendered_by_processes(
    begin: Callable[[], RenderPart[_Part]],
    parts: Sequence[_Part],
    texts: Sequence[PartText],
    jobs: int,
) -> Iterator[int]:
    """Render parts in `jobs` processes; yield the index of each completed part.

    Each process renders its parts with its own result of `begin`. Raises DistributionError, and
    what rendering raises.
    """
    try:
        start = partial(_start_worker, begin, parts, texts)
        with ProcessPool(min(jobs, len(parts)), start) as pool:
            futures = {
                pool.submit(_render_numbered, number): number for number in range(len(parts))
            }
            for future in as_completed(futures):
                future.result()
                yield futures[future]
    except ProcessLostError as error:
        raise DistributionError(str(error)) from error
    except OSError as error:
        problem = error.strerror or error
        raise DistributionError(f"a file could not be read or written: {problem}") from error


def _start_worker(
    begin: Callable[[], RenderPart[_Part]], parts: Sequence[_Part], texts: Sequence[PartText]
) -> None:
    _WORKER.set((begin(), parts, texts))


def _render_numbered(number: int) -> None:
    """Render a part into its file, so that a killed process does not block others."""
    render_part, parts, texts = _WORKER.get()
    text = texts[number]
    text.end(render_part(parts[number], text))
