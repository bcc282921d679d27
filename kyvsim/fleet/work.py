"""Files to work items, and what a worker does: one item → what it came to.

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
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.partial import Head, Partial, ReportRow
from kyvsim.model.result import EngineResponse
from kyvsim.model.source import Document, Location
from kyvsim.report.diagnostics import Explain
from kyvsim.report.fleet import NamespaceCounts, compile_report_rows
from kyvsim.report.run import NotStreamable, ResultCounts

# Files to items: which pieces can be worked on by themselves, and which files belong together.

PIECE_BYTES: Final = 8 << 20
"""Bytes of a piece, for which a worker has work of about a second."""


class WorkItem(NamedTuple):
    """A piece of one file, or all files of a cluster.

    A piece has the documents that begin in its bytes: that of a later byte is in a later piece,
    however far it reaches.
    """

    cluster: str
    files: tuple[InputFile, ...]
    first: int
    last: int
    """The first byte that is none of the piece's; for whole files the size of the last one."""
    alone: bool
    """Whether the cluster has objects in other pieces: rules must not read any then."""

    def head(self, file: InputFile, assignment: str) -> Head:
        """Return the head of a report on a file of the item, or on the piece."""
        last = self.last if self.alone else file.size
        return Head(file.name, self.first, last, file.stamp, assignment, self.cluster, lines=0)

    @property
    def size(self) -> int:
        """How many bytes there are to work on."""
        return self.last - self.first if self.alone else sum(one.size for one in self.files)


class ClusterGrouping(StrEnum):
    """What files are dumps of one cluster, so that rules may look at objects of all of them."""

    FILE = "file"
    FOLDER = "folder"
    ALL = "all"


def plan_items(
    files: Iterable[InputFile], per: ClusterGrouping, *, parted: bool, size: int
) -> list[WorkItem]:
    """Return the items of a run; with `parted` rules see one object at a time.

    A cluster of up to `size` bytes is one item, and so it is where rules are not `parted`. Of
    larger ones each file is cut every `size` bytes; packed files cannot be.
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


# The inputs that every worker of a run needs: policies and options, named by a hash of them.
#
# They are sent pickled, as a part of tasks, which are pickled, too.


class Ready(NamedTuple):
    """Policies, ready to be evaluated on any objects."""

    inputs: ApplyInputs
    read: ReadInputs
    compiled: Compiled


def portable_inputs(inputs: ApplyInputs, stdin: bytes | None) -> ApplyInputs:
    """Return inputs that are read nowhere: their files are texts, and they have no resources.

    What cannot be read is left out: the caller reads the inputs, too, and reports it.
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
    """Return the policies of inputs without resources, read and compiled."""
    read = read_inputs(inputs._replace(resources=()), stdin)
    return Ready(inputs, read, compiled_for(inputs, read))


class Assignment(NamedTuple):
    """Policies and options that can travel."""

    digest: str
    """Equal for the same texts under the same names, the same options and the same version."""
    version: str
    packed: bytes
    everything: bool
    """Whether all rows are reported, not only failures."""


def assigned(
    inputs: ApplyInputs, stdin: bytes | None, *, everything: bool, per: ClusterGrouping
) -> Assignment:
    """Return what workers need of the inputs of a run; their resources are not part of it."""
    texts = portable_inputs(inputs, stdin)
    identity = repr((__version__, everything, per.value, texts)).encode("utf-8", "surrogatepass")
    packed = zlib.compress(pickle.dumps(texts))
    return Assignment(hashlib.sha256(identity).hexdigest(), __version__, packed, everything)


@lru_cache(maxsize=4)
def ready_for(assignment: Assignment) -> Ready:
    """Return the policies of an assignment compiled, which a process does once.

    Raises OtherVersionError where it comes from another version of kyvsim.
    """
    if assignment.version != __version__:
        text = f"the run uses kyvsim {assignment.version}, but the worker has kyvsim {__version__}"
        raise OtherVersionError(text)
    texts: ApplyInputs = pickle.loads(zlib.decompress(assignment.packed))  # noqa: S301 — as tasks are
    return prepare(texts)


_ALONE: Final = Lock()
"""Policies are evaluated by one thread of a process: compiled ones keep what they have found."""
_ENDS: Final = "KV007"
"""A bad separator: nothing of the file is read behind it."""


class ItemOutcome(NamedTuple):
    """What became of an item."""

    partials: tuple[Partial, ...]
    needs_others: bool = False
    """Whether rules look at objects that the item has not: there is no verdict then."""


def are_shared(objects: Iterable[KubernetesObject]) -> bool:
    """Return whether some objects make a difference for others without being looked up."""
    return any(one["kind"] in SHARED for one in objects)


def evaluate(assignment: Assignment, item: WorkItem) -> ItemOutcome:
    """Return the reports on an item; they depend on nothing but the two arguments and the files.

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
    """Yield the reports on all files of a cluster, whose objects rules may read."""
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
        problem = Diagnostic("KV080", Severity.ERROR, str(error), Location(file.name))
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
    """Return the report on objects; raises NotStreamable where the responses do."""
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
    """Return what tells the kinds of objects, each once: those that they have, and define."""
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
