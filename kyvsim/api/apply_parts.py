"""`apply` by several processes: parts of the resources read, evaluated and told each by itself.

A part is whole documents of one text. Processes are forked when the policies are compiled; each
writes what it tells of a part to a file without a name, so that nothing stays behind whichever
process is killed. Where parts do not tell what the whole does, or a process is lost, there is no
run in parts, and nothing of one has been shown.
"""

import gc
import multiprocessing
import os
import pickle
import signal
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_EXCEPTION, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from contextvars import ContextVar
from threading import Thread
from typing import IO, Final, TypeAlias

from kyvsim.api.apply import Compiled, compiled_for, responses_of, run_of
from kyvsim.api.inputs import ApplyInputs, ReadInputs, read_inputs
from kyvsim.compile import PolicySet
from kyvsim.engine.unasked_objects import UnaskedObjects
from kyvsim.kube.objects import Json
from kyvsim.kube.yaml_chunks import Excerpt, cut_stream
from kyvsim.light.named_tuple import NamedTuple
from kyvsim.load.files import Source, read_sources
from kyvsim.load.resources import load_part
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.result import EngineResponse, Stage
from kyvsim.report.course import Course
from kyvsim.report.run import Run, Told, Unparted

Tell: TypeAlias = Callable[[Run], Told]

_PARTS_EACH: Final = 8
"""So many parts for each process, so that all end at about the same time."""
_LARGEST: Final = 1 << 20
"""Characters of a part, unless there were too many."""
_MOST: Final = 128
"""Parts, for each of which a file is open."""
_STAGES: Final = frozenset({Stage.VALIDATE, Stage.NATIVE_VALIDATE, Stage.CEL_VALIDATE})
"""What tells of an object by itself; what changes or creates objects can meet others."""
_SHARED: Final = frozenset({"Namespace", "CustomResourceDefinition", "GlobalContextEntry"})
"""Kinds of objects that make a difference for others without being asked for."""
_SWAPPED: Final = "KV029"


class _Part(NamedTuple):
    """A part of the resources."""

    file: str
    text: Excerpt


class _Head(NamedTuple):
    """What is known of a part besides its text."""

    file: str
    remarks: tuple[Diagnostic, ...]
    problems: tuple[Diagnostic, ...]
    resources: int
    kinds: tuple[tuple[str, str], ...]
    course: Course
    lists: Mapping[str, tuple[str, ...]]


class _Work(NamedTuple):
    """What the processes inherit."""

    policies: PolicySet
    inputs: ApplyInputs
    read: ReadInputs
    run: Run
    tell: Tell
    parts: tuple[_Part, ...]
    files: tuple[IO[bytes], ...]
    """Where each part is told."""
    lifeline: tuple[IO[bytes], IO[bytes]]
    """A pipe of which the first process alone holds the end for writing: it ends with that."""


_WORK: ContextVar[_Work] = ContextVar("work")


def can_fork() -> bool:
    """Return whether processes can inherit what this one has; on macOS that is not safe."""
    return "fork" in multiprocessing.get_all_start_methods() and sys.platform != "darwin"


def open_in_parts(inputs: ApplyInputs, stdin: bytes | None, jobs: int, tell: Tell) -> Run | None:
    """Return a run of which `jobs` processes have told the responses, or None.

    It says what `open_application` does, to the letter. None stands for everything that one
    process has to do.
    """
    if not _are_plain(inputs):
        return None
    parts = tuple(_parts(inputs, stdin, jobs))
    if len(parts) < 2:
        return None
    read = read_inputs(inputs._replace(resources=()), stdin)
    compiled = compiled_for(inputs, read)
    if not _is_parted(read, compiled):
        return None
    try:
        return _run(compiled, inputs, read, (parts, jobs, tell))
    except (Unparted, BrokenProcessPool, OSError):
        return None


def _run(
    compiled: Compiled,
    inputs: ApplyInputs,
    read: ReadInputs,
    how: tuple[tuple[_Part, ...], int, Tell],
) -> Run | None:
    """Return the run; raises OSError, too, where the system grants no files or processes."""
    parts, jobs, tell = how
    run = run_of(compiled, inputs, read, ())
    with ExitStack() as stack:
        files = tuple(stack.enter_context(tempfile.TemporaryFile()) for _ in parts)
        reading, writing = os.pipe()
        lifeline = (
            stack.enter_context(open(reading, "rb", buffering=0)),
            stack.enter_context(open(writing, "wb", buffering=0)),
        )
        work = _Work(
            policies=compiled.policies,
            inputs=inputs,
            read=read,
            run=run,
            tell=tell,
            parts=parts,
            files=files,
            lifeline=lifeline,
        )
        _do_all(work, jobs)
        heads = tuple(_head(file) for file in files)
        merged = _merged(heads, compiled, inputs, read)
        if merged is None:
            return None
        kept = stack.pop_all()
    return merged._replace(told=Told(_texts(files, kept), _lists(heads)))


def _are_plain(inputs: ApplyInputs) -> bool:
    """Return whether resources are all that is given, besides policies and who asks."""
    return not (
        inputs.targets
        or inputs.exceptions
        or inputs.values_file
        or inputs.set_values
        or inputs.payloads
        or inputs.exceptions_with_resources
        or inputs.check_idempotent
    )


def _is_parted(read: ReadInputs, compiled: Compiled) -> bool:
    """Return whether nothing but a look at an object of the run can need more than a part."""
    stages = {
        rule.stage
        for policy in compiled.policies.policies
        for some in (policy.rules, policy.validating_others, *policy.validating.values())
        for rule in some
    }
    swapped = any(one.code == _SWAPPED for one in read.diagnostics)
    return stages <= _STAGES and not (read.unusable or read.exceptions.total or swapped)


def _parts(inputs: ApplyInputs, stdin: bytes | None, jobs: int) -> Iterator[_Part]:
    """Yield the parts of all resources; none where a file is not read or not named."""
    sources = tuple(read_sources(inputs.resources, stdin))
    named = [one for one in sources if isinstance(one, Source) and not one.folder]
    if len(named) < len(sources) or len(named) > _MOST // 2:
        return
    total = sum(len(one.text) for one in named)
    size = min(total // (jobs * _PARTS_EACH), _LARGEST)
    for one in named:
        for text in cut_stream(one.text, max(size, total * 2 // _MOST, 1)):
            yield _Part(one.name, text)


def _do_all(work: _Work, jobs: int) -> None:
    """Have all parts told; raises Unparted, or BrokenProcessPool where a process is lost."""
    context = multiprocessing.get_context("fork")
    pool = ProcessPoolExecutor(min(jobs, len(work.parts)), context, _begin, (work,))
    try:
        futures = [pool.submit(_do, number) for number in range(len(work.parts))]
        for one in wait(futures, return_when=FIRST_EXCEPTION).done:
            one.result()
    finally:
        # Only the pool's own thread may cancel: it stumbles over what is cancelled under its hands.
        pool.shutdown(cancel_futures=True)


def _begin(work: _Work) -> None:
    """Make a forked process ready."""
    gc.freeze()
    # An interrupt reaches all processes of a terminal: the first one ends the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    work.lifeline[1].close()
    Thread(target=_end_with, args=(work.lifeline[0],), daemon=True).start()
    _WORK.set(work)


def _end_with(lifeline: IO[bytes]) -> None:
    """End this process with the one that began it."""
    lifeline.read(1)
    os._exit(1)


def _do(number: int) -> None:
    """Tell of a part. What is long goes to its file: a process killed midway blocks nobody."""
    work = _WORK.get()
    part = work.parts[number]
    source = Source(part.file, part.text.text, line=part.text.line)
    (documents, remarks), problems = load_part(source, work.read.definitions)
    kinds = dict.fromkeys((one.data["apiVersion"], one.data["kind"]) for one in documents)
    if any(kind in _SHARED for _, kind in kinds):
        raise Unparted
    cluster = UnaskedObjects()
    course = Course(audit_warn=work.inputs.audit_warn)
    read = work.read._replace(resources=documents)
    found = responses_of(work.policies, read, work.inputs, cluster)
    responses = course.watching(alone(found, cluster))
    told = work.tell(work.run._replace(responses=responses, course=course))
    lists = {name: tuple(entries) for name, entries in told.lists.items() if entries}
    head = _Head(
        file=part.file,
        remarks=remarks,
        problems=problems,
        resources=len(documents),
        kinds=tuple(kinds),
        course=course,
        lists=lists,
    )
    file = work.files[number]
    pickle.dump(head, file)
    pickle.dump("".join(told.pieces), file)
    file.flush()


def alone(responses: Iterable[EngineResponse], cluster: UnaskedObjects) -> Iterator[EngineResponse]:
    """Yield responses; raises Unparted where a rule asked for other objects of the run."""
    for response in responses:
        if cluster.asked:
            raise Unparted
        yield response
    if cluster.asked:
        raise Unparted  # for objects of which there is no response


def _head(file: IO[bytes]) -> _Head:
    file.seek(0)
    head: _Head = pickle.load(file)  # noqa: S301 — a file without a name: nobody else writes to it
    return head


def _texts(files: tuple[IO[bytes], ...], kept: ExitStack) -> Iterator[str]:
    """Yield what is told of each part; all are closed in the end."""
    with kept:
        for file in files:
            yield pickle.load(file)  # noqa: S301 — as above


def _lists(heads: Iterable[_Head]) -> dict[str, list[str]]:
    lists: dict[str, list[str]] = {}
    for head in heads:
        for name, entries in head.lists.items():
            lists.setdefault(name, []).extend(entries)
    return lists


def _merged(
    heads: tuple[_Head, ...], compiled: Compiled, inputs: ApplyInputs, read: ReadInputs
) -> Run | None:
    """Return the run that the parts make up; None where what is to be said needs their objects."""
    course = Course(audit_warn=inputs.audit_warn)
    for head in heads:
        course.add(head.course)
    count = sum(head.resources for head in heads)
    filled = {head.file for head in heads if head.resources or head.remarks or head.problems}
    if course.unmatched == count or any(head.file not in filled for head in heads):
        return None
    place = read.before_resources
    said = [one for head in heads for one in head.remarks]
    said += [one for head in heads for one in head.problems]
    read = read._replace(diagnostics=(*read.diagnostics[:place], *said, *read.diagnostics[place:]))
    kinds = dict.fromkeys(kind for head in heads for kind in head.kinds)
    objects: tuple[Json, ...] = tuple(
        {"apiVersion": api_version, "kind": kind} for api_version, kind in kinds
    )
    run = run_of(compiled, inputs, read, objects)
    return run._replace(resource_count=count, course=course)
