"""`lint`: findings about policies, and fixes of them."""

import os
from bisect import bisect, insort
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from kyvsim.api.inputs import objects_of
from kyvsim.api.system import own_system
from kyvsim.engine.compile import CompileOptions
from kyvsim.kubernetes.discovery import crd_kinds
from kyvsim.languages import READERS, derived_rules
from kyvsim.languages.cel.exceptions import lone_problems
from kyvsim.languages.constraints import binding_selector_problems
from kyvsim.languages.constraints import selector_errors as unread_selectors
from kyvsim.lint.check import CheckSubject, LintInputs
from kyvsim.lint.policies import lint_policy
from kyvsim.lint.registry import run_checks
from kyvsim.load.documents import STRICT, Loaded, read_documents
from kyvsim.load.edits import NoEditError, edits_of, with_edits
from kyvsim.load.exceptions import load_exceptions
from kyvsim.load.files import Source, read_sources
from kyvsim.load.folders import USUAL, Walking
from kyvsim.load.policy import is_exception, load_bindings, load_policies, sniff
from kyvsim.load.recognise import is_mapping, is_test_manifest
from kyvsim.load.resources import POLICIES, load_definitions, partition_by_kind
from kyvsim.load.shape import has_known_shape, shape_diagnostics
from kyvsim.load.suite_manifest import load_test_manifest
from kyvsim.model.diagnostic import Diagnostic, Edit, Severity, without_left_out
from kyvsim.model.source import Document
from kyvsim.report.lint import Findings
from kyvsim.schema.kinds import native_schemas

# `lint --fix`: what puts remarks right, made and tried file by file; nothing is written.
#
# A fix is taken where the file, read once more, has the remark no longer and no other in its
# place.

Check = Callable[[Source], tuple[Diagnostic, ...]]
"""Returns the remarks on one text."""


class FixedFile(NamedTuple):
    """A file of which something was put right."""

    source: Source
    text: str
    """What it should hold."""
    fixed: tuple[Diagnostic, ...]
    """What was put right, in the order in which it was done."""


def with_reported_edits(remark: Diagnostic, text: str) -> Diagnostic:
    """Return a remark whose fix tells its edits of a file's text; it has none where there are none.

    Edits of other remarks may meet them: who makes several checks the text after each.
    """
    if remark.fix is None:
        return remark
    try:
        edits = edits_of(text, remark.fix.changes)
    except NoEditError:
        return remark._replace(fix=None)
    return remark._replace(fix=remark.fix._replace(edits=edits))


def fixed_files(
    remarks: Iterable[Diagnostic], sources: Iterable[Source], check: Check
) -> Iterator[FixedFile]:
    """Yield each file among `sources` of which a remark can be put right, with all that can be."""
    fixable = {one.location.file for one in remarks if one.fix and one.location}
    for source in sources:
        if source.name in fixable:
            found = _fixed(source, check)
            if found.fixed:
                yield found


def _fixed(source: Source, check: Check) -> FixedFile:
    """Return a file with all that can be put right, of which as much as fits is done at once.

    What a check refuses together is tried in halves; what it refuses by itself is passed over, and
    tried again where something behind it was put right.
    """
    done: list[Diagnostic] = []
    now, said = source, check(source)
    passed, size, ahead = 0, len(said), 0
    while True:
        open_ones = [one for one in said if one.fix is not None][passed:]
        some = _side_by_side(open_ones[:size])
        if not some:
            if len(done) == ahead:
                return FixedFile(source, now.text, tuple(done))
            passed, size, ahead = 0, len(said), len(done)
            continue
        found = tried(some, now, said, check)
        if found is not None:
            done += some
            now, said = found
            size *= 2
        elif len(some) > 1:
            size = len(some) // 2
        else:
            passed += 1


def _side_by_side(remarks: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Return those of some remarks that are fixed in places apart from the fixes before them."""
    found: list[Diagnostic] = []
    taken: list[Edit] = []
    for one in remarks:
        edits = _edits(one)
        if all(map(_are_apart, edits, edits[1:])) and all(
            _finds_room(each, taken) for each in edits
        ):
            found.append(one)
            for each in edits:
                insort(taken, each)
    return found


def _finds_room(edit: Edit, taken: Sequence[Edit]) -> bool:
    """Return whether an edit is apart from those that are taken, which are in their order."""
    place = bisect(taken, edit)
    around = (*taken[max(place - 1, 0) : place], edit, *taken[place : place + 1])
    return all(map(_are_apart, around, around[1:]))


def _are_apart(one: Edit, other: Edit) -> bool:
    end, start = (one.end_line, one.end_column), (other.line, other.column)
    return end <= start and (one.line, one.column) < start


def _edits(remark: Diagnostic) -> tuple[Edit, ...]:
    return remark.fix.edits if remark.fix else ()


def tried(
    remarks: Sequence[Diagnostic], source: Source, said: Iterable[Diagnostic], check: Check
) -> tuple[Source, tuple[Diagnostic, ...]] | None:
    """Return a text with the fixes of remarks, and what is said then; None where one fixes nothing.

    `said` is what `check` says of the text as it is.
    """
    edits = sorted(each for one in remarks for each in _edits(one))
    fixed = source._replace(text=with_edits(source.text, edits))
    then = check(fixed)
    before, gone, after = (Counter(one.code for one in some) for some in (said, remarks, then))
    return (fixed, then) if after <= before - gone else None


# `lint`: everything that can be said of policy files, without resources.

_NOT_EVALUATED = frozenset({"KV019"})
"""What `apply` says of kinds that it makes no use of; `lint` checks them all the same."""


def lint(
    paths: Iterable[str | Source],
    stdin: bytes | None = None,
    crd_paths: Iterable[str] = (),
    walking: Walking = USUAL,
    *,
    is_reported: Callable[[str], bool] = lambda _: True,
) -> Findings:
    """Return every remark about the policies and test manifests in `paths`, file by file.

    `stdin` holds the bytes that the path `-` stands for; definitions of custom resources tell
    which kinds there are. Documents of kinds that no CRD of Kyverno describes are told as `apply`
    tells them. `is_reported` says of a file whether anything is told of it.
    """
    read = tuple(read_sources(paths, stdin, walking))
    defined = load_definitions(crd_paths, stdin, walking)
    return _findings(read, defined, walking, is_reported)


def plan_fixes(
    findings: Findings, stdin: bytes | None = None, crd_paths: Iterable[str] = ()
) -> tuple[FixedFile, ...]:
    """Return the files of which something that was found can surely be put right."""
    defined = load_definitions(crd_paths, stdin, USUAL)
    alone = USUAL._replace(as_found=True)

    def check(source: Source) -> tuple[Diagnostic, ...]:
        return _findings((source,), defined, alone).diagnostics

    sources = (
        Source(name, text, os.path.dirname(name) or os.curdir)
        for name, text in findings.texts.items()
    )
    return tuple(fixed_files(findings.diagnostics, sources, check))


def _findings(
    read: tuple[Source | Diagnostic, ...],
    defined: Loaded,
    walking: Walking,
    is_reported: Callable[[str], bool] = lambda _: True,
) -> Findings:
    sources = tuple(one for one in read if isinstance(one, Source))
    documents, remarks = read_documents(sources, typing=STRICT, walking=walking)
    manifests = tuple(one for one in documents if is_test_manifest(one.data))
    unread = tuple(one for one in read if isinstance(one, Diagnostic))
    definitions, problems = defined
    # Documents that are left out below still say which kinds there are, as in a run of `apply`.
    given = tuple(filter(is_mapping, objects_of((*definitions, *documents))))
    kinds = crd_kinds(given)
    documents, aside = partition_by_kind(
        (one for one in documents if not is_test_manifest(one.data)),
        POLICIES,
        needed=not (walking.as_found or manifests),
    )
    exceptions, _ = load_exceptions(one for one in documents if is_exception(one.data))
    options = CompileOptions(own_system(), kinds=kinds, cel_exceptions=exceptions.policies)
    said, left_out = without_left_out((*unread, *remarks, *aside, *problems))
    found: list[Diagnostic] = [*said]
    for document in documents:
        if is_reported(document.file):
            found += _remarks(document, options)
    for manifest in manifests:
        found += load_test_manifest(manifest)[1]
    known = tuple(one for one in documents if has_known_shape(one))
    bindings, unfit = load_bindings(documents)
    found += unfit
    for one in bindings:
        found += unread_selectors(
            one.document, binding_selector_problems(one.document.data["spec"])
        )
    policies, _ = load_policies(documents, READERS)
    inputs = LintInputs(
        policies,
        given,
        derived_rules,
        exceptions=exceptions.rules,
        cel_exceptions=exceptions.policies,
        bindings=bindings,
        documents=known,
        kinds=kinds,
        now=options.system.clock.now(),
    )
    found += run_checks((CheckSubject.DOCUMENTS,), inputs)
    wrong = {one.location for one in found if one.severity is Severity.ERROR}
    if exceptions.policies:
        found += lone_problems(exceptions.policies, policies, options)
    inputs = inputs._replace(sound=bool(policies) and not wrong)
    for problem in run_checks((CheckSubject.INPUTS, CheckSubject.FILES), inputs):
        # Files that a hook names alone may refer to policies in other files.
        if problem.location not in wrong and not (walking.as_found and problem.code == "KV071"):
            found.append(problem)
    told = _in_order(one for one in found if is_reported(_file_of(one)))
    checked = sum(
        has_known_shape(one) or sniff(one.data) in native_schemas()
        for one in documents
        if is_reported(one.file)
    )
    tests = sum(is_reported(one.file) for one in manifests)
    texts = {one.name: one.text for one in sources}
    told = tuple(with_reported_edits(one, texts.get(_file_of(one), "")) for one in told)
    return Findings(told, checked, left_out, texts, tests)


def _remarks(document: Document, options: CompileOptions) -> Iterator[Diagnostic]:
    policies, loaded = load_policies([document], READERS)
    if has_known_shape(document):
        yield from shape_diagnostics(document)
        loaded = tuple(one for one in loaded if one.code not in _NOT_EVALUATED)
    yield from loaded
    for policy in policies:
        yield from lint_policy(policy, options)


def _in_order(found: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Return each remark once, by file as first named, then by line and column."""
    once = tuple(dict.fromkeys(found))
    files = {file: index for index, file in reversed([*enumerate(map(_file_of, once))])}

    def position(one: Diagnostic) -> tuple[int, int, int, str]:
        line, column = one.location[1:] if one.location else (0, 0)
        return files[_file_of(one)], line, column, one.code

    return tuple(sorted(once, key=position))


def _file_of(remark: Diagnostic) -> str:
    return remark.location.file if remark.location else ""
