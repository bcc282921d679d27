"""`apply` for large inputs: block by block, in one process or several.

The result is that of `open_application`, with one block in memory. The output is written to unnamed
files until it is complete. If parts have other results than the whole, a file changes or a process
is lost, the streamed run is abandoned before any output.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain, islice
from typing import Final, NamedTuple

from kyvsim.api.apply import EXPLAINED, Sample, compiled_for, run_of, with_baseline
from kyvsim.api.apply_parts import (
    PARTS_EACH,
    SHARED,
    KindVersion,
    NeedsMoreObjects,
    PartText,
    PartWork,
    Watch,
    compile_render_part,
    joined,
    rendered_by_processes,
    shared_among,
    totals_of,
)
from kyvsim.api.inputs import ApplyInputs, ReadInputs, objects_of, read_inputs
from kyvsim.engine.world import ALL_KINDS
from kyvsim.kubernetes.discovery import crd_kinds, split_api_version
from kyvsim.languages.classic.lookups import looked_up_kinds
from kyvsim.load.blocks import FileBlock, Indivisible, cut_files, kinds_in, load_block, origins
from kyvsim.model.diagnostic import listed
from kyvsim.model.source import Document
from kyvsim.report.run import DocumentSet, NotStreamable, Run

_BLOCK: Final = 1 << 16
"""Minimum size of a block in bytes; smaller ones save little memory."""
_MOST_KNOWN: Final = 0.25
"""Maximum share of blocks read in advance; above it, one process reads the input as a whole."""
_ROUNDS: Final = 6
"""Maximum number of runs, each with more kinds of objects."""
_SWAPPED: Final = "KV029"


class StreamOptions(NamedTuple):
    """The options of a streamed run."""

    jobs: int
    documents: DocumentSet
    watch: Watch
    note: Callable[[str], None]
    """Called with the reason why all resources have to be read as a whole."""


def open_streamed(inputs: ApplyInputs, stdin: bytes | None, how: StreamOptions) -> Run | None:
    """Return a run whose responses are rendered; None if it must be read as a whole.

    If a rule looks up objects of some kind, the run begins again with these available. Raises
    DistributionError if processes cannot share the work.
    """
    try:
        return _in_rounds(inputs, stdin, how)
    except NotStreamable as whole:
        if reason := str(whole):
            how.note(reason)
    except OSError as error:
        how.note(f"a file could not be read or written: {error.strerror or error}")
    return None


def _in_rounds(inputs: ApplyInputs, stdin: bytes | None, how: StreamOptions) -> Run | None:
    what_if = inputs.what_if
    given = {
        "payloads": inputs.payloads,
        "--old-resource": what_if.old_resources,
        "--namespace-labels": what_if.namespace_labels,
        "--exceptions-with-resources": inputs.exceptions_with_resources,
        "--changed": inputs.unchanged is not None,
        "--skip-others": inputs.walking.as_found,
    }
    for name, value in given.items():
        if value:
            raise NotStreamable(f"{name} may need all resources")
    read = read_inputs(inputs._replace(resources=()), stdin)
    known = _LookedUp(SHARED, declared=looked_up_kinds(read.policies))
    for _ in range(_ROUNDS):
        try:
            return _open(inputs, stdin, how, read, known)
        except NeedsMoreObjects as needed:
            known = known.joined(needed)
        except _OtherKinds as found:
            known = known._replace(versions=found.versions)
    raise NotStreamable(f"{known.looking} objects of many kinds")


class _OtherKinds(Exception):  # noqa: N818 — not an error: the run begins again
    """The kinds of the resources are others than a look at their text showed."""

    def __init__(self, versions: tuple[KindVersion, ...]) -> None:
        super().__init__(versions)
        self.versions = versions


class _LookedUp(NamedTuple):
    """The kinds of objects available in all parts, and the rules that look them up."""

    kinds: frozenset[str]
    rules: tuple[str, ...] = ()
    declared: frozenset[str] = frozenset()
    """The kinds that rules probably look up, if few objects are of these kinds."""
    versions: tuple[KindVersion, ...] = ()
    """The kinds of all resources; () if not known."""

    def joined(self, needed: NeedsMoreObjects) -> "_LookedUp":
        """Return the kinds and rules with those of another rule."""
        rules = (*self.rules, needed.rule) if needed.rule else self.rules
        kinds = self.kinds | needed.kinds
        return self._replace(kinds=kinds, rules=tuple(dict.fromkeys(rules)))

    @property
    def looking(self) -> str:
        """The subject of a sentence about the rules."""
        if not self.rules:
            return "a rule looks up"
        if len(self.rules) == 1:
            return f"rule {listed(self.rules)} looks up"
        return f"rules {listed(self.rules)} look up"

    @property
    def reason(self) -> str:
        """Why all resources have to be read as a whole."""
        kinds = ", ".join(sorted(self.kinds - SHARED - {ALL_KINDS}))
        return f"{self.looking} many of the resources: objects of kind {kinds}"


def _are_many(blocks: Sequence[FileBlock]) -> bool:
    """Return whether many blocks may contain objects that all parts need."""
    return sum(block.mentions for block in blocks) > max(_MOST_KNOWN * len(blocks), 1)


def _open(
    inputs: ApplyInputs,
    stdin: bytes | None,
    how: StreamOptions,
    read: ReadInputs,
    looked_up: _LookedUp,
) -> Run | None:
    """Return the run with objects of some kinds available in parts.

    Raises NeedsMoreObjects and _OtherKinds.
    """
    files = origins(inputs.resources, stdin)
    if files is None:
        return None
    size = _BLOCK
    if how.jobs > 1:
        size = min(size, sum(file.length for file in files) // (how.jobs * PARTS_EACH))
    kinds = looked_up.kinds | looked_up.declared
    blocks = tuple(cut_files(files, max(size, 1), kinds))
    if _are_many(blocks) and not kinds <= looked_up.kinds:
        kinds = looked_up.kinds
        blocks = tuple(cut_files(files, max(size, 1), kinds))
    if len(blocks) < 2:
        return None
    if how.jobs == 1 and kinds - SHARED - {ALL_KINDS} and _are_many(blocks):
        raise NotStreamable(looked_up.reason)
    versions = looked_up.versions
    if ALL_KINDS in kinds and not versions:
        versions = tuple(dict.fromkeys(chain.from_iterable(map(kinds_in, blocks))))
    shared = shared_among(blocks, read, kinds)
    compiled = compiled_for(inputs, read._replace(resources=shared))
    if read.unusable or any(diagnostic.code == _SWAPPED for diagnostic in read.diagnostics):
        return None  # errors are reported by the other path
    run = run_of(compiled, inputs, read, Sample((), 0))
    work = PartWork(inputs, read, kinds, shared, versions, compiled, run, how.documents)
    return _rendered(work, blocks, how)


def _rendered(work: PartWork, blocks: tuple[FileBlock, ...], how: StreamOptions) -> Run | None:
    """Return the run with its rendered blocks; raises NotStreamable and OSError."""
    parts = tuple(_parts(blocks, how.jobs))
    texts = tuple(PartText() for _ in parts)
    if how.jobs == 1:
        render_part = compile_render_part(work)
        for part, text in zip(parts, texts, strict=True):
            text.end(render_part(how.watch(iter(part), len(part)), text))
    else:
        begin = partial(compile_render_part, work)
        finished = rendered_by_processes(begin, parts, texts, how.jobs)
        for _ in how.watch(finished, len(parts)):
            pass
    totals = totals_of(texts, work.inputs, work.read)
    if {block.origin.name for block in blocks} - totals.files.keys():
        return None  # a file without documents is reported by the other path
    if ALL_KINDS in work.kinds:
        _check_kinds(work, totals.versions)
    read = work.read
    place = read.before_resources
    diagnostics = (*totals.remarks, *totals.problems)
    read = read._replace(
        diagnostics=(*read.diagnostics[:place], *diagnostics, *read.diagnostics[place:])
    )
    objects = (*objects_of(work.shared), *totals.objects())
    sample = Sample(
        objects, totals.resources, totals.refused.found, partial(_first_resources, work, blocks)
    )
    run = run_of(work.compiled, work.inputs, read._replace(resources=work.shared), sample)
    run = run._replace(result_counts=totals.result_counts)
    if work.inputs.has_baseline:
        run = with_baseline(run, work.inputs, read)
    return run._replace(rendered=joined(texts, totals, how.documents.formats))


def _first_resources(work: PartWork, blocks: tuple[FileBlock, ...]) -> tuple[Document, ...]:
    """Return the resources of which one is explained if no rule has a result.

    () if a file has changed since it was evaluated: then nothing is explained.
    """
    table = crd_kinds(work.read.definitions)
    loaded = chain.from_iterable(load_block(block, table).resources for block in blocks)
    try:
        return tuple(islice(loaded, EXPLAINED))
    except Indivisible:
        return ()


def _check_kinds(work: PartWork, found: tuple[KindVersion, ...]) -> None:
    """Check that parts had the kinds that were found; raises _OtherKinds and NotStreamable."""
    others = objects_of((*work.read.targets, *work.read.shared_data))
    every = dict.fromkeys((*found, *((one["apiVersion"], one["kind"]) for one in others)))
    kinds = [(split_api_version(version)[0], kind) for version, kind in every]
    if len({*kinds}) < len(kinds):
        raise NotStreamable("the resources contain a kind in several versions")
    if found != work.versions:
        raise _OtherKinds(found)


def _parts(blocks: Sequence[FileBlock], jobs: int) -> Iterator[Sequence[FileBlock]]:
    """Yield parts of about the same size; one part for one process."""
    total = sum(block.span.end - block.span.start for block in blocks)
    size = total if jobs == 1 else total // (jobs * PARTS_EACH)
    part: list[FileBlock] = []
    filled = 0
    for block in blocks:
        part.append(block)
        filled += block.span.end - block.span.start
        if filled >= size:
            yield part
            part, filled = [], 0
    if part:
        yield part
