"""PolicyExceptions from documents."""

from collections.abc import Iterable
from datetime import UTC, datetime

from kyvsim.kube.go_time import parse_rfc3339
from kyvsim.kube.objects import Json, labels, metadata, text_field
from kyvsim.kube.quantities import SECOND
from kyvsim.load.policy import is_exception, sniff
from kyvsim.load.structure import check, diagnostics
from kyvsim.model.diagnostic import Diagnostic, Severity, likely
from kyvsim.model.exception import (
    CelException,
    ExceptedRules,
    Exceptions,
    PolicyException,
    PolicyRef,
)
from kyvsim.model.source import Document
from kyvsim.schema.facts import POLICY_GROUPS, RULES_GROUP, is_written, written_schema
from kyvsim.schema.kinds import served_names

_PRIORITY = "polex.kyverno.io/priority"
_FIRST_SECOND, _LAST_SECOND = -62_135_596_800, 253_402_300_799
"""Of the years 1 to 9999, beyond which Python has no times."""


def load_exceptions(
    documents: Iterable[Document],
) -> tuple[Exceptions, tuple[Diagnostic, ...]]:
    """Return the exceptions in `documents`, and what is wrong with the other documents.

    upstream: cmd/cli/kubectl-kyverno/exception
    """
    rules: list[PolicyException] = []
    policies: list[CelException] = []
    remarks: list[Diagnostic] = []
    for document in documents:
        if document.data is None:
            continue
        name = sniff(document.data)
        if not is_exception(document.data):
            remarks.append(_unsupported(document, name))
            continue
        for_rules = name.startswith(f"{RULES_GROUP}/")
        data, problems = check(written_schema(name), document.data)
        remarks.extend(diagnostics(document, problems))
        if problems:
            continue
        if for_rules:
            rules.append(_build(data, document))
            continue
        policies.append(_build_for_policies(data, document))
    return Exceptions(tuple(rules), tuple(policies)), tuple(remarks)


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


def _end_of(expires: str | None) -> datetime | None:
    """Return when an exception ends, None for never."""
    if not expires:
        return None

    seconds = parse_rfc3339(expires).nanoseconds / SECOND
    return datetime.fromtimestamp(min(max(seconds, _FIRST_SECOND), _LAST_SECOND), UTC)


def _build_for_policies(data: Json, document: Document) -> CelException:
    """Return an exception for policies in CEL."""
    spec, priority = data["spec"], labels(data).get(_PRIORITY, "")
    return CelException(
        name=text_field(metadata(data), "name"),
        namespace=text_field(metadata(data), "namespace"),
        policies=tuple(PolicyRef(one["kind"], one["name"]) for one in spec["policyRefs"]),
        conditions=tuple(spec.get("matchConditions", ())),
        images=tuple(spec.get("images", ())),
        values=tuple(spec.get("allowedValues", ())),
        passes=spec["reportResult"] == "pass",
        priority=max(int(priority), 0) if priority.removeprefix("-").isdecimal() else 0,
        expires=_end_of(spec.get("expiresAt")),
        document=document,
    )


def _unsupported(document: Document, name: str) -> Diagnostic:
    if is_written(name):
        hint = ": policies are arguments, exceptions follow --exception"
    else:
        known = served_names((group, "PolicyException") for group in POLICY_GROUPS)
        hint = likely(name, known)
    text = f"policy exception type not supported: {name.strip('/') or 'no kind'}{hint}"
    return Diagnostic("KV011", Severity.ERROR, text, document.locate(()))
