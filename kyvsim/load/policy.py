"""Reads policies from documents: recognises and validates them, and sets defaults.

Codes: KV010 a document that cannot be a policy, KV011 a kind that is neither a policy nor an
exception, KV019 an exception among policies, KV227 a namespace of a cluster-scoped kind.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from kyvsim.kubernetes.discovery import (
    is_builtin,
    is_namespaced_in_cluster,
    preferred_version,
    split_api_version,
)
from kyvsim.kubernetes.go_time import parse_rfc3339
from kyvsim.kubernetes.objects import KubernetesObject, labels, metadata, text_field
from kyvsim.kubernetes.quantities import SECOND
from kyvsim.load.recognise import advice_for, is_related, may_mean_policy_group
from kyvsim.load.structure import check, diagnostics
from kyvsim.model.diagnostic import Diagnostic, Severity, error_in, likely
from kyvsim.model.policy import (
    Binding,
    CelException,
    ExceptedRules,
    Exceptions,
    Policy,
    PolicyException,
    PolicyReaders,
    PolicyRef,
)
from kyvsim.model.ports import fault_text
from kyvsim.model.source import Document
from kyvsim.policy.read import (
    read_conditions,
    read_match,
    read_named_expressions,
    read_pod_security_exclusions,
)
from kyvsim.schema.kinds import (
    NATIVE_GROUP,
    POLICY_GROUPS,
    RULES_GROUP,
    is_written,
    kyverno_kinds,
    native_kinds,
    native_schemas,
    served_names,
    written_schema,
)
from kyvsim.schema.node import SchemaNode

if TYPE_CHECKING:
    from kyvsim.policy.cel_policy import BindingNode


def load_policies(
    documents: Iterable[Document], readers: PolicyReaders
) -> tuple[tuple[Policy, ...], tuple[Diagnostic, ...]]:
    """Return the policies in `documents`, and diagnostics.

    A `List` (v1) is replaced by its items. Kinds without a reader are reported.
    """
    policies: list[Policy] = []
    remarks: list[Diagnostic] = []
    for document in documents:
        for item in _expand(document):
            if is_binding(item.data):
                continue
            if is_shared_data(item.data):
                schema = _schema_of(sniff(item.data))
                if schema is None:
                    remarks.append(_wrong_kind(item))
                else:
                    remarks += diagnostics(item, check(schema, item.data)[1])
                continue
            placed, ignored = _placed(item)
            policy, problems = _load_policy(placed, readers)
            remarks.extend((*ignored, *problems))
            if policy is not None:
                policies.append(policy)
    return tuple(policies), tuple(remarks)


def load_bindings(
    documents: Iterable[Document], read_tree: Callable[[Mapping[str, object]], "BindingNode"]
) -> tuple[tuple[Binding, ...], tuple[Diagnostic, ...]]:
    """Return the bindings of admission policies in `documents`, and diagnostics.

    `read_tree` reads their specifications.
    """
    bindings: list[Binding] = []
    remarks: list[Diagnostic] = []
    for document in documents:
        for item in filter(lambda item: is_binding(item.data), _expand(document)):
            placed, ignored = _placed(item)
            data, problems = check(native_schemas()[sniff(placed.data)], placed.data)
            remarks += [*ignored, *diagnostics(placed, problems)]
            if not problems:
                tree = read_tree(data["spec"])
                bindings.append(Binding(data["kind"], metadata(data)["name"], tree, placed))
    return tuple(bindings), tuple(remarks)


def is_binding(data: object) -> bool:
    """Return whether data is a binding of a supported kind of policies."""
    name = sniff(data)
    return name.endswith("AdmissionPolicyBinding") and name in native_schemas()


def _placed(document: Document) -> tuple[Document, tuple[Diagnostic, ...]]:
    """Return a document without the namespace of a cluster-scoped kind, and a warning about it.

    An API server clears the field before it calls a webhook.
    upstream: k8s.io/apiserver pkg/registry/rest/meta.go, create and update handlers
    """
    data = document.data
    written = metadata(data)
    if not text_field(written, "namespace"):
        return document, ()
    group, kind = split_api_version(text_field(data, "apiVersion"))[0], text_field(data, "kind")
    if is_namespaced_in_cluster(group, kind, kyverno_kinds()):
        return document, ()
    text = (
        f"`metadata.namespace` is ignored: {kind} is a cluster-scoped kind, "
        "so this applies to every namespace"
    )
    place = document.locate(("metadata", "namespace"))
    kept = {name: value for name, value in written.items() if name != "namespace"}
    cleared = document._replace(data={**data, "metadata": kept})
    return cleared, (Diagnostic("KV227", Severity.WARNING, text, place),)


def is_shared_data(data: object) -> bool:
    """Return whether data is a GlobalContextEntry."""
    group = split_api_version(text_field(data, "apiVersion"))[0]
    return (group, text_field(data, "kind")) == (RULES_GROUP, "GlobalContextEntry")


def sniff(data: object) -> str:
    """Return `apiVersion/kind` of a document; missing parts are empty."""
    return f"{text_field(data, 'apiVersion')}/{text_field(data, 'kind')}"


def is_exception(data: object) -> bool:
    """Return whether a document is a supported PolicyException."""
    return text_field(data, "kind") == "PolicyException" and is_written(sniff(data))


def _expand(document: Document) -> Iterable[Document]:
    """Return the items of a v1 `List` as documents, or the document itself."""
    if sniff(document.data) != "v1/List":
        return (document,)
    items = document.data.get("items")
    if items.__class__ is not list:
        return ()
    return tuple(document.within(("items", index), item) for index, item in enumerate(items))


def _load_policy(
    document: Document, readers: PolicyReaders
) -> tuple[Policy | None, tuple[Diagnostic, ...]]:
    if document.data is None:
        return None, ()
    name = sniff(document.data)
    read, schema = readers.get(_key_of(name)), _schema_of(name)
    if read is None or schema is None:
        return None, (_unsupported(document, readers),)
    try:
        data, problems = check(schema, document.data)
        if problems:
            return None, diagnostics(document, problems)
        return read(data, document)
    except Exception as error:  # noqa: BLE001 — becomes an error of the document
        text = f"the policy cannot be read: {fault_text(error)}"
        return None, (error_in(document, "KV010", text),)


def _key_of(name: str) -> tuple[str, str]:
    api_version, _, kind = name.rpartition("/")
    return api_version.partition("/")[0], kind


def _schema_of(name: str) -> SchemaNode | None:
    """Return the schema of an apiVersion/kind; None if it is not served."""
    if _key_of(name)[0] == NATIVE_GROUP:
        return native_schemas().get(name)
    return written_schema(name) if is_written(name) else None


def _unsupported(document: Document, readers: PolicyReaders) -> Diagnostic:
    api_version, kind = (text_field(document.data, name) for name in ("apiVersion", "kind"))
    if is_exception(document.data):
        text = "a PolicyException among policies is ignored: pass its file with --exception"
        return error_in(document, "KV019", text)._replace(severity=Severity.WARNING)
    if document.data.__class__ is not dict:
        return error_in(document, "KV010", "a policy must be a mapping")
    if not api_version or not kind:
        missing = "kind" if api_version else "apiVersion"
        text = f"policy type not supported: no `{missing}`{advice_for(document)}"
        return error_in(document, "KV010", text)
    group = split_api_version(api_version)[0]
    if is_related(document.data) or (is_builtin(group, kind) and kind not in native_kinds()):
        return _wrong_kind(document)
    if group and not may_mean_policy_group(group):
        return _wrong_kind(document)
    known = (name for name in native_schemas() if _key_of(name) in readers)
    names = (*served_names(readers), *known)
    return _wrong_kind(
        document, _newest(group, kind, readers) or likely(sniff(document.data), names)
    )


def _newest(group: str, kind: str, readers: Iterable[tuple[str, str]]) -> str:
    """Return `: did you mean …?` with the newest version of a known kind, or "".

    The kind is looked for in the written group, and in others if that does not have it.
    """
    keys = {*readers, *((one, "PolicyException") for one in POLICY_GROUPS)}
    found = {one for one, name in keys if name == kind}
    nearest = {group} & found or found
    if len(nearest) != 1:
        return ""
    meant = f"{min(nearest)}/{preferred_version(min(nearest), kind, kyverno_kinds())}/{kind}"
    return f": did you mean `{meant}`?"


def _wrong_kind(document: Document, hint: str = "") -> Diagnostic:
    """Return the error about a document of another kind, with a hint."""
    shown = f"{text_field(document.data, 'kind')} ({text_field(document.data, 'apiVersion')})"
    text = f"policy type not supported: {shown}{hint or advice_for(document)}"
    return error_in(document, "KV011", text)


_PRIORITY = "polex.kyverno.io/priority"
_FIRST_SECOND, _LAST_SECOND = -62_135_596_800, 253_402_300_799
"""The years 1 to 9999, which Python supports."""


def load_exceptions(documents: Iterable[Document]) -> tuple[Exceptions, tuple[Diagnostic, ...]]:
    """Return the exceptions in `documents`, and errors about other documents.

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
            hint = ": pass policies as arguments and exceptions with --exception"
            if not is_written(name):
                group, kind = _key_of(name)
                known = served_names((one, "PolicyException") for one in POLICY_GROUPS)
                hint = _newest(group, kind, ()) or likely(name, known)
            text = f"policy exception type not supported: {name.strip('/') or 'no kind'}{hint}"
            remarks.append(error_in(document, "KV011", text))
            continue
        data, problems = check(written_schema(name), document.data)
        remarks.extend(diagnostics(document, problems))
        if problems:
            continue
        if name.startswith(f"{RULES_GROUP}/"):
            rules.append(_exception_from_rules(data, document))
        else:
            policies.append(_cel_exception(data, document))
    return Exceptions(tuple(rules), tuple(policies)), tuple(remarks)


def _exception_from_rules(data: KubernetesObject, document: Document) -> PolicyException:
    spec, excluded = data["spec"], ("spec", "podSecurity")
    return PolicyException(
        name=text_field(metadata(data), "name"),
        namespace=text_field(metadata(data), "namespace"),
        exceptions=tuple(
            ExceptedRules(entry["policyName"], tuple(entry["ruleNames"]))
            for entry in spec["exceptions"]
        ),
        match=read_match(spec["match"], ("spec", "match")),
        conditions=read_conditions(spec.get("conditions"), ("spec", "conditions")),
        pod_security=read_pod_security_exclusions(spec.get("podSecurity"), excluded),
        document=document,
    )


def _cel_exception(data: KubernetesObject, document: Document) -> CelException:
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
