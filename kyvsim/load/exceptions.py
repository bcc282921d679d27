"""PolicyExceptions from documents."""

from collections.abc import Iterable

from kyvsim.kube.objects import Json, metadata, text_field
from kyvsim.load.policy import EXCEPTION_KINDS, policy_schemas, sniff
from kyvsim.load.structure import check, diagnostics, suggestion
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.exception import ExceptedRules, PolicyException
from kyvsim.model.source import Document


def is_exception(data: Json) -> bool:
    """Return whether a document is a PolicyException that kyvsim evaluates."""
    return sniff(data) in EXCEPTION_KINDS


def load_exceptions(
    documents: Iterable[Document],
) -> tuple[tuple[PolicyException, ...], tuple[Diagnostic, ...]]:
    """Return the exceptions in `documents`, and what is wrong with the other documents.

    upstream: cmd/cli/kubectl-kyverno/exception
    """
    exceptions = []
    remarks: list[Diagnostic] = []
    for document in documents:
        if document.data is None:
            continue
        name = sniff(document.data)
        if name not in EXCEPTION_KINDS:
            remarks.append(_unsupported(document, name))
            continue
        data, problems = check(policy_schemas()[name], document.data)
        remarks.extend(diagnostics(document, problems))
        if not problems:
            exceptions.append(_build(data, document))
    return tuple(exceptions), tuple(remarks)


def _build(data: Json, document: Document) -> PolicyException:
    spec = data["spec"]
    return PolicyException(
        name=text_field(metadata(data), "name"),
        namespace=text_field(metadata(data), "namespace"),
        exceptions=tuple(
            ExceptedRules(entry["policyName"], tuple(entry["ruleNames"]))
            for entry in spec["exceptions"]
        ),
        match=spec["match"],
        conditions=spec.get("conditions"),
        pod_security=tuple(spec.get("podSecurity", ())),
        document=document,
    )


def _unsupported(document: Document, name: str) -> Diagnostic:
    if name.startswith("policies.kyverno.io/") and name.endswith("/PolicyException"):
        text = f"kyvsim does not evaluate {name} yet"
        return Diagnostic("KV018", Severity.ERROR, text, document.locate(()))
    hint = suggestion(name, EXCEPTION_KINDS)
    text = f"policy exception type not supported: {name.strip('/') or 'no kind'}{hint}"
    return Diagnostic("KV011", Severity.ERROR, text, document.locate(()))
