"""Split files into work items, and evaluate an item in a worker.

Codes: KV080 a file that cannot be read, or is damaged.
"""

import hashlib
import pickle
import posixpath
import zlib
from collections.abc import Iterable, Iterator
from enum import StrEnum
from functools import lru_cache
from threading import Lock
from typing import Final, NamedTuple

from kyvsim import __version__
from kyvsim.api.apply import Compiled, compiled_for, explaining, responses_of
from kyvsim.api.apply_parts import SHARED, NeedsMoreObjects, without_lookups
from kyvsim.api.inputs import ApplyInputs, ReadInputs, objects_of, read_inputs, shared_data_apart
from kyvsim.api.refused_objects import RefusedObjects
from kyvsim.engine.world import GivenObjects, view_of_part, view_of_whole
from kyvsim.fleet import OtherVersionError, ReadError
from kyvsim.fleet.files import InputFile, is_packed, read_piece
from kyvsim.fleet.partials import lines_of
from kyvsim.kubernetes.discovery import crd_kinds
from kyvsim.kubernetes.objects import KubernetesObject
from kyvsim.load.documents import AS_RESOURCES, parse_documents
from kyvsim.load.files import Source, decode, read_sources
from kyvsim.load.resources import LoadedText, resources_among
from kyvsim.model.diagnostic import Diagnostic, error_about
from kyvsim.model.partial import Head, Partial, ReportRow
from kyvsim.model.result import EngineResponse
from kyvsim.model.source import Document
from kyvsim.report.diagnostics import Explain
from kyvsim.report.fleet import NamespaceCounts, compile_report_rows
from kyvsim.report.run import NotStreamable, ResultCounts

# Split files into items: which pieces can be evaluated separately, and which files need others.

PIECE_BYTES: Final = 8 << 20
"""Bytes of a piece, which a worker evaluates in about a second."""


class WorkItem(NamedTuple):
    """A piece of one file, or all files of a cluster.

    A piece has the documents that begin in its bytes: one that begins later is in a later piece,
    wherever it ends.
    """

    cluster: str
    files: tuple[InputFile, ...]
    first: int
    last: int
    """The byte after the piece; for whole files the size of the last one."""
    alone: bool
    """Whether the cluster has objects in other items: rules must not read any then."""

    def head(self, file: InputFile, assignment: str) -> Head:
        """Return the head of a report on a file of the item, or on the piece."""
        last = self.last if self.alone else file.size
        return Head(file.name, self.first, last, file.stamp, assignment, self.cluster, lines=0)

    @property
    def size(self) -> int:
        """The number of bytes to evaluate."""
        return self.last - self.first if self.alone else sum(one.size for one in self.files)


class ClusterGrouping(StrEnum):
    """Which files are dumps of the same cluster, so that rules can read objects in all of them."""

    FILE = "file"
    FOLDER = "folder"
    ALL = "all"


def plan_items(
    files: Iterable[InputFile], per: ClusterGrouping, *, parted: bool, size: int
) -> list[WorkItem]:
    """Return the items of a run; if `parted`, rules read one object at a time.

    A cluster of up to `size` bytes is one item, as is any cluster if not `parted`. Files of larger
    ones are split every `size` bytes; compressed files cannot be split.
    """
    clusters: dict[str, list[InputFile]] = {}
    for one in files:
        folder = posixpath.dirname(one.name.replace("\\", "/")) or "."
        names = {ClusterGrouping.FILE: one.name, ClusterGrouping.FOLDER: folder}
        clusters.setdefault(names.get(per, "all"), []).append(one)
    found: list[WorkItem] = []
    for cluster, together in clusters.items():
        some = tuple(together)
        if not parted or sum(one.size for one in some) <= size:
            found.append(whole(cluster, some))
        else:
            found += [item for one in some for item in _pieces(cluster, one, some, size)]
    return found


def whole(cluster: str, files: tuple[InputFile, ...]) -> WorkItem:
    """Return the item of a cluster with all of its objects."""
    return WorkItem(cluster, files, 0, files[-1].size, alone=False)


def _pieces(
    cluster: str, file: InputFile, files: tuple[InputFile, ...], size: int
) -> Iterator[WorkItem]:
    if is_packed(file.name) or file.size <= size:
        yield WorkItem(cluster, (file,), 0, file.size, alone=len(files) > 1)
        return
    for first in range(0, file.size, size):
        yield WorkItem(cluster, (file,), first, min(first + size, file.size), alone=True)


def clusters_of(items: Iterable[WorkItem]) -> dict[str, tuple[InputFile, ...]]:
    """Return the files of each cluster, in order."""
    found: dict[str, dict[InputFile, None]] = {}
    for item in items:
        found.setdefault(item.cluster, {}).update(dict.fromkeys(item.files))
    return {cluster: tuple(files) for cluster, files in found.items()}


# The inputs that every worker of a run needs: policies and options, identified by a hash.
#
# They are pickled and sent as part of tasks, which are pickled, too.


class Ready(NamedTuple):
    """Compiled policies, ready to be evaluated on any objects."""

    inputs: ApplyInputs
    read: ReadInputs
    compiled: Compiled


def portable_inputs(inputs: ApplyInputs, stdin: bytes | None) -> ApplyInputs:
    """Return inputs with the contents of their files, and without resources.

    Files that cannot be read are omitted: the caller reads the inputs, too, and reports them.
    """

    def texts(*paths: str | Source) -> tuple[Source, ...]:
        found = read_sources(paths, stdin, inputs.walking)
        return tuple(one for one in found if isinstance(one, Source))

    def text(path: str | Source) -> str | Source:
        return next(iter(texts(path)), "") if path else ""

    return inputs._replace(
        policies=texts(*inputs.policies),
        resources=(),
        targets=texts(*inputs.targets),
        exceptions=texts(*inputs.exceptions),
        values_file=text(inputs.values_file),
        userinfo=text(inputs.userinfo),
        context_file=text(inputs.context_file),
        crd_paths=texts(*inputs.crd_paths),
        parameters=texts(*inputs.parameters),
    )


def prepare(inputs: ApplyInputs, stdin: bytes | None = None) -> Ready:
    """Read and compile the policies of inputs; resources are ignored."""
    read = read_inputs(inputs._replace(resources=()), stdin)
    return Ready(inputs, read, compiled_for(inputs, read))


class Assignment(NamedTuple):
    """Policies and options in a form that can be sent to workers."""

    digest: str
    """Equal for the same texts with the same names, the same options and the same version."""
    version: str
    packed: bytes
    everything: bool
    """Whether all rows are reported, not only failures."""


def assigned(
    inputs: ApplyInputs, stdin: bytes | None, *, everything: bool, per: ClusterGrouping
) -> Assignment:
    """Return the inputs of a run for workers, without resources."""
    texts = portable_inputs(inputs, stdin)
    identity = repr((__version__, everything, per.value, texts)).encode("utf-8", "surrogatepass")
    packed = zlib.compress(pickle.dumps(texts))
    return Assignment(hashlib.sha256(identity).hexdigest(), __version__, packed, everything)


@lru_cache(maxsize=4)
def ready_for(assignment: Assignment) -> Ready:
    """Return the compiled policies of an assignment, cached in each process.

    Raises OtherVersionError if it was created by another version of kyvsim.
    """
    if assignment.version != __version__:
        text = f"the run uses kyvsim {assignment.version}, but the worker has kyvsim {__version__}"
        raise OtherVersionError(text)
    texts: ApplyInputs = pickle.loads(zlib.decompress(assignment.packed))  # noqa: S301 — as tasks are
    return prepare(texts)


_ALONE: Final = Lock()
"""Only one thread evaluates policies, since compiled policies have caches."""
_ENDS: Final = "KV007"
"""An invalid separator: the rest of the file is ignored."""


class ItemOutcome(NamedTuple):
    """The result of an item."""

    partials: tuple[Partial, ...]
    needs_others: bool = False
    """Whether rules read objects that the item does not have: there is no result then."""


def are_shared(objects: Iterable[KubernetesObject]) -> bool:
    """Return whether some objects affect the results of others without being looked up."""
    return any(one["kind"] in SHARED for one in objects)


def evaluate(assignment: Assignment, item: WorkItem) -> ItemOutcome:
    """Evaluate an item; the result only depends on the two arguments and the files.

    Raises OtherVersionError.
    """
    with _ALONE:
        ready = ready_for(assignment)
        if not item.alone:
            return ItemOutcome(tuple(_together(assignment, ready, item)))
        head, found = _opened(assignment, ready, item, item.files[0])
        if found is None:
            return ItemOutcome((Partial(head),))
        if are_shared(one.data for one in found.resources):
            return ItemOutcome((), needs_others=True)
        read, view = ready.read._replace(resources=found.resources), view_of_part()
        responses = responses_of(ready.compiled.policies, read, ready.inputs, view)
        explain = explaining(ready.inputs, read, view)
        try:
            partial = _report(
                assignment, ready, head, found.resources, without_lookups(responses, view), explain
            )
        except (NeedsMoreObjects, NotStreamable):
            return ItemOutcome((), needs_others=True)
        return ItemOutcome((partial,))


def _together(assignment: Assignment, ready: Ready, item: WorkItem) -> Iterator[Partial]:
    """Yield the reports on all files of a cluster, whose objects rules can read."""
    heads = [_opened(assignment, ready, item, file) for file in item.files]
    documents = tuple(one for _, found in heads if found for one in found.resources)
    everything = objects_of((*documents, *ready.read.targets, *ready.read.shared_data))
    compiled = ready.compiled
    if crd_kinds(everything):
        compiled = compiled_for(ready.inputs, ready.read._replace(resources=documents))
    view = view_of_whole(GivenObjects(everything, ready.read.definitions))
    for head, found in heads:
        if found is None:
            yield Partial(head)
            continue
        read = ready.read._replace(resources=shared_data_apart(found.resources)[1])
        responses = responses_of(compiled.policies, read, ready.inputs, view)
        explain = explaining(ready.inputs, read, view)
        partial = _report(assignment, ready, head, found.resources, responses, explain)
        yield partial._replace(head=partial.head._replace(asked=bool(view.queried)))


def _opened(
    assignment: Assignment, ready: Ready, item: WorkItem, file: InputFile
) -> tuple[Head, LoadedText | None]:
    head = item.head(file, assignment.digest)
    try:
        data = read_piece(file, head.first, head.last)
    except ReadError as error:
        problem = error_about(file.name, "KV080", str(error))
        return head._replace(remarks=(problem,), failed=True), None
    head = head._replace(lines=data.count(b"\n"))
    source = decode(file.name, data)
    if isinstance(source, Diagnostic):
        return head._replace(remarks=(source,), refused=True), None
    kinds = crd_kinds(ready.read.definitions)
    found = resources_among(parse_documents(source, AS_RESOURCES), kinds)
    ended = any(one.code == _ENDS for one in found.remarks)
    return head._replace(remarks=found.remarks, problems=found.problems, ended=ended), found


def _report(
    assignment: Assignment,
    ready: Ready,
    head: Head,
    documents: tuple[Document, ...],
    responses: Iterator[EngineResponse],
    explain: Explain,
) -> Partial:
    """Return the report on objects; raises NotStreamable if the responses do."""
    audit_warn = ready.inputs.audit_warn
    result_counts = ResultCounts(audit_warn=audit_warn)
    tally = NamespaceCounts(audit_warn=audit_warn)
    rows_of = compile_report_rows(
        head.cluster, explain, audit_warn=audit_warn, everything=assignment.everything
    )

    def rows() -> Iterator[ReportRow]:
        for number, response in enumerate(responses):
            result_counts.add_response(response)
            tally.add_response(response)
            yield from rows_of(number, response)

    lines = lines_of(rows())
    refused = RefusedObjects(is_final=not ready.compiled.policies.mutates)
    refused.add(documents)
    head = head._replace(
        resources=tally.resources,
        unmatched=result_counts.unmatched,
        unchecked=result_counts.unchecked,
        counts=tally.counts(),
        objects=_kinds_shown(documents),
        refusals=refused.found,
    )
    return Partial(head, lines)


def _kinds_shown(documents: tuple[Document, ...]) -> tuple[KubernetesObject, ...]:
    """Return the kinds of objects and those that they define, without duplicates."""
    found: dict[tuple[str, str], KubernetesObject] = {}
    defined: list[KubernetesObject] = []
    for one in documents:
        api_version, kind = one.data["apiVersion"], one.data["kind"]
        found.setdefault((api_version, kind), {"apiVersion": api_version, "kind": kind})
        if kind == "CustomResourceDefinition" and crd_kinds((one.data,)):
            spec = one.data["spec"]
            kept = {name: spec[name] for name in ("group", "names", "scope") if name in spec}
            defined.append({"apiVersion": api_version, "kind": kind, "spec": kept})
    return (*found.values(), *defined)
