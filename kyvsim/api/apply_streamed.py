"""`apply` over large inputs: block by block, by one process or by several.

It says what `open_application` does, to the letter, and never holds more than a block. What it
tells waits in files without names until all is known. Where parts do not tell what the whole does,
a file changes meanwhile, or a process is lost, there is no such run, and nothing of one was shown.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any, Final, NamedTuple, TypeAlias

from kyvsim.api.apply import Compiled, Sample, compiled_for, run_of
from kyvsim.api.apply_parts import (
    SHARED,
    NeedsMoreObjects,
    Part,
    PartText,
    PartTotals,
    PartWork,
    compile_render_part,
    rendered_by_processes,
    shared_among,
)
from kyvsim.api.baseline import with_baseline
from kyvsim.api.inputs import ApplyInputs, objects_of, read_inputs
from kyvsim.engine.world import ALL_KINDS
from kyvsim.load.blocks import FileBlock, cut_files, origins
from kyvsim.model.diagnostic import listed
from kyvsim.model.result import Phase
from kyvsim.report.run import DocumentSet, NotStreamable, RenderedRun, Run

Watch: TypeAlias = Callable[[Iterator[Any], int], Iterator[Any]]
"""Yields what it is given, of which there are so many, and may show how far that is."""

_BLOCK: Final = 1 << 16
"""Bytes of a block: the memory that a run takes grows with it, and less does not pay."""
_PARTS_EACH: Final = 8
"""So many parts for each process, so that all end at about the same time."""
_MOST_KNOWN: Final = 0.25
"""The part of all blocks that may be read beforehand: the whole is better read once."""
_ROUNDS: Final = 3
"""So often is begun again: who asks for ever more kinds needs the whole."""
_SWAPPED: Final = "KV029"


class StreamOptions(NamedTuple):
    """How a run is made."""

    jobs: int
    """How many processes share it."""
    documents: DocumentSet
    watch: Watch
    note: Callable[[str], None]
    """Takes why all has to be read as a whole, where that follows from what is given."""


def open_streamed(inputs: ApplyInputs, stdin: bytes | None, how: StreamOptions) -> Run | None:
    """Return a run of which all responses are told, or None for what has to be read as a whole.

    Where a rule asks for objects of some kind, all is begun again with these at hand.
    """
    try:
        return _in_rounds(inputs, stdin, how)
    except NotStreamable as whole:
        if reason := str(whole):
            how.note(reason)
    except OSError:
        return None
    return None


def _in_rounds(inputs: ApplyInputs, stdin: bytes | None, how: StreamOptions) -> Run | None:
    what_if = inputs.what_if
    given = {
        "--target-resource": inputs.targets,
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
    known = _LookedUp(SHARED, ())
    for _ in range(_ROUNDS):
        try:
            return _open(inputs, stdin, how, known)
        except NeedsMoreObjects as asked:
            known = known.joined(asked)
        if ALL_KINDS in known.kinds:
            raise NotStreamable(f"{known.looking} objects of any kind")
    raise NotStreamable(known.reason)


class _LookedUp(NamedTuple):
    """The kinds whose objects all parts know, and the rules for which they do."""

    kinds: frozenset[str]
    rules: tuple[str, ...]

    def joined(self, asked: NeedsMoreObjects) -> "_LookedUp":
        """Return the same with what another rule looks up."""
        rules = (*self.rules, asked.rule) if asked.rule else self.rules
        return _LookedUp(self.kinds | asked.kinds, tuple(dict.fromkeys(rules)))

    @property
    def looking(self) -> str:
        """The beginning of a sentence on what the rules look up."""
        if not self.rules:
            return "a rule looks up"
        if len(self.rules) == 1:
            return f"rule {listed(self.rules)} looks up"
        return f"rules {listed(self.rules)} look up"

    @property
    def reason(self) -> str:
        """Why all resources have to be read as a whole."""
        kinds = sorted(self.kinds - SHARED)
        return f"{self.looking} many of the resources: objects of kind {', '.join(kinds)}"


def _open(
    inputs: ApplyInputs, stdin: bytes | None, how: StreamOptions, looked_up: _LookedUp
) -> Run | None:
    """Return what `open_streamed` does, of parts that know objects of some kinds.

    Raises NeedsMoreObjects.
    """
    kinds = looked_up.kinds
    files = origins(inputs.resources, stdin)
    if files is None:
        return None
    size = _BLOCK
    if how.jobs > 1:
        size = min(size, sum(one.length for one in files) // (how.jobs * _PARTS_EACH))
    blocks = tuple(cut_files(files, max(size, 1), kinds))
    known = sum(block.mentions for block in blocks)
    if len(blocks) < 2:
        return None
    if known > max(_MOST_KNOWN * len(blocks), 1):
        if kinds == SHARED:
            raise NotStreamable(f"many of the resources are one of {', '.join(sorted(SHARED))}")
        raise NotStreamable(looked_up.reason)
    read = read_inputs(inputs._replace(resources=()), stdin)
    shared = shared_among(blocks, read, kinds)
    compiled = compiled_for(inputs, read._replace(resources=shared))
    if read.unusable or any(one.code == _SWAPPED for one in read.diagnostics):
        return None  # errors are told of it
    if read.shared_data:
        raise NotStreamable("a GlobalContextEntry may select any of the resources")
    run = run_of(compiled, inputs, read, Sample((), 0))
    work = PartWork(inputs, read, kinds, shared, compiled, run, how.documents)
    return _rendered(work, blocks, how)


def phases_of(compiled: Compiled) -> frozenset[Phase]:
    """Return the phases in which policies have rules."""
    return frozenset(
        rule.stage.phase
        for policy in compiled.policies.policies
        for rule in (*policy.plain, *policy.written)
    )


def _rendered(work: PartWork, blocks: tuple[FileBlock, ...], how: StreamOptions) -> Run | None:
    """Return the run with what is told of all blocks; raises NotStreamable and OSError."""
    parts = tuple(_parts(blocks, how.jobs))
    texts = tuple(PartText() for _ in parts)
    if how.jobs == 1:
        render_part = compile_render_part(work)
        for part, text in zip(parts, texts, strict=True):
            text.end(render_part(how.watch(iter(part), len(part)), text))
    else:
        told = rendered_by_processes(work, parts, texts, how.jobs)
        for _ in how.watch(told, len(parts)):
            pass
    found = PartTotals(audit_warn=work.inputs.audit_warn)
    for text in texts:
        found.add(text.partial())
    if {block.origin.name for block in blocks} - found.files.keys():
        return None  # there is a file without documents, which is told
    if found.result_counts.met and not found.result_counts.met.is_certain(work.read.baseline):
        raise NotStreamable("baseline entries can only be matched with all results")
    numbers = range(how.documents.formats)
    pieces = [_pieces(number, texts) for number in numbers]
    lists: list[dict[str, _Entries]] = [{} for _ in numbers]
    for number, name in found.lists:
        lists[number][name] = _Entries(number, name, texts)
    put_together = RenderedRun(pieces, lists)
    read = work.read
    place = read.before_resources
    said = (*found.remarks, *found.problems)
    read = read._replace(diagnostics=(*read.diagnostics[:place], *said, *read.diagnostics[place:]))
    objects = (*objects_of(work.shared), *found.objects())
    sample = Sample(objects, found.resources, found.refused.found)
    run = run_of(work.compiled, work.inputs, read, sample)
    run = run._replace(result_counts=found.result_counts)
    if work.inputs.has_baseline:
        run = with_baseline(run, work.inputs, read)
    return run._replace(rendered=put_together)


def _pieces(number: int, texts: tuple[PartText, ...]) -> Iterator[str]:
    for text in texts:
        yield from text.pieces(number)


class _Entries:
    """The entries of a list that follows on the results of all parts; read as often as asked."""

    __slots__ = ("_name", "_number", "_texts")

    def __init__(self, number: int, name: str, texts: tuple[PartText, ...]) -> None:
        self._number = number
        self._name = name
        self._texts = texts

    def __iter__(self) -> Iterator[str]:
        return chain.from_iterable(text.entries(self._number, self._name) for text in self._texts)


def _parts(blocks: Sequence[FileBlock], jobs: int) -> Iterator[Part]:
    """Yield blocks that are told together, of about the same size; all of them for one process."""
    total = sum(block.span.end - block.span.start for block in blocks)
    size = total if jobs == 1 else total // (jobs * _PARTS_EACH)
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
