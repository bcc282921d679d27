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
from kyvsim.api.inputs import ApplyInputs
from kyvsim.api.portable_inputs import (
    PartEvaluation,
    Ready,
    carried,
    evaluated_alone,
    evaluated_among,
    evaluation_scope,
    kinds_shown,
    made_ready,
    opened,
    refusals_among,
)
from kyvsim.fleet import OtherVersionError, ReadError
from kyvsim.fleet.files import InputFile, is_packed, read_piece
from kyvsim.fleet.partials import lines_of
from kyvsim.load.resources import LoadedText
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.partial import Head, Partial, ReportRow
from kyvsim.model.source import Location
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


def planned(
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
    texts = carried(inputs, stdin)
    identity = repr((__version__, everything, per.value, texts)).encode("utf-8", "surrogatepass")
    packed = zlib.compress(pickle.dumps(texts))
    return Assignment(hashlib.sha256(identity).hexdigest(), __version__, packed, everything)


@lru_cache(maxsize=4)
def ready_for(assignment: Assignment) -> Ready:
    """Return the policies of an assignment compiled, which a process does once.

    Raises OtherVersionError where it comes from another version of kyvsim.
    """
    if assignment.version != __version__:
        text = f"the run is of kyvsim {assignment.version}, its worker has kyvsim {__version__}"
        raise OtherVersionError(text)
    texts: ApplyInputs = pickle.loads(zlib.decompress(assignment.packed))  # noqa: S301 — as tasks are
    return made_ready(texts)


_ALONE: Final = Lock()
"""Policies are evaluated by one thread of a process: compiled ones keep what they have found."""
_ENDS: Final = "KV007"
"""A bad separator: nothing of the file is read behind it."""


class ItemOutcome(NamedTuple):
    """What became of an item."""

    partials: tuple[Partial, ...]
    """One for each of its files."""
    asked: bool = False
    """Whether rules look at objects that the item has not: there is no verdict then."""


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
        try:
            evaluation = evaluated_alone(ready, found.resources)
            return ItemOutcome((_report((assignment, ready), head, found, evaluation),))
        except NotStreamable:
            return ItemOutcome((), asked=True)


def _together(assignment: Assignment, ready: Ready, item: WorkItem) -> Iterator[Partial]:
    """Yield the reports on all files of a cluster, whose objects rules may read."""
    heads = [_opened(assignment, ready, item, file) for file in item.files]
    documents = tuple(one for _, found in heads if found for one in found.resources)
    around = evaluation_scope(ready, documents)
    for head, found in heads:
        if found is None:
            yield Partial(head)
        else:
            evaluation = evaluated_among(ready, around, found.resources)
            partial = _report((assignment, ready), head, found, evaluation)
            yield partial._replace(head=partial.head._replace(asked=bool(around.view.queried)))


def _opened(
    assignment: Assignment, ready: Ready, item: WorkItem, file: InputFile
) -> tuple[Head, LoadedText | None]:
    """Return the head of a file or a piece, and its objects if it is readable."""
    head = item.head(file, assignment.digest)
    try:
        data = read_piece(file, head.first, head.last)
    except ReadError as error:
        problem = Diagnostic("KV080", Severity.ERROR, str(error), Location(file.name))
        return head._replace(remarks=(problem,), failed=True), None
    head = head._replace(lines=data.count(b"\n"))
    found = opened(ready, file.name, data)
    if isinstance(found, Diagnostic):
        return head._replace(remarks=(found,), refused=True), None
    ended = any(one.code == _ENDS for one in found.remarks)
    return head._replace(remarks=found.remarks, problems=found.problems, ended=ended), found


def _report(
    asked: tuple[Assignment, Ready],
    head: Head,
    found: LoadedText,
    evaluation: PartEvaluation,
) -> Partial:
    """Return the report on objects; raises NotStreamable where the responses do."""
    assignment, ready = asked
    audit_warn = ready.inputs.audit_warn
    result_counts = ResultCounts(audit_warn=audit_warn)
    tally = NamespaceCounts(audit_warn=audit_warn)
    rows_of = compile_report_rows(
        head.cluster, evaluation.explain, audit_warn=audit_warn, everything=assignment.everything
    )

    def rows() -> Iterator[ReportRow]:
        for number, response in enumerate(evaluation.responses):
            result_counts.add_response(response)
            tally.add_response(response)
            yield from rows_of(number, response)

    lines = lines_of(rows())
    return Partial(
        head._replace(
            resources=tally.resources,
            unmatched=result_counts.unmatched,
            unchecked=result_counts.unchecked,
            counts=tally.counts(),
            objects=kinds_shown(found.resources),
            refusals=refusals_among(ready, found.resources),
        ),
        lines,
    )
