"""PolicyExceptions from documents: recognised and checked."""

from collections.abc import Iterable
from datetime import UTC, datetime

from kyvsim.kubernetes.go_time import parse_rfc3339
from kyvsim.kubernetes.objects import Json, labels, metadata, text_field
from kyvsim.kubernetes.quantities import SECOND
from kyvsim.load.policy import is_exception, sniff
from kyvsim.load.structure import check, diagnostics
from kyvsim.model.diagnostic import Diagnostic, Severity, likely
from kyvsim.model.exceptions import CelException, ExceptedRules, PolicyException, PolicyRef
from kyvsim.model.policy import Exceptions
from kyvsim.model.source import Document
from kyvsim.policy.cel_policy import read_named_expressions
from kyvsim.policy.read import read_conditions, read_match, read_pod_security_exclusions
from kyvsim.schema.kinds import POLICY_GROUPS, RULES_GROUP, is_written, served_names, written_schema

_PRIORITY = "polex.kyverno.io/priority"
_FIRST_SECOND, _LAST_SECOND = -62_135_596_800, 253_402_300_799
"""Of the years 1 to 9999, beyond which Python has no times."""


def load_exceptions(documents: Iterable[Document]) -> tuple[Exceptions, tuple[Diagnostic, ...]]:
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
            if is_written(name):
                hint = ": pass policies as arguments and exceptions with --exception"
            else:
                known = served_names((group, "PolicyException") for group in POLICY_GROUPS)
                hint = likely(name, known)
            text = f"policy exception type not supported: {name.strip('/') or 'no kind'}{hint}"
            remarks.append(Diagnostic("KV011", Severity.ERROR, text, document.locate(())))
            continue
        for_rules = name.startswith(f"{RULES_GROUP}/")
        data, problems = check(written_schema(name), document.data)
        remarks.extend(diagnostics(document, problems))
        if problems:
            continue
        if for_rules:
            spec = data["spec"]
            exception = PolicyException(
                name=text_field(metadata(data), "name"),
                namespace=text_field(metadata(data), "namespace"),
                exceptions=tuple(
                    ExceptedRules(entry["policyName"], tuple(entry["ruleNames"]))
                    for entry in spec["exceptions"]
                ),
                match=read_match(spec["match"], ("spec", "match")),
                conditions=read_conditions(spec.get("conditions"), ("spec", "conditions")),
                pod_security=read_pod_security_exclusions(
                    spec.get("podSecurity"), ("spec", "podSecurity")
                ),
                document=document,
            )
            rules.append(exception)
            continue
        policies.append(_build_for_policies(data, document))
    return Exceptions(tuple(rules), tuple(policies)), tuple(remarks)


def _build_for_policies(data: Json, document: Document) -> CelException:
    spec, priority = data["spec"], labels(data).get(_PRIORITY, "")
    end = None
    if spec.get("expiresAt"):
        seconds = parse_rfc3339(spec["expiresAt"]).nanoseconds / SECOND
        end = datetime.fromtimestamp(min(max(seconds, _FIRST_SECOND), _LAST_SECOND), UTC)
    return CelException(
        name=text_field(metadata(data), "name"),
        namespace=text_field(metadata(data), "namespace"),
        policies=tuple(PolicyRef(one["kind"], one["name"]) for one in spec["policyRefs"]),
        conditions=read_named_expressions(spec, "matchConditions", ("spec",)),
        images=tuple(spec.get("images", ())),
        values=tuple(spec.get("allowedValues", ())),
        passes=spec["reportResult"] == "pass",
        priority=max(int(priority), 0) if priority.removeprefix("-").isdecimal() else 0,
        expires=end,
        document=document,
    )
