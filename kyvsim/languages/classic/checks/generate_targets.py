"""A generate rule says what it makes, and where.

upstream: api/kyverno/v1/common_types.go, pkg/policy/generate/validate.go
"""

from collections.abc import Callable, Iterator
from typing import TypeAlias

from kyvsim.kube.go_text import to_json
from kyvsim.kube.objects import Json
from kyvsim.kube.wildcard import has_wildcard
from kyvsim.languages.classic.checks.patterns import unsupported_anchor
from kyvsim.languages.classic.checks.refusal import RuleCheck, RuleUnderCheck, has, is_set
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.source import Path

IsClusterWide: TypeAlias = Callable[[str], bool | None]
"""Says whether a kind, written as apiVersion/kind or kind, has no namespaces; None if unknown."""


def generate_check(cluster_wide: IsClusterWide) -> RuleCheck:
    """Return the check of a generate rule, for a cluster whose kinds have known scopes.

    A kind of unknown scope counts as namespaced, as in Kyverno's command line.
    """
    return lambda subject: _check_generate(subject, cluster_wide)


def unknown_scope_check(cluster_wide: IsClusterWide) -> RuleCheck:
    """Return the check that warns where a target is refused although its scope is unknown."""
    return lambda subject: _unknown_scopes(subject, cluster_wide)


def _unknown_scopes(subject: RuleUnderCheck, cluster_wide: IsClusterWide) -> Iterator[Diagnostic]:
    """KV113: a target without a namespace, of a kind whose scope is unknown."""
    generate = subject.data.get("generate", {})
    targets: list[tuple[Json, Path]] = [(generate, ("generate",))]
    if "foreach" in generate:
        loops = enumerate(generate["foreach"] or ())
        targets = [(loop, ("generate", "foreach", index)) for index, loop in loops]
    for target, path in targets:
        kind = target.get("kind")
        if not kind or target.get("namespace") or cluster_wide(_type_of(target)) is not None:
            continue
        shown = f"{kind} ({target.get('apiVersion', '')})"
        text = (
            f"the scope of {shown} is unknown, so it counts as namespaced: "
            "if it is cluster-scoped, pass its CustomResourceDefinition too"
        )
        remark = subject.refuse("KV113", text, (*path, "kind"))
        yield remark._replace(severity=Severity.WARNING)


def _check_generate(subject: RuleUnderCheck, cluster_wide: IsClusterWide) -> Iterator[Diagnostic]:
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
        for text in _problems(generate, subject, cluster_wide):
            yield subject.refuse("KV129", f"{subject.text_path}.{text}", ("generate",))
    for index, loop in enumerate(generate.get("foreach", ())):
        for text in _problems(loop, subject, cluster_wide):
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


def _problems(target: Json, subject: RuleUnderCheck, cluster_wide: IsClusterWide) -> Iterator[str]:
    """Yield what is wrong with one target, beginning with the field."""
    kind = _type_of(target)
    namespace = target.get("namespace", "")
    mismatch = _mismatch(target, subject, kind if cluster_wide(kind) else "")
    if mismatch:
        yield f"namespace: Forbidden: target resource scope mismatched: {mismatch} "
    if target.get("kind") and cluster_wide(kind):
        if namespace:
            yield (
                "namespace: Forbidden: target namespace must not be set for a cluster-wide resource"
            )
    elif target.get("kind") and not namespace:
        yield "namespace: Forbidden: target namespace must be set for a namespaced resource"
    if target.get("cloneList", {}).get("kinds"):
        yield from _source_problems(target["cloneList"], subject, cluster_wide)
        return
    for name in ("kind", "name", "apiVersion"):
        if not target.get(name):
            yield f"{name}: Forbidden: {name} can not be empty"


def _type_of(target: Json) -> str:
    return f"{target.get('apiVersion', '')}/{target.get('kind', '')}"


def _mismatch(target: Json, subject: RuleUnderCheck, cluster_kind: str) -> str:
    """Return why a namespaced policy cannot have a target, "" where it can.

    `cluster_kind` is the target's kind if that has no namespaces.
    """
    policy = subject.policy
    if policy.kind != "Policy":
        return ""
    if cluster_kind:
        return f"the target must be a namespaced resource: {cluster_kind}"
    clone = target.get("clone", {})
    for verb, given, reaches in (
        ("generate resources in", target.get("namespace", ""), True),
        ("clone resources from", clone.get("namespace", ""), bool(clone.get("name"))),
    ):
        if reaches and given != policy.namespace:
            return (
                f"a namespaced policy cannot {verb} other namespaces, expected:"
                f" {policy.namespace}, received: {given}"
            )
    return ""


def _source_problems(
    sources: Json, subject: RuleUnderCheck, cluster_wide: IsClusterWide
) -> Iterator[str]:
    """Yield what is wrong with a list of kinds to clone."""
    policy, kinds, source = subject.policy, sources["kinds"], sources.get("namespace", "")
    if policy.kind == "Policy":
        for kind in kinds:
            if cluster_wide(kind):
                yield (
                    "cloneList.kinds: Forbidden: the source in cloneList must be a namespaced"
                    f" resource: {kind}"
                )
            if source != policy.namespace:
                yield (
                    "cloneList.namespace: Forbidden: a namespaced policy cannot clone resources"
                    f" from other namespace, expected: {policy.namespace}, received: {source}"
                )
    scopes = [bool(cluster_wide(kind)) for kind in kinds]
    if len(set(scopes)) > 1:
        yield "cloneList.kinds: Forbidden: mixed scope of target resources is forbidden"
    if not all(scopes) and not source:
        yield (
            "cloneList.namespace: Forbidden: namespace is required for namespaced target resources"
        )
    elif all(scopes) and source and policy.kind != "Policy":
        yield (
            "cloneList.namespace: Forbidden: namespace is forbidden for cluster-wide target"
            " resources"
        )
