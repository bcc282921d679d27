"""PolicyExceptions from documents.

Codes: KV165 a time that cannot be read.
"""

from collections.abc import Iterable
from datetime import UTC, datetime

from kyvsim.kube.duration import SECOND
from kyvsim.kube.objects import Json, labels, metadata, text_field
from kyvsim.load.policy import is_exception, sniff
from kyvsim.load.structure import check, diagnostics
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.exception import (
    CelException,
    ExceptedRules,
    Exceptions,
    PolicyException,
    PolicyRef,
)
from kyvsim.model.source import Document
from kyvsim.model.wording import likely
from kyvsim.schema.facts import POLICY_GROUPS, RULES_GROUP, written_schema
from kyvsim.schema.kinds import served_names

_PRIORITY = "polex.kyverno.io/priority"


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
        end = _end_of(data["spec"].get("expiresAt"), document)
        if isinstance(end, Diagnostic):
            remarks.append(end)
        else:
            policies.append(_build_for_policies(data, end, document))
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


def _end_of(expires: str | None, document: Document) -> datetime | Diagnostic | None:
    """Return when an exception ends, None for never, or what is wrong with the time."""
    if not expires:
        return None
    from kyvsim.kube.go_layout import TimeError  # noqa: PLC0415 — slow, for exceptions that end
    from kyvsim.kube.go_time import parse_rfc3339  # noqa: PLC0415 — slow, for exceptions that end

    try:
        return datetime.fromtimestamp(parse_rfc3339(expires).nanoseconds / SECOND, UTC)
    except TimeError:
        text = f"`{expires}` is no time as RFC 3339 writes it"
        place = document.locate(("spec", "expiresAt"))
        return Diagnostic("KV165", Severity.ERROR, text, place)


def _build_for_policies(data: Json, end: datetime | None, document: Document) -> CelException:
    """Return an exception for policies in CEL, which ends at some time or never."""
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
        expires=end,
        document=document,
    )


def _unsupported(document: Document, name: str) -> Diagnostic:
    known = served_names((group, "PolicyException") for group in POLICY_GROUPS)
    hint = likely(name, known)
    text = f"policy exception type not supported: {name.strip('/') or 'no kind'}{hint}"
    return Diagnostic("KV011", Severity.ERROR, text, document.locate(()))
