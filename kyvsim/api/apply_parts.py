"""Parts of the resources of a run, rendered one by one and by several processes."""

import pickle
import struct
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextvars import ContextVar
from types import MappingProxyType
from typing import Final, NamedTuple, Protocol, TypeAlias

from kyvsim.api.apply import Compiled, counted_responses, explaining, responses_of
from kyvsim.api.baseline import failure_marker
from kyvsim.api.inputs import ApplyInputs, ReadInputs, objects_of
from kyvsim.api.processes import process_pool
from kyvsim.api.refused_objects import RefusedObjects
from kyvsim.engine.compile import CompiledPolicy, PolicySet
from kyvsim.engine.world import RecordingView, view_of_part
from kyvsim.kubernetes.discovery import KindTable, crd_kinds
from kyvsim.kubernetes.objects import Json, metadata, text_field
from kyvsim.load.blocks import FileBlock, Indivisible, load_block
from kyvsim.load.resources import LoadedText
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.result import EngineResponse, Phase, RefusalCount
from kyvsim.model.source import Document
from kyvsim.report.run import DocumentSet, NotStreamable, ResultCounts, Run, StreamingDocument

# Parts of the resources of a run, each read, evaluated and rendered by itself, block by block.
#
# A part is any number of blocks, which are held in memory one at a time. It gives pieces of the
# output and a PartResult with what the run needs besides. Joined in the order of their parts, these
# are the output of the whole run; where they would not be, NotStreamable is raised.

ALONE: Final = frozenset({Phase.VALIDATE, Phase.MUTATE})
"""What tells of an object by itself; what creates or deletes objects can meet others."""
_REACHES: Final[Mapping[Phase, str]] = MappingProxyType(
    {
        Phase.GENERATE: "generates objects",
        Phase.DELETE: "deletes objects",
        Phase.VERIFY_IMAGES: "verifies images",
    }
)
Part: TypeAlias = Sequence[FileBlock]
Example: TypeAlias = tuple[str, str, str]
"""API version, kind and name of an object; "" for a name that nothing leads to."""

SHARED: Final = frozenset({"Namespace", "CustomResourceDefinition", "GlobalContextEntry"})
"""Kinds of objects that make a difference for others without being asked for."""
_NOT_KNOWN: Final = frozenset({"GlobalContextEntry"})
"""Those of them that rules read, so that parts are not enough."""


class NeedsMoreObjects(Exception):  # noqa: N818 — no error: it says how to go on
    """A rule looked up objects that parts do not know."""

    def __init__(self, kinds: frozenset[str], rule: str = "") -> None:
        super().__init__(kinds, rule)  # which is what another process gets
        self.kinds = kinds
        self.rule = rule
        """The rule as `policy/rule`, "" where that is not known."""


class PartWork(NamedTuple):
    """What is the same for all parts."""

    inputs: ApplyInputs
    read: ReadInputs
    """What was read besides the resources."""
    kinds: frozenset[str]
    """The kinds of objects that all parts know: those that are SHARED, and what was asked for."""
    shared: tuple[Document, ...]
    """The resources of these kinds."""
    compiled: Compiled
    run: Run
    """The run as far as it is known: without counts and responses."""
    documents: DocumentSet


class PartResult(NamedTuple):
    """What is known of a part besides its text."""

    remarks: tuple[Diagnostic, ...]
    """What is wrong with documents."""
    problems: tuple[Diagnostic, ...]
    """What is wrong with those that are no objects."""
    resources: int
    """How many there are."""
    examples: tuple[Example, ...]
    """Their API versions and kinds, and those of their names that something else leads to."""
    files: tuple[str, ...]
    """The files in which there was anything."""
    result_counts: ResultCounts
    lists: tuple[tuple[int, str], ...]
    """The lists that follow on the results and have entries: the number of the format, a name."""
    refused: tuple[RefusalCount, ...]
    """What an API server refuses of the resources."""


class PartTotals:
    """What is known of a part besides its text, or of several in the order of their addition."""

    def __init__(self, *, audit_warn: bool, is_final: bool = True) -> None:
        self.refused = RefusedObjects(is_final=is_final)
        self.remarks: list[Diagnostic] = []
        self.problems: list[Diagnostic] = []
        self.resources = 0
        self.examples: dict[Example, None] = {}
        self.files: dict[str, None] = {}
        self.result_counts = ResultCounts(audit_warn=audit_warn)
        self.lists: dict[tuple[int, str], None] = {}

    def add_block(self, file: str, found: LoadedText, names: frozenset[str]) -> None:
        """Take in the resources of a block; `names` are those that something else leads to."""
        self.remarks += found.remarks
        self.problems += found.problems
        self.resources += len(found.resources)
        self.refused.add(found.resources)
        for one in found.resources:
            name = text_field(metadata(one.data), "name") if names else ""
            shown = name if name in names else ""
            self.examples[one.data["apiVersion"], one.data["kind"], shown] = None
        if any(found):
            self.files[file] = None

    def add(self, partial: PartResult) -> None:
        """Take in the next part."""
        self.remarks += partial.remarks
        self.problems += partial.problems
        self.resources += partial.resources
        self.examples |= dict.fromkeys(partial.examples)
        self.files |= dict.fromkeys(partial.files)
        self.result_counts.add(partial.result_counts)
        self.lists |= dict.fromkeys(partial.lists)
        self.refused.merge(partial.refused)

    def objects(self) -> tuple[Json, ...]:
        """Return an object for each example."""
        return tuple(
            {"apiVersion": version, "kind": kind, "metadata": {"name": name}}
            for version, kind, name in self.examples
        )


def shared_among(
    blocks: Iterable[FileBlock], read: ReadInputs, kinds: frozenset[str]
) -> tuple[Document, ...]:
    """Return the resources of some kinds in blocks that mention them; raises NotStreamable."""
    table = crd_kinds(read.definitions)
    found = tuple(
        one
        for block in blocks
        if block.mentions
        for one in _loaded(block, table).resources
        if one.data["kind"] in kinds
    )
    if any(one.data["kind"] in _NOT_KNOWN for one in found):
        raise NotStreamable("the resources contain a GlobalContextEntry")
    return found


class Sink(Protocol):
    """What takes the output of a part."""

    def write(self, number: int, piece: str) -> None:
        """Take the next piece of the text in the format of a number."""

    def note(self, number: int, name: str, entries: Iterable[str]) -> None:
        """Take the next entries of a list of that format, which are texts of one line."""


RenderPart: TypeAlias = Callable[[Iterable[FileBlock], Sink], PartResult]
"""Writes what the run tells of a part, and returns what else is known of it.

Raises NeedsMoreObjects, where all may be done again with more objects, or NotStreamable."""


def compile_render_part(work: PartWork) -> RenderPart:
    """Return what tells parts, which come in their order.

    Who tells several has one of these: what explains failures is compiled once for all of them, and
    what was told in full is not told again.
    """
    values = work.read.values
    named = (one.name for one in values.entries if one.kind == "resource") if values else ()
    names = frozenset(named)
    cluster = view_of_part(work.kinds, objects_of(work.shared), work.read.definitions)
    explain = explaining(work.inputs, work.read, cluster)
    documents = work.documents.begin(work.run._replace(is_part=True, explain=explain))

    def render_part(part: Iterable[FileBlock], sink: Sink) -> PartResult:
        is_final = not work.compiled.policies.mutates
        seen = PartTotals(audit_warn=work.inputs.audit_warn, is_final=is_final)
        counts = seen.result_counts
        marker = failure_marker(work.inputs, work.read, counts)
        responses = _responses(work, part, (seen, names), cluster)
        for response in counted_responses(responses, counts, marker):
            for number, one in enumerate(documents):
                _write(number, one.row(response), one, sink, seen.lists)
        for number, one in enumerate(documents):
            _write(number, one.counted(), one, sink, seen.lists)
        return PartResult(
            remarks=tuple(seen.remarks),
            problems=tuple(seen.problems),
            resources=seen.resources,
            examples=tuple(seen.examples),
            files=tuple(seen.files),
            result_counts=counts.closed(),
            lists=tuple(seen.lists),
            refused=seen.refused.found,
        )

    return render_part


def _write(
    number: int,
    piece: str,
    document: StreamingDocument,
    sink: Sink,
    filled: dict[tuple[int, str], None],
) -> None:
    """Write a piece of a document, and what was added to its lists; note which have entries."""
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
    """Yield the responses to the resources of a part; only those of one block are in memory."""
    table = crd_kinds(work.read.definitions)
    for block in part:
        found = _loaded(block, table)
        seen[0].add_block(block.origin.name, found, seen[1])
        if not block.mentions and any(one.data["kind"] in work.kinds for one in found.resources):
            raise NotStreamable(f"{block.origin.name} can only be read as a whole")
        read = work.read._replace(resources=found.resources)
        responses = responses_of(work.compiled.policies, read, work.inputs, cluster)
        try:
            yield from map(_by_itself, alone(responses, cluster))
        except NeedsMoreObjects as asked:
            raise NeedsMoreObjects(asked.kinds, _looking_up(work, found.resources)) from None


def _looking_up(work: PartWork, documents: Iterable[Document]) -> str:
    """Return the first rule that looks up objects beside some objects, as `policy/rule`.

    Each rule is evaluated by itself; "" where none looks anything up then.
    """
    for document in documents:
        read = work.read._replace(resources=(document,))
        for policy in work.compiled.policies.policies:
            for rule in policy.of_kind(document.data["kind"]):
                cluster = view_of_part(work.kinds, objects_of(work.shared), work.read.definitions)
                alone_with_it = PolicySet((CompiledPolicy(policy.policy, (rule,)),))
                for _ in responses_of(alone_with_it, read, work.inputs, cluster):
                    pass
                if cluster.queried:
                    return "/".join(filter(None, (policy.policy.key, rule.rule.name)))
    return ""


def _by_itself(response: EngineResponse) -> EngineResponse:
    """Return a response whose results say nothing of other objects; raises NotStreamable.

    Rules that match no object of the run make no difference to it, whatever they could do.
    """
    for answer in response.responses:
        if answer.phase not in ALONE:
            rule = answer.results[0].rule.name if answer.results else answer.silent[0].rule.name
            raise NotStreamable(f"rule `{answer.policy.key}/{rule}` {_REACHES[answer.phase]}")
    return response


def _loaded(block: FileBlock, kinds: KindTable) -> LoadedText:
    try:
        return load_block(block, kinds)
    except Indivisible as error:
        raise NotStreamable(f"{block.origin.name} can only be read as a whole") from error


def alone(responses: Iterable[EngineResponse], cluster: RecordingView) -> Iterator[EngineResponse]:
    """Yield responses; raises NeedsMoreObjects where a rule asked for other objects of the run."""
    for response in responses:
        if cluster.queried:
            raise NeedsMoreObjects(frozenset(cluster.queried))
        yield response
    if cluster.queried:
        # For objects of which there is no response.
        raise NeedsMoreObjects(frozenset(cluster.queried))


# The output of a part in an unnamed file: its text, what follows on it, and its PartResult.

_TOGETHER: Final = 1 << 16
"""Characters that are written together, unless one piece is longer."""
_ERRORS: Final = "surrogatepass"
"""Whatever texts hold comes back as it was."""
_HEAD: Final = struct.Struct(">BI")
"""Stands before each record of the file: the bytes of its name, and of what it holds."""
_PLACE: Final = struct.Struct(">Q")
"""Ends the file: where in it the PartResult begins."""
_TEXT: Final = ""


class PartText:
    """A file that one process writes and, when that is done, another one may read.

    It consists of records, each of which has a part of the text in the format of some number, or of
    a list that follows on it.
    """

    __slots__ = ("_file", "_sizes", "_waiting")

    def __init__(self) -> None:
        """Raise OSError where there can be no file."""
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 — it is closed when nobody has it
        self._waiting: dict[str, list[str]] = {}
        self._sizes: dict[str, int] = {}

    def __del__(self) -> None:
        """Let go of the file, of which nothing is left then."""
        if hasattr(self, "_file"):
            self._file.close()

    def write(self, number: int, piece: str) -> None:
        """Take the next piece of the text in the format of a number."""
        self._put(_label(number, _TEXT), piece)

    def note(self, number: int, name: str, entries: Iterable[str]) -> None:
        """Take the next entries of a list of that format, which are texts of one line."""
        label = _label(number, name)
        for entry in entries:
            self._put(label, f"{entry}\n")

    def _put(self, name: str, piece: str) -> None:
        self._waiting.setdefault(name, []).append(piece)
        size = self._sizes[name] = self._sizes.get(name, 0) + len(piece)
        if size >= _TOGETHER:
            self._flush(name)

    def _flush(self, name: str) -> None:
        data = "".join(self._waiting[name]).encode("utf-8", _ERRORS)
        self._waiting[name], self._sizes[name] = [], 0
        label = name.encode()
        self._file.write(_HEAD.pack(len(label), len(data)) + label)
        self._file.write(data)

    def end(self, partial: PartResult) -> None:
        """Take the PartResult: now the file can be read."""
        for name in self._waiting:
            self._flush(name)
        place = self._file.tell()
        self._file.write(pickle.dumps(partial) + _PLACE.pack(place))
        self._file.flush()

    def partial(self) -> PartResult:
        """Return what `end` took."""
        self._file.seek(self._end())
        partial: PartResult = pickle.load(self._file)  # noqa: S301 — nobody else can write to it
        return partial

    def pieces(self, number: int) -> Iterator[str]:
        """Yield the text in a format, some thousands of characters at a time."""
        return self._records(_label(number, _TEXT))

    def entries(self, number: int, name: str) -> Iterator[str]:
        """Yield the entries of a list of that format."""
        for some in self._records(_label(number, name)):
            yield from some.split("\n")[:-1]

    def _end(self) -> int:
        self._file.seek(-_PLACE.size, 2)
        place: int = _PLACE.unpack(self._file.read(_PLACE.size))[0]
        return place

    def _records(self, name: str) -> Iterator[str]:
        at, end, wanted = 0, self._end(), name.encode()
        while at < end:
            self._file.seek(at)
            label_size, size = _HEAD.unpack(self._file.read(_HEAD.size))
            if self._file.read(label_size) == wanted:
                yield self._file.read(size).decode("utf-8", _ERRORS)
            at += _HEAD.size + label_size + size


def _label(number: int, name: str) -> str:
    return f"{number} {name}"


# Parts told by several processes, which are forked when the policies are compiled.
#
# Each writes what it tells of a part to a file without a name, so that nothing stays behind
# whichever process is killed.


_OWN: ContextVar[tuple[RenderPart, Sequence[Part], Sequence[PartText]]] = ContextVar("own")
"""What a process has for all parts that it renders."""


def rendered_by_processes(
    work: PartWork, parts: Sequence[Part], texts: Sequence[PartText], jobs: int
) -> Iterator[int]:
    """Have `jobs` processes tell parts; yield the number of each that is done, as they come.

    Raises NotStreamable, also where a process is lost, and OSError where the system grants none.
    """
    with process_pool(min(jobs, len(parts)), _begin, (work, parts, texts)) as pool:
        try:
            futures: dict[Future[None], int] = {
                pool.submit(_do, number): number for number in range(len(parts))
            }
            for one in as_completed(futures):
                one.result()
                yield futures[one]
        except BrokenProcessPool as error:
            raise NotStreamable from error


def _begin(work: PartWork, parts: Sequence[Part], texts: Sequence[PartText]) -> None:
    _OWN.set((compile_render_part(work), parts, texts))


def _do(number: int) -> None:
    """Tell of a part, of those of a process one after the other as they are numbered.

    What is long goes to its file: a process killed midway blocks nobody.
    """
    render_part, parts, texts = _OWN.get()
    text = texts[number]
    text.end(render_part(parts[number], text))
