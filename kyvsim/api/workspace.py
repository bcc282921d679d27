"""Diagnostics and rules of files in editors."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from kyvsim.api.lint import lint, with_fixes
from kyvsim.api.schemas import known_schemas
from kyvsim.languages import READERS, derived_rules
from kyvsim.load.documents import STRICT, STRICT_FLOATS, parse_documents, read_documents
from kyvsim.load.edits import with_edits
from kyvsim.load.files import Source, read_sources
from kyvsim.load.folders import USUAL, Walking
from kyvsim.load.policy import load_policies, sniff
from kyvsim.load.recognise import is_test_manifest
from kyvsim.load.shape import has_known_shape
from kyvsim.load.structure import check, diagnostics
from kyvsim.model.diagnostic import Diagnostic, strictly
from kyvsim.model.source import Document

_MARKS = ("kyverno", "kyvsim/", "admissionregistration.k8s.io/")
"""Strings in files of Kyverno, kyvsim or Kubernetes' admission policies."""


class Rules(NamedTuple):
    """The settings of an editor."""

    paths: tuple[str, ...] = ()
    """Files and folders to read in addition to open files; () for the editor's folders."""
    exceptions: tuple[str, ...] = ()
    crd_paths: tuple[str, ...] = ()
    walking: Walking = USUAL
    strict: bool = False
    shows_results: bool = True
    """Whether open manifests are evaluated."""


USUAL_RULES = Rules()


class ProjectSettings(NamedTuple):
    """A project's configuration and its diagnostics."""

    rules: Rules
    remarks: tuple[Diagnostic, ...] = ()


def concerns(text: str) -> bool:
    """Return whether a text may be relevant for Kyverno or kyvsim."""
    return any(mark in text for mark in _MARKS)


def read_workspace(paths: Iterable[str], walking: Walking = USUAL) -> Mapping[str, Source]:
    """Return the readable files in `paths` that may be relevant, by their real paths."""
    sources = read_sources(paths, None, walking)
    return {
        os.path.realpath(source.name): source
        for source in sources
        if isinstance(source, Source) and concerns(source.text)
    }


def read_within(file: str, roots: Iterable[str]) -> Source | None:
    """Return a file by its real path; None if it is outside of `roots` or not text."""
    real = (os.path.realpath(root) for root in roots)
    if not os.path.isfile(file) or not any(
        file == root or file.startswith(os.path.join(root, "")) for root in real
    ):
        return None
    source = next(iter(read_sources((file,))))
    return source if isinstance(source, Source) else None


def remarks_on(
    source: Source, others: Iterable[Source], rules: Rules = USUAL_RULES
) -> tuple[Diagnostic, ...]:
    """Return the diagnostics of a text, in order; none if it is not relevant.

    `others` are files with related policies, exceptions and bindings.
    """
    if not concerns(source.text):
        return ()
    folder = os.path.dirname(source.name) or os.curdir
    texts = [other._replace(folder=os.path.dirname(other.name) or os.curdir) for other in others]
    own = os.path.realpath(source.name)
    linted = lint(
        (*texts, source._replace(folder=folder)),
        crd_paths=rules.crd_paths,
        walking=rules.walking._replace(as_found=True),
        is_reported=lambda file: os.path.realpath(file) == own,
    ).diagnostics
    reported = {(diagnostic.code, diagnostic.location) for diagnostic in linted}
    shapes = (one for one in _of_forms(source) if (one.code, one.location) not in reported)
    remarks = (*linted, *shapes)
    return strictly(remarks) if rules.strict else remarks


def can_be_fixed(
    remark: Diagnostic, source: Source, check: Callable[[Source], tuple[Diagnostic, ...]]
) -> bool:
    """Return whether a fix works; `check` returns the diagnostics of a text.

    A fix of `lint` must cause no other diagnostic. After a suggested name, there may be some: a
    policy is only checked further if it can be read.
    """
    if remark.fix is None:
        return False
    if remark.fix.changes:
        return with_fixes([remark], source, check(source), check) is not None
    place = remark.location
    then = check(source._replace(text=with_edits(source.text, remark.fix.edits)))
    return all((one.code, one.location) != (remark.code, place) for one in then)


def _of_forms(source: Source) -> Iterator[Diagnostic]:
    """Yield diagnostics of files that `lint` does not check: values, scenarios."""
    documents, _ = read_documents((source,), None, STRICT_FLOATS)
    for document in documents:
        name = sniff(document.data)
        is_native = name.startswith("admissionregistration.k8s.io/")
        is_linted = has_known_shape(document) or is_native or is_test_manifest(document.data)
        has_other_form = name in known_schemas() and not is_linted
        if has_other_form:
            yield from diagnostics(document, check(known_schemas()[name], document.data)[1])


class ReportedRule(NamedTuple):
    """A summary of a rule."""

    policy: str
    name: str
    line: int
    section: str
    kinds: tuple[str, ...]
    action: str
    derived: tuple[tuple[str, tuple[str, ...]], ...]


def rules_in(source: Source) -> tuple[ReportedRule, ...]:
    """Return the rules of the policies in a text; invalid policies have none."""
    documents = [one for one in parse_documents(source, STRICT) if isinstance(one, Document)]
    policies, _ = load_policies(documents, READERS)
    rules: list[ReportedRule] = []
    for policy in policies:
        every = derived_rules(policy)
        for rule in policy.rules:
            own = [one for one in every if one.path == rule.path and one.name != rule.name]
            reported = ReportedRule(
                policy=f"{policy.kind} {policy.name}",
                name=rule.name,
                line=policy.document.locate(rule.path).line,
                section=rule.facts.section,
                kinds=tuple(sorted(rule.facts.kinds or ())),
                action=rule.facts.action.own or policy.facts.action.own,
                derived=tuple((one.name, tuple(sorted(one.facts.kinds or ()))) for one in own),
            )
            rules.append(reported)
    return tuple(rules)
