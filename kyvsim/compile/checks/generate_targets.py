"""A generate rule says what it makes, and where.

upstream: api/kyverno/v1/common_types.go, pkg/policy/generate/validate.go
"""

from collections.abc import Iterator

from kyvsim.compile.checks.patterns import unsupported_anchor
from kyvsim.compile.checks.refusal import RuleUnderCheck, has, is_set
from kyvsim.kube.go_text import to_json
from kyvsim.kube.objects import Json
from kyvsim.kube.wildcard import has_wildcard
from kyvsim.model.diagnostic import Diagnostic


def check_generate(subject: RuleUnderCheck) -> Iterator[Diagnostic]:
    """One source, and a target with kind, name, apiVersion and namespace."""
    generate = subject.data.get("generate", {})
    if not has(subject.data, "generate"):
        return
    sources = (
        generate.get("data") is not None,
        is_set(generate.get("clone")),
        generate.get("cloneList", {}).get("kinds") is not None,
        "foreach" in generate,
    )
    if sum(sources) > 1:
        text = (
            f"{subject.text_path}: Forbidden: only one of generate patterns(data, clone, cloneList"
            " and foreach) can be specified"
        )
        yield subject.refuse("KV129", text, ("generate",))
        return
    if "foreach" not in generate:
        for text in _problems(generate, subject):
            yield subject.refuse("KV129", f"{subject.text_path}.{text}", ("generate",))
    for index, loop in enumerate(generate.get("foreach", ())):
        for text in _problems(loop, subject):
            place = f"{subject.text_path}.foreach[{index}]"
            yield subject.refuse("KV129", f"{place}.{text}", ("generate", "foreach", index))


def check_generate_data(subject: RuleUnderCheck) -> Iterator[Diagnostic]:
    """Data has no anchors, the selector of sources no wildcards, the kind is not the trigger's."""
    generate = subject.data.get("generate", {})
    if not has(subject.data, "generate"):
        return
    place = f"path: {subject.text_path}.generate."
    selector = generate.get("cloneList", {}).get("selector")
    if has_wildcard(to_json(selector)):
        text = f"{place}selector.: wildcard characters `*/?` not supported"
        yield subject.refuse("KV130", text, ("generate", "cloneList", "selector"))
    found = unsupported_anchor(generate.get("data"), frozenset())
    if found:
        text_path, reason, path = found
        text = f"{place}data.{text_path}.: anchors not supported on generate resources: {reason}"
        yield subject.refuse("KV130", text, ("generate", "data", *path))
    kinds = subject.data.get("match", {}).get("resources", {}).get("kinds", ())
    if generate.get("kind", "") in kinds:
        text = "generation kind and match resource kind should not be the same"
        yield subject.refuse("KV130", text, ("generate", "kind"))


def _problems(target: Json, subject: RuleUnderCheck) -> Iterator[str]:
    """Yield what is wrong with one target, beginning with the field."""
    policy = subject.policy
    namespace = target.get("namespace", "")
    clone = target.get("clone", {})
    if policy.kind == "Policy" and namespace != policy.namespace:
        yield (
            "namespace: Forbidden: target resource scope mismatched: a namespaced policy cannot"
            f" generate resources in other namespaces, expected: {policy.namespace}, received:"
            f" {namespace} "
        )
    elif policy.kind == "Policy" and clone.get("name"):
        source = clone.get("namespace", "")
        if source != policy.namespace:
            yield (
                "namespace: Forbidden: target resource scope mismatched: a namespaced policy cannot"
                f" clone resources from other namespaces, expected: {policy.namespace}, received:"
                f" {source} "
            )
    if target.get("kind") and not namespace:
        yield "namespace: Forbidden: target namespace must be set for a namespaced resource"
    sources = target.get("cloneList", {})
    if not sources.get("kinds"):
        for name in ("kind", "name", "apiVersion"):
            if not target.get(name):
                yield f"{name}: Forbidden: {name} can not be empty"
        return
    source = sources.get("namespace", "")
    if policy.kind == "Policy" and source != policy.namespace:
        yield (
            "cloneList.namespace: Forbidden: a namespaced policy cannot clone resources from other"
            f" namespace, expected: {policy.namespace}, received: {source}"
        )
    if not source:
        yield (
            "cloneList.namespace: Forbidden: namespace is required for namespaced target resources"
        )
