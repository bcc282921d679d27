"""`lint`: diagnostics about policies, and fixes."""

import os
import re
from bisect import bisect, insort
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Final, NamedTuple

from kyvsim.api.inputs import objects_of
from kyvsim.api.processes import shared_by_processes
from kyvsim.api.refused_objects import refused_objects
from kyvsim.api.suppression import EVERYTHING, Selection, selected, without_ignored
from kyvsim.api.system import own_system
from kyvsim.engine.compile import CompileOptions
from kyvsim.kubernetes.discovery import crd_kinds, is_builtin, split_api_version
from kyvsim.kubernetes.objects import metadata, text_field
from kyvsim.languages import READERS, derived_rules, read_binding
from kyvsim.languages.cel.exceptions import lone_problems, refused_by_cluster
from kyvsim.languages.constraints import selector_errors as unread_selectors
from kyvsim.languages.constraints import selector_problems
from kyvsim.linting.policies import lint_cel_exceptions, lint_policy
from kyvsim.linting.registry import run_checks
from kyvsim.linting.runs import CheckSubject, Kustomized, LintInputs
from kyvsim.linting.suites import TestInputs
from kyvsim.load.documents import STRICT, Loaded, read_documents
from kyvsim.load.edits import NoEditError, edits_of, with_edits
from kyvsim.load.files import Source, read_sources
from kyvsim.load.folders import USUAL, Walking
from kyvsim.load.policy import is_exception, load_bindings, load_exceptions, load_policies, sniff
from kyvsim.load.recognise import (
    advice_for,
    is_mapping,
    is_test_manifest,
    resource_files,
    unescaped_variables,
)
from kyvsim.load.resources import POLICIES, load_definitions, partition_by_kind
from kyvsim.load.shape import has_known_shape, shape_diagnostics
from kyvsim.load.suite_manifest import load_test_manifest, missing_files
from kyvsim.load.values import load_userinfo, load_values
from kyvsim.model.diagnostic import (
    Diagnostic,
    Edit,
    Fix,
    Severity,
    is_slip,
    nearest,
    without_left_out,
)
from kyvsim.model.policy import Policy
from kyvsim.model.release import NEWEST, Release
from kyvsim.model.source import Document
from kyvsim.model.suite import Manifest
from kyvsim.report.lint import Findings
from kyvsim.schema.kinds import native_kinds, native_schemas

# `lint --fix`: a fix is accepted if it removes one diagnostic and causes no new one.

Check = Callable[[Source], tuple[Diagnostic, ...]]
"""Returns the diagnostics of a text."""


class FixedFile(NamedTuple):
    """A file with fixes."""

    source: Source
    text: str
    fixed: tuple[Diagnostic, ...]


def with_reported_edits(remark: Diagnostic, text: str) -> Diagnostic:
    """Return a diagnostic with the edits of its fix; without the fix if there are none."""
    if remark.fix is None or remark.fix.edits:
        return remark
    try:
        edits = edits_of(text, remark.fix.changes)
    except NoEditError:
        return remark._replace(fix=None)
    return remark._replace(fix=remark.fix._replace(edits=edits))


_SUGGESTION = re.compile(r"^(.*)did you mean `([^`]+)`", re.DOTALL)


_OTHER_WORD = re.compile(r"CEL has `([^`]+)` instead of `([^`]+)`")
_VOCABULARY = frozenset(
    {
        *("KV011", "KV012", "KV014", "KV163", "KV205", "KV215", "KV225", "KV259"),
        *("KV260", "KV325", "KV326", "KV328", "KV335", "KV349", "KV145", "KV150", "KV156"),
    }
)
"""Codes that suggest names of Kubernetes and Kyverno; those that users choose may differ little."""


def with_suggestion(remark: Diagnostic, source: Source, *, only_slips: bool = False) -> Diagnostic:
    """Return a diagnostic whose fix writes the name that its message suggests, if it has one.

    The message or its note names the unknown word before the suggestion, mostly in backticks, where
    a path ends with it. It is replaced on the reported line, or where it is if it occurs once in
    the text. Such a fix is a guess: it is for editors. With `only_slips`, only a slip of the pen in
    a name of Kubernetes or Kyverno, and an operator of another language, is replaced, if it is
    once on the reported line.
    """
    notes = (one for one in remark.excerpt if one.startswith("note: "))
    said, place = "\n".join((remark.message, *notes)), remark.location
    exact, found = _OTHER_WORD.search(said), _SUGGESTION.match(said)
    if remark.fix or not ((exact or found) and place and place.line):
        return remark
    pairs = [(exact[2], exact[1])] if exact else []
    if found and not exact:
        is_certain = said.startswith("?", found.end()) and remark.code in _VOCABULARY
        if only_slips and not is_certain:
            return remark
        before, suggested = found[1], found[2]
        last = suggested.rpartition("/")[2]
        for name in reversed(re.findall(r"`([^`]+)`", before)):
            pairs += [(name, suggested), (re.split(r"[.\]]", name)[-1], suggested)]
        pairs.append((nearest(last, re.findall(r"[A-Za-z][\w.-]*", before)), last))
    lines = source.text.split("\n")
    for word, new in pairs:
        if not word or word == new:
            continue
        beside = r"[\w-]" if word[0].isalnum() else "[=<>!]"
        exactly = re.compile(rf"(?<!{beside}){re.escape(word)}(?!{beside})")
        places = [(n, at) for n, line in enumerate(lines, 1) for at in exactly.finditer(line)]
        here = [(n, at) for n, at in places if n == place.line and at.start() >= place.column - 1]
        if only_slips and (len(here) > 1 or not (exact or is_slip(word, new))):
            continue
        if here or len(places) == 1:
            line, at = (here or places)[0]
            edit = Edit(line, at.start() + 1, line, at.end() + 1, new)
            return remark._replace(fix=Fix(f"use {new}", (), (edit,)))
    return remark


def fixed_files(
    remarks: Iterable[Diagnostic], sources: Iterable[Source], check: Check
) -> Iterator[FixedFile]:
    """Yield each fixable file in `sources`, with all fixes."""
    fixable = {one.location.file for one in remarks if one.fix and one.location}
    for source in sources:
        if source.name in fixable:
            fixed = _fixed(source, check)
            if fixed.fixed:
                yield fixed


def _fixed(source: Source, check: Check) -> FixedFile:
    """Return a file with all possible fixes, several of which are made at once.

    Rejected batches of fixes are split in halves; a single rejected fix is skipped, and tried again
    after other fixes.
    """
    done: list[Diagnostic] = []
    now, diagnostics = source, check(source)
    passed, size, ahead = 0, len(diagnostics), 0
    while True:
        open_ones = [diagnostic for diagnostic in diagnostics if diagnostic.fix is not None]
        batch = _without_overlaps(open_ones[passed:][:size])
        if not batch:
            if len(done) == ahead:
                return FixedFile(source, now.text, tuple(done))
            passed, size, ahead = 0, len(diagnostics), len(done)
            continue
        result = with_fixes(batch, now, diagnostics, check)
        if result is not None:
            done += batch
            now, diagnostics = result
            size *= 2
        elif len(batch) > 1:
            size = len(batch) // 2
        else:
            passed += 1


def _without_overlaps(remarks: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Return the diagnostics whose edits do not overlap with earlier ones."""
    apart: list[Diagnostic] = []
    taken: list[Edit] = []
    for remark in remarks:
        edits = _edits(remark)
        if all(map(_are_disjoint, edits, edits[1:])) and all(_fits(edit, taken) for edit in edits):
            apart.append(remark)
            for edit in edits:
                insort(taken, edit)
    return apart


def _fits(edit: Edit, taken: Sequence[Edit]) -> bool:
    """Return whether an edit does not overlap with the sorted edits `taken`."""
    place = bisect(taken, edit)
    around = (*taken[max(place - 1, 0) : place], edit, *taken[place : place + 1])
    return all(map(_are_disjoint, around, around[1:]))


def _are_disjoint(edit: Edit, other: Edit) -> bool:
    end, start = (edit.end_line, edit.end_column), (other.line, other.column)
    return end <= start and (edit.line, edit.column) < start


def _edits(remark: Diagnostic) -> tuple[Edit, ...]:
    return remark.fix.edits if remark.fix else ()


def with_fixes(
    remarks: Sequence[Diagnostic], source: Source, earlier: Iterable[Diagnostic], check: Check
) -> tuple[Source, tuple[Diagnostic, ...]] | None:
    """Return a text with fixes and its diagnostics; None if one fix does not work.

    `earlier` are the diagnostics of the unchanged text. A file without one of its errors may have
    warnings that the error hid.
    """
    edits = sorted(edit for remark in remarks for edit in _edits(remark))
    fixed = source._replace(text=with_edits(source.text, edits))
    then = check(fixed)
    before, gone, after = (
        Counter(diagnostic.code for diagnostic in diagnostics)
        for diagnostics in (earlier, remarks, then)
    )
    if any(remark.severity is Severity.ERROR for remark in remarks):
        hidden = {one.code for one in then if one.severity is not Severity.ERROR} - gone.keys()
        after -= Counter({code: after[code] for code in hidden})
    return (fixed, then) if after <= before - gone else None


def lint(
    paths: Iterable[str | Source],
    stdin: bytes | None = None,
    crd_paths: Iterable[str | Source] = (),
    walking: Walking = USUAL,
    *,
    is_reported: Callable[[str], bool] = lambda _: True,
    release: Release = NEWEST,
    jobs: int = 1,
    selection: Selection = EVERYTHING,
) -> Findings:
    """Return the diagnostics of the policies and test manifests in `paths`, file by file.

    `stdin` is read for the path `-`. CRDs are read from `crd_paths` and the documents;
    `is_reported` returns whether a file is reported. `jobs` is the number of processes, 0 for one
    per processor if it is worth it.
    """
    read = tuple(read_sources(paths, stdin, walking))
    defined = load_definitions(crd_paths, stdin, walking)
    return _findings(
        read, defined, walking, is_reported, release=release, jobs=jobs, selection=selection
    )


_FEW: Final = 100
"""Maximum number of policies for which one process is faster than several."""
_FIRST: Final = 8
"""Number of policies that are checked before processes are forked, which share loaded modules."""


def plan_fixes(
    findings: Findings,
    stdin: bytes | None = None,
    crd_paths: Iterable[str] = (),
    release: Release = NEWEST,
    selection: Selection = EVERYTHING,
) -> tuple[FixedFile, ...]:
    """Return the files that can be fixed safely."""
    defined = load_definitions(crd_paths, stdin, USUAL)
    alone = USUAL._replace(as_found=True)

    def check(source: Source) -> tuple[Diagnostic, ...]:
        found = _findings((source,), defined, alone, release=release, selection=selection)
        return found.diagnostics

    sources = (
        Source(name, text, os.path.dirname(name) or os.curdir)
        for name, text in findings.texts.items()
    )
    return tuple(fixed_files(findings.diagnostics, sources, check))


def plan_test_fixes(files: Iterable[str]) -> tuple[FixedFile, ...]:
    """Return the files of tests whose outdated fields can be replaced safely."""

    def check(source: Source) -> tuple[Diagnostic, ...]:
        documents, found = read_documents((source,), typing=STRICT)
        found += tuple(one for test in documents for one in load_test_manifest(test)[1])
        return tuple(with_reported_edits(one, source.text) for one in found)

    read = read_sources(files, None, USUAL)
    fixed = (_fixed(source, check) for source in read if isinstance(source, Source))
    return tuple(one for one in fixed if one.fixed)


def _findings(
    read: tuple[Source | Diagnostic, ...],
    defined: Loaded,
    walking: Walking,
    is_reported: Callable[[str], bool] = lambda _: True,
    *,
    release: Release,
    jobs: int = 1,
    selection: Selection,
) -> Findings:
    sources = tuple(source for source in read if isinstance(source, Source))
    documents, remarks = read_documents(sources, typing=STRICT, walking=walking)
    suites = tuple(document for document in documents if is_test_manifest(document.data))
    every = documents
    early = (*_unescaped(read, remarks), *chain.from_iterable(map(_problems_of_tests, documents)))
    manifests = tuple(filter(_is_manifest, documents))
    unread = tuple(source for source in read if isinstance(source, Diagnostic))
    definitions, problems = defined
    # CRDs in documents that are ignored below still define kinds, as in `apply`.
    given = tuple(filter(is_mapping, objects_of((*definitions, *documents))))
    kinds = crd_kinds(given)
    documents, aside = partition_by_kind(
        (document for document in documents if not is_test_manifest(document.data)),
        POLICIES,
        needed=not (walking.as_found or suites),
    )
    documents = tuple(one for one in documents if one.folder or not _is_manifest(one))
    exceptions, _ = load_exceptions(one for one in documents if is_exception(one.data))
    system = own_system(release=release)
    options = CompileOptions(system, kinds=kinds, cel_exceptions=exceptions.policies)
    reported, left_out = without_left_out((*unread, *remarks, *aside, *problems))
    diagnostics: list[Diagnostic] = [*reported, *early]
    loaded = [(one, *load_policies([one], READERS)) for one in documents]
    policies = tuple(policy for _, own, _ in loaded for policy in own)
    shown = [one for one in loaded if is_reported(one[0].file)]
    for found in shared_by_processes(
        partial(_remarks, options=options), shown, jobs, few=_FEW, first=_FIRST
    ):
        diagnostics += found
    tested = [load_test_manifest(one) for one in suites]
    for test, problems in tested:
        diagnostics += (*problems, *(missing_files(test) if test else ()))
    known = tuple(document for document in documents if has_known_shape(document))
    bindings, unfit = load_bindings(documents, read_binding)
    diagnostics += unfit
    for binding in bindings:
        selectors = selector_problems(binding.tree.match_resources, binding.tree.param_ref)
        diagnostics += unread_selectors(binding.document, selectors)
    inputs = LintInputs(
        policies,
        given,
        derived_rules,
        exceptions=exceptions.rules,
        cel_exceptions=exceptions.policies,
        bindings=bindings,
        documents=known,
        manifests=manifests,
        tests=_tests((one for one, _ in tested if one), every, policies),
        kustomized=tuple(_kustomized(every)),
        kinds=kinds,
        now=options.system.clock.now(),
    )
    diagnostics += run_checks((CheckSubject.DOCUMENTS,), inputs)
    diagnostics += _refused(manifests, diagnostics)
    wrong = {one.location for one in diagnostics if one.severity is Severity.ERROR}
    if exceptions.policies:
        diagnostics += lone_problems(exceptions.policies, policies, options)
        located = {one.location for one in diagnostics}
        diagnostics += (
            problem
            for exception in exceptions.policies
            for problem in refused_by_cluster(exception, release)
            if problem.location not in located
        )
        diagnostics += lint_cel_exceptions(exceptions.policies, policies, options)
    inputs = inputs._replace(sound=bool(policies) and not wrong)
    # Files that are passed by a hook may refer to policies in other files, and those of a
    # kustomization to changed names.
    diagnostics += (
        problem
        for problem in run_checks((CheckSubject.INPUTS, CheckSubject.FILES), inputs)
        if problem.location not in wrong
        and not (
            problem.code == "KV071"
            and (walking.as_found or _is_renamed(problem, inputs.kustomized))
        )
    )
    reported_sources = [source for source in sources if is_reported(source.name)]
    diagnostics = [one for one in diagnostics if is_reported(_file_of(one))]
    rest: Iterable[Diagnostic] = diagnostics
    if selection.comments:
        rest = without_ignored(diagnostics, reported_sources, is_partial=walking.as_found)
    ordered = selected(_in_order(rest), selection)
    checked = sum(
        has_known_shape(document) or sniff(document.data) in native_schemas()
        for document in documents
        if is_reported(document.file)
    )
    tests = sum(is_reported(manifest.file) for manifest in suites)
    texts = {source.name: source.text for source in sources}
    fixable = tuple(
        with_suggestion(
            with_reported_edits(one, texts.get(_file_of(one), "")),
            Source(_file_of(one), texts.get(_file_of(one), "")),
            only_slips=True,
        )
        for one in ordered
    )
    return Findings(
        fixable,
        checked,
        left_out,
        texts,
        tests,
        sum(not one.folder and is_reported(one.file) for one in manifests),
        release=release.name,
        deprecated=sum(
            is_reported(one.file) and bool(release.deprecation(*sniff(one.data).rsplit("/", 1)))
            for one in documents
        ),
    )


def _is_manifest(document: Document) -> bool:
    """Return whether a document is an object of Kubernetes with metadata, and not a policy."""
    api_version, kind = (text_field(document.data, name) for name in ("apiVersion", "kind"))
    is_known = is_builtin(split_api_version(api_version)[0], kind) and metadata(document.data)
    return bool(is_known) and kind not in native_kinds() and not advice_for(document)


def _kustomized(documents: Sequence[Document]) -> Iterator[Kustomized]:
    for kustomization, files in resource_files(documents):
        yield Kustomized(
            kustomization, tuple(one for one in documents if os.path.abspath(one.file) in files)
        )


def _unescaped(
    read: Iterable[Source | Diagnostic], remarks: Iterable[Diagnostic]
) -> Iterator[Diagnostic]:
    """Yield KV024 for variables in templates: those of charts in folders, and named files."""
    broken = (one for one in remarks if one.severity is Severity.ERROR)
    templates = {_file_of(one) for one in broken if one.code == "KV024"}
    for one in read:
        if isinstance(one, Source):
            found: Iterable[Source | Diagnostic] = (one,) if one.name in templates else ()
        else:
            found = read_sources((_file_of(one),), None, USUAL) if one.code == "KV024" else ()
        for source in found:
            if isinstance(source, Source):
                yield from unescaped_variables(source.name, source.text)


def _is_renamed(problem: Diagnostic, kustomized: Iterable[Kustomized]) -> bool:
    """Return whether a problem is in a file of a kustomization that changes names."""
    return any(
        not {"namePrefix", "nameSuffix"}.isdisjoint(one.kustomization.data)
        and any(document.file == _file_of(problem) for document in one.documents)
        for one in kustomized
    )


def _problems_of_tests(document: Document) -> tuple[Diagnostic, ...]:
    """Return the errors of a file with values or a user, without which `test` reads no test."""
    if not text_field(document.data, "apiVersion").startswith("cli.kyverno.io/"):
        return ()
    loaders = {"Values": load_values, "UserInfo": load_userinfo}
    load = loaders.get(text_field(document.data, "kind"))
    return load(document)[1] if load else ()


def _refused(manifests: Iterable[Document], known: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Return KV233 for named manifests; those of folders may be parts, such as patches."""
    named = [one for one in manifests if not one.folder]
    located = {one.location for one in known} if named else set()
    return [one for one in refused_objects(named) if one.location not in located]


def _tests(
    manifests: Iterable[Manifest], documents: Iterable[Document], policies: Sequence[Policy]
) -> tuple[TestInputs, ...]:
    """Return tests with those of their files that are among the documents."""
    files: dict[str, list[Document]] = {}
    for document in documents:
        files.setdefault(os.path.abspath(document.file), []).append(document)

    def read(manifest: Manifest) -> TestInputs:
        folder = os.path.dirname(manifest.document.file)

        def found(*paths: str) -> list[Document]:
            names = [os.path.abspath(os.path.join(folder, path)) for path in paths]
            is_complete = all(name in files for name in names)
            return [one for name in names for one in files[name]] if is_complete else []

        objects = () if manifest.payloads else found(*manifest.resources, *manifest.targets)
        read_policies = {id(one.data) for one in found(*manifest.policies)}
        own = [one for one in policies if id(one.document.data) in read_policies]
        values = found(manifest.values_file) if manifest.values_file else []
        return TestInputs(
            manifest,
            tuple(one.data for one in objects if is_mapping(one.data)),
            tuple(own),
            load_values(values[0])[0] if len(values) == 1 else None,
        )

    return tuple(map(read, manifests))


def _remarks(
    loaded: tuple[Document, tuple[Policy, ...], tuple[Diagnostic, ...]], options: CompileOptions
) -> list[Diagnostic]:
    """Return the diagnostics of a document with its policies, after those about loading them."""
    document, policies, problems = loaded
    remarks: list[Diagnostic] = []
    if has_known_shape(document):
        remarks += shape_diagnostics(document, is_valid=bool(policies))
        # `apply` does not evaluate it.
        problems = tuple(one for one in problems if one.code != "KV019")
    remarks += problems
    for policy in policies:
        remarks += lint_policy(policy, options)
    return remarks


def _in_order(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Return the diagnostics without duplicates, by file in input order, line and column."""
    once = tuple(dict.fromkeys(diagnostics))
    files = {file: index for index, file in reversed([*enumerate(map(_file_of, once))])}

    def position(diagnostic: Diagnostic) -> tuple[int, int, int, str]:
        line, column = diagnostic.location[1:] if diagnostic.location else (0, 0)
        return files[_file_of(diagnostic)], line, column, diagnostic.code

    return tuple(sorted(once, key=position))


def _file_of(remark: Diagnostic) -> str:
    return remark.location.file if remark.location else ""
