"""The whole shape of a document: what `apply` checks, and the rest of its CRD."""

from kyvsim.load.crd import crd_problems, has_crd
from kyvsim.load.policy import policy_schemas, sniff
from kyvsim.load.structure import check, diagnostics
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.source import Document


def has_known_shape(document: Document) -> bool:
    """Return whether the document is of a kind with a CRD, evaluated by kyvsim or not."""
    return document.data.__class__ is dict and has_crd(sniff(document.data))


def shape_diagnostics(document: Document) -> tuple[Diagnostic, ...]:
    """Return where a document of a known kind does not fit; each place is told once."""
    name = sniff(document.data)
    schema = policy_schemas().get(name)
    problems = check(schema, document.data)[1] if schema else ()
    told = {(problem.code, problem.path) for problem in problems}
    further = {
        (problem.code, problem.path, problem.message): problem
        for problem in crd_problems(name, document.data)
        if (problem.code, problem.path) not in told
    }
    return diagnostics(document, (*problems, *further.values()))
