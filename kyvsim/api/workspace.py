"""What an editor is told of files: remarks on one of them, with the others beside it."""

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from kyvsim.api.lint import lint, tried
from kyvsim.api.schemas import known_schemas
from kyvsim.languages import READERS, derived_rules
from kyvsim.load.documents import STRICT, STRICT_FLOATS, parse_documents, read_documents
from kyvsim.load.files import Source, read_sources
from kyvsim.load.folders import USUAL, Walking
from kyvsim.load.policy import load_policies, sniff
from kyvsim.load.recognise import is_test_manifest
from kyvsim.load.shape import has_known_shape
from kyvsim.load.structure import check, diagnostics
from kyvsim.model.diagnostic import Diagnostic, strictly
from kyvsim.model.source import Document

_MARKS = ("kyverno", "kyvsim/", "admissionregistration.k8s.io/")
"""What a text has where it is of Kyverno, of kyvsim, or an admission policy of Kubernetes."""


class Rules(NamedTuple):
    """How files are looked at."""

    paths: tuple[str, ...] = ()
    """Files and folders that are beside what is open; () for the folders of the editor."""
    exceptions: tuple[str, ...] = ()
    """The same of exceptions, which count in any case."""
    crd_paths: tuple[str, ...] = ()
    walking: Walking = USUAL
    strict: bool = False
    """Whether warnings are errors."""


USUAL_RULES = Rules()


def concerns(text: str) -> bool:
    """Return whether a text may be of Kyverno or of kyvsim."""
    return any(mark in text for mark in _MARKS)


def read_workspace(paths: Iterable[str], walking: Walking = USUAL) -> Mapping[str, Source]:
    """Return by their real paths the files in `paths` that may concern policies.

    What cannot be read is left out: commands tell of it.
    """
    found = read_sources(paths, None, walking)
    return {
        os.path.realpath(one.name): one
        for one in found
        if isinstance(one, Source) and concerns(one.text)
    }


def read_within(file: str, roots: Iterable[str]) -> Source | None:
    """Return a file by its real path; None where it lies in none of `roots`, or is no text."""
    real = (os.path.realpath(one) for one in roots)
    if not os.path.isfile(file) or not any(
        file == one or file.startswith(os.path.join(one, "")) for one in real
    ):
        return None
    found = next(iter(read_sources((file,))))
    return found if isinstance(found, Source) else None


def remarks_on(
    source: Source, others: Iterable[Source], rules: Rules = USUAL_RULES
) -> tuple[Diagnostic, ...]:
    """Return what is wrong with a text, in order; nothing where it is none of Kyverno's.

    `others` are files beside it, whose policies, exceptions and bindings it may be about.
    """
    if not concerns(source.text):
        return ()
    folder = os.path.dirname(source.name) or os.curdir
    texts = [one._replace(folder=os.path.dirname(one.name) or os.curdir) for one in others]
    own = os.path.realpath(source.name)
    found = lint(
        (*texts, source._replace(folder=folder)),
        crd_paths=rules.crd_paths,
        walking=rules.walking._replace(as_found=True),
        is_reported=lambda file: os.path.realpath(file) == own,
    ).diagnostics
    told = {(one.code, one.location) for one in found}
    shapes = (one for one in _of_forms(source) if (one.code, one.location) not in told)
    remarks = (*found, *shapes)
    return strictly(remarks) if rules.strict else remarks


def can_be_fixed(remark: Diagnostic, source: Source, rules: Rules = USUAL_RULES) -> bool:
    """Return whether the fix of a remark puts it right, and leaves nothing else in its place."""

    def check(one: Source) -> tuple[Diagnostic, ...]:
        return remarks_on(one, (), rules)

    return remark.fix is not None and tried([remark], source, check(source), check) is not None


def _of_forms(source: Source) -> Iterator[Diagnostic]:
    """Yield what is wrong with files that `lint` leaves to other commands: values, scenarios."""
    documents, _ = read_documents((source,), None, STRICT_FLOATS)
    for document in documents:
        name = sniff(document.data)
        is_native = name.startswith("admissionregistration.k8s.io/")
        is_linted = has_known_shape(document) or is_native or is_test_manifest(document.data)
        has_other_form = name in known_schemas() and not is_linted
        if has_other_form:
            yield from diagnostics(document, check(known_schemas()[name], document.data)[1])


class ReportedRule(NamedTuple):
    """A rule, in a few words."""

    policy: str
    """Its kind and name."""
    name: str
    line: int
    """Where it begins, from 1."""
    section: str
    """What it does: `validate`, `mutate`, and so on."""
    kinds: tuple[str, ...]
    action: str
    """What a failure does, where that is said."""
    derived: tuple[tuple[str, tuple[str, ...]], ...]
    """Names of the rules that are derived of it, with their kinds."""


def rules_in(source: Source) -> tuple[ReportedRule, ...]:
    """Return the rules of the policies of a text; policies that cannot be read have none."""
    documents = [one for one in parse_documents(source, STRICT) if isinstance(one, Document)]
    policies, _ = load_policies(documents, READERS)
    found: list[ReportedRule] = []
    for policy in policies:
        every = derived_rules(policy)
        for rule in policy.rules:
            own = [one for one in every if one.path == rule.path and one.name != rule.name]
            told = ReportedRule(
                policy=f"{policy.kind} {policy.name}",
                name=rule.name,
                line=policy.document.locate(rule.path).line,
                section=rule.facts.section,
                kinds=tuple(sorted(rule.facts.kinds or ())),
                action=rule.facts.action.own or policy.facts.action.own,
                derived=tuple((one.name, tuple(sorted(one.facts.kinds or ()))) for one in own),
            )
            found.append(told)
    return tuple(found)
