"""Checks of match and exclude blocks: kinds, names and namespaces that never occur."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import TypeAlias

from kyvsim.engine.compile.compiled import warn
from kyvsim.kubernetes.discovery import (
    NO_KINDS,
    is_namespaced_in_cluster,
    parse_kind_selector,
    split_api_version,
    successor_of,
)
from kyvsim.kubernetes.labels import selector_problem
from kyvsim.kubernetes.objects import Path, metadata, text_field
from kyvsim.kubernetes.wildcard import has_wildcard, matches
from kyvsim.languages.classic.validation.match_blocks import block_problems, user_fields
from kyvsim.languages.classic.validation.rule_parts import is_open, mask_variables
from kyvsim.languages.classic.validation.rule_types import exclusion_problems
from kyvsim.linting.fields import kinds_served
from kyvsim.linting.patterns import are_apart
from kyvsim.linting.references import REMOVED_KINDS, target_kinds
from kyvsim.linting.traversal import nodes_of
from kyvsim.model.diagnostic import ChangeKind, Diagnostic, Fix, Severity, change, listed
from kyvsim.model.policy import Policy, PolicyException, Rule
from kyvsim.model.request import Operation
from kyvsim.model.source import Document
from kyvsim.policy.autogen import contains_pod
from kyvsim.policy.rule import Clone, GenerateTarget, MutateTarget
from kyvsim.policy.tree import ConfigMapEntry, MatchBlock, ResourceFilter
from kyvsim.schema.kinds import kyverno_kinds

_Meet = Callable[[str, str], bool]


def ineffective_exclusions(policy: Policy) -> Iterator[Diagnostic]:
    """KV312: a filter of an exclude block for objects that the rule never matches."""
    for rule in policy.rules:
        match, exclude = rule.tree.match, rule.tree.exclude
        filters = exclude.all if exclude and not exclude.any else ()
        criterion = filters_apart(filters or ())
        if exclude and criterion:
            text = (
                f"nothing is excluded: filters of `exclude.all` have no {criterion} in common, but "
                "an object has to meet all of them (write `any` if one is enough)"
            )
            yield warn(policy.document, "KV312", text, (*exclude.path, "all"))
            continue
        for one in exclude.effective if exclude else ():
            for name, meet, removed, matched in _criteria(one, match.effective):
                if any(meet(text, other) for text in removed for other in matched):
                    continue
                text = (
                    f"this part of the exclude block has no effect: the rule matches the {name} "
                    f"{listed(matched)}, but not {listed(removed)}: correct or remove it"
                )
                if name == "kinds" and contains_pod(matched) and not contains_pod(removed):
                    text = f"{text} (and it prevents autogen rules)"
                yield warn(policy.document, "KV312", text, (*one.path, "resources", name))
                break


def _criteria(
    removed: ResourceFilter, matched: tuple[ResourceFilter, ...]
) -> Iterator[tuple[str, _Meet, tuple[str, ...], tuple[str, ...]]]:
    """Yield the lists of an exclude filter that all filters of a match block have, too."""
    for name, meet, values in _LISTS:
        own, others = values(removed), [values(one) for one in matched]
        if own and others and all(others):
            yield name, meet, own, tuple(one for some in others for one in some)


def _kinds_meet(one: str, other: str) -> bool:
    left, right = parse_kind_selector(one), parse_kind_selector(other)
    return _names_meet(left.kind, right.kind) and _names_meet(left.group, right.group)


def _may_be_same(one: str, other: str) -> bool:
    return is_open([one, other]) or not are_apart(one, other)


def _names_meet(one: str, other: str) -> bool:
    """Return whether two wildcards may match the same string; True if both have wildcards."""
    return (has_wildcard(one) and has_wildcard(other)) or matches(one, other) or matches(other, one)


_List: TypeAlias = tuple[str, _Meet, Callable[[ResourceFilter], tuple[str, ...]]]
_LISTS: tuple[_List, ...] = (
    ("kinds", _kinds_meet, lambda one: one.kinds),
    ("operations", lambda one, other: one == other, lambda one: one.operations),
    ("names", _may_be_same, lambda one: one.names),
)


_NAMESPACES: _List = ("namespaces", _may_be_same, lambda one: one.namespaces)
"""An exclusion of other namespaces is often written to be safe, but not a contradiction."""


def filters_apart(filters: Iterable[ResourceFilter]) -> str:
    """Return the criterion for which two filters have no value in common, or ""."""
    for one, other in combinations(filters, 2):
        for name, meet, values in (*_LISTS, _NAMESPACES):
            left, right = values(one), values(other)
            if left and right and not any(meet(a, b) for a in left for b in right):
                return name.removesuffix("s")
    return ""


def matched_operations(match: MatchBlock) -> frozenset[str]:
    """Return the operations that a block matches, all of them if it names none."""
    found = [frozenset(one.operations or tuple(Operation)) for one in match.effective]
    if match.all and not match.any:
        return frozenset.intersection(*found)
    return frozenset[str]().union(*found)


_NOT_IN_NAMESPACES = re.compile(r"[^a-z0-9*?-]")
_NOT_IN_NAMES = re.compile(r"[^a-z0-9.*?-]")
_DNS_KINDS = frozenset(
    {
        *("Pod", "Deployment", "DaemonSet", "StatefulSet", "ReplicaSet", "Job", "CronJob"),
        *("ReplicationController", "Service", "Namespace", "ConfigMap", "Secret", "Ingress"),
        *("ServiceAccount", "NetworkPolicy", "PersistentVolumeClaim", "PersistentVolume", "Node"),
        *("StorageClass", "HorizontalPodAutoscaler", "PodDisruptionBudget"),
    }
)
"""Kinds whose names are those of DNS. Roles, for example, may have other names."""


def impossible_names(policy: Policy) -> Iterator[Diagnostic]:
    """KV313: a name or namespace that no object can have.

    upstream: k8s.io/apimachinery pkg/util/validation, IsDNS1123Label and IsDNS1123Subdomain
    """
    overrides = [*policy.tree.overrides]
    for rule in policy.rules:
        for one in rule.tree.filters:
            yield from _bad_names(policy.document, one)
            yield from _bad_subjects(policy.document, one)
        overrides += rule.tree.validate.overrides if rule.tree.validate else ()
        for path, text, wrong in _names_in(rule):
            if text == text.strip():  # see KV322
                yield from _bad_texts(policy.document, path, [text], wrong)
    for override in overrides:
        path, names = (*override.path, "namespaces"), override.namespaces or ()
        yield from _bad_texts(policy.document, path, names, _NOT_IN_NAMESPACES)
        own = policy.namespace if policy.kind == "Policy" else ""
        if own and names and not any(matches(one, own) for one in names):
            text = (
                f"a Policy only applies to its own namespace `{own}`, so this action is never "
                "used: write a ClusterPolicy, or set `failureAction`"
            )
            yield warn(policy.document, "KV313", text, path)


def _names_in(rule: Rule) -> Iterator[tuple[Path, str, re.Pattern[str]]]:
    """Yield path, text, and what it must not contain, of names of objects that a rule uses."""
    for node in nodes_of(rule):
        if isinstance(node, ConfigMapEntry):
            path = (*node.path, "configMap")
            yield (*path, "name"), node.config_map_name, _NOT_IN_NAMES
            yield (*path, "namespace"), node.config_map_namespace, _NOT_IN_NAMESPACES
        elif isinstance(node, GenerateTarget | Clone | MutateTarget):
            yield (*node.path, "namespace"), node.namespace, _NOT_IN_NAMESPACES
            if getattr(node, "kind", "") in _DNS_KINDS:
                yield (*node.path, "name"), node.name, _NOT_IN_NAMES


def ineffective_exceptions(exceptions: Iterable[PolicyException]) -> Iterator[Diagnostic]:
    """KV313 and KV315: a name, namespace or kind in an exception that no object can have.

    KV226: filters that no object meets together.
    """
    for exception in exceptions:
        match = exception.match
        criterion = filters_apart(match.all if match.all and not match.any else ())
        if criterion:
            text = (
                f"the exception has no effect: filters of `match.all` have no {criterion} in "
                "common (write `any` if one is enough)"
            )
            yield warn(exception.document, "KV226", text, (*match.path, "all"))
        for one in exception.match.filters:
            yield from _bad_names(exception.document, one)
            yield from _bad_subjects(exception.document, one)
            yield from _passed_kinds(exception.document, one)


def refused_exceptions(exceptions: Iterable[PolicyException]) -> Iterator[Diagnostic]:
    """KV110, KV124, KV125, KV128: what a cluster rejects in an exception.

    upstream: api/kyverno/v2/policy_exception_types.go `Validate`
    """
    for one in exceptions:
        found = []
        if (one.document.data.get("spec") or {}).get("background") is not False:
            text = "background scans have no user: set `background: false`"
            found += [("KV110", text, path) for path in user_fields(one.match)]
        found += block_problems(one.match, namespaced=False)
        found += [
            ("KV128", text, control.path)
            for control in one.pod_security
            for text in exclusion_problems(control)
        ]
        for code, problem, path in found:
            text = f"a cluster rejects this exception: {problem}"
            yield warn(one.document, code, text, path)._replace(severity=Severity.ERROR)


def _bad_names(document: Document, one: ResourceFilter) -> Iterator[Diagnostic]:
    path = (*one.path, "resources")
    yield from _bad_texts(document, (*path, "namespaces"), one.namespaces, _NOT_IN_NAMESPACES)
    if one.kinds and all(parse_kind_selector(text).kind in _DNS_KINDS for text in one.kinds):
        yield from _bad_texts(document, (*path, "names"), one.names, _NOT_IN_NAMES)


_GROUPS = re.compile(
    r"system:(?:masters|nodes|authenticated|unauthenticated|serviceaccounts(?::.*)?)"
)


def _bad_subjects(document: Document, one: ResourceFilter) -> Iterator[Diagnostic]:
    """Yield names of Kubernetes that are those of another kind of subject.

    upstream: k8s.io/apiserver pkg/authentication/user, pkg/authentication/serviceaccount
    """
    for person in one.subjects or ():
        name, meant = person.name, ""
        if person.kind == "User" and _GROUPS.fullmatch(name):
            meant = "Group"
        elif person.kind == "Group" and name.startswith("system:serviceaccount:"):
            meant = "User"
        if meant:
            path = (*person.path, "kind")
            text = f"no {person.kind} has the name `{name}`: write `kind: {meant}`"
            fix = Fix(f"use {meant}", (change(document, ChangeKind.VALUE, path, meant),))
            yield warn(document, "KV313", text, (*person.path, "name"), fix=fix)
        elif person.kind == "ServiceAccount" and ":" in name and not is_open(name):
            text = f"no ServiceAccount has the name `{name}`: its namespace is in `namespace`"
            yield warn(document, "KV313", text, (*person.path, "name"))


def _bad_texts(
    document: Document, path: Path, found: Iterable[str], wrong: re.Pattern[str]
) -> Iterator[Diagnostic]:
    noun = "namespace" if str(path[-1]).startswith("namespace") else "object of this kind"
    for index, text in enumerate(found):
        # The values of variables are unknown.
        if is_open(text) and "{{" not in text:
            continue
        if not (char := wrong.search(mask_variables(text, ""))) or "$(" in text:
            continue
        meant, instead = text.lower().replace("_", "-").strip(), None
        advice = "names consist of lowercase letters, digits and `-`"
        if char[0] in "|,":
            advice = "write each name as an item of the list"
        elif text.startswith("!"):
            advice = "patterns cannot be negated here"
        elif char[0] in "()^$+[]\\" or ".*" in text:
            advice = "patterns are wildcards with `*` and `?`, not regular expressions"
        elif not wrong.search(meant):
            advice = f"did you mean `{meant}`?"
            instead = (text, meant) if "{{" not in text else None
        problem = f"no {noun} has the name `{text}`: {advice}"
        place = (*path, index) if str(path[-1]).endswith("s") else path
        yield warn(document, "KV313", problem, place, instead=instead)


def namespaces_of_cluster_kinds(policy: Policy) -> Iterator[Diagnostic]:
    """KV314: criteria about namespaces for objects without one; KV383: those of one namespace.

    upstream: pkg/engine/utils/match.go; a Namespace counts as in itself, but not for selectors; for
    targets pkg/clients/dclient/helpers.go `GetResources`
    """
    for one in (one for rule in policy.rules for one in rule.tree.match.filters):
        is_namespaced = policy.kind in {"Policy", "CleanupPolicy"}
        kinds = cluster_kinds(one) if is_namespaced else frozenset()
        if one.kinds and kinds:
            text = (
                f"{listed(kinds)} objects have no namespace, and a {policy.kind} only applies to "
                f"its own: write a Cluster{policy.kind}"
            )
            yield warn(policy.document, "KV314", text, (*one.path, "resources", "kinds"))
    yield from _selectors_of_own_namespace(policy)
    for one in (one for rule in policy.rules for one in rule.tree.filters):
        if not one.namespaces and not one.namespace_selector:
            continue
        kinds, path = cluster_kinds(one), (*one.path, "resources")
        is_named = one.namespaces and not any(map(_is_open, one.namespaces))
        if is_named and kinds and "Namespace" not in kinds:
            text = f"{listed(kinds)} objects have no namespace, so this never matches"
            yield warn(policy.document, "KV314", text, (*path, "namespaces"))
        needed = (one.namespace_selector or {}).get("matchLabels")
        if needed and kinds and "Namespace" not in kinds:
            text = f"{listed(kinds)} objects have no namespace, so no label matches"
            yield warn(policy.document, "KV314", text, (*path, "namespaceSelector"))
        if one.namespace_selector and kinds == {"Namespace"}:
            text = (
                "a Namespace never matches a `namespaceSelector`: use `selector`, which tests its "
                "own labels"
            )
            path = (*path, "namespaceSelector")
            renamed = (change(policy.document, ChangeKind.KEY, path, "selector"),)
            fix = None if one.selector else Fix("use selector", renamed)
            yield warn(policy.document, "KV314", text, path, fix=fix)
    yield from _namespaces_of_targets(policy)


def _selectors_of_own_namespace(policy: Policy) -> Iterator[Diagnostic]:
    """KV383: a selector of namespaces in a policy that only sees its own.

    upstream: pkg/engine/utils/match.go, pkg/controllers/cleanup/controller.go
    """
    clusterwide = {"Policy": "ClusterPolicy", "CleanupPolicy": "ClusterCleanupPolicy"}
    if policy.kind not in clusterwide:
        return
    own = text_field(metadata(policy.document.data), "namespace")
    for one in (one for rule in policy.rules for one in rule.tree.match.filters):
        problem = one.namespace_selector and own_namespace_problem(
            policy.kind, clusterwide[policy.kind], own, one.namespace_selector
        )
        if problem:
            path = (*one.path, "resources", "namespaceSelector")
            yield warn(policy.document, "KV383", problem, path)


def _namespaces_of_targets(policy: Policy) -> Iterator[Diagnostic]:
    """Yield the namespaces in targets of mutations whose kind is cluster-scoped."""
    for rule in policy.rules if policy.kind == "ClusterPolicy" else ():
        for one in (rule.tree.mutate and rule.tree.mutate.targets) or ():
            if not _is_open(one.namespace) and _is_cluster_scoped(f"{one.api_version}/{one.kind}"):
                path = (*one.path, "namespace")
                text = (
                    f"{one.kind} objects have no namespace, so no target is found: remove "
                    "`namespace`"
                )
                remove = change(policy.document, ChangeKind.REMOVE, path)
                fix = Fix("remove `namespace`", (remove,))
                yield warn(policy.document, "KV314", text, path, fix=fix)


_SELECTORS = (
    ("must be empty", "remove `values`, or write `In` or `NotIn`"),
    ("can't be empty", "add values, or write `Exists` or `DoesNotExist`"),
    ("not a valid label selector operator", "write `In`, `NotIn`, `Exists` or `DoesNotExist`"),
)
"""Parts of problems of selectors, with advice."""


def invalid_namespace_selectors(policy: Policy) -> Iterator[Diagnostic]:
    """KV346: a selector of namespaces that is never evaluated; Kyverno only checks the others.

    upstream: pkg/utils/match/labels.go, k8s.io/apimachinery pkg/apis/meta/v1/helpers.go
    """
    for one in (one for rule in policy.rules for one in rule.tree.filters):
        found = (one.namespace_selector or {}).get("matchExpressions")
        for index, entry in enumerate(found if isinstance(found, list) else ()):
            problem = selector_problem({"matchExpressions": [entry]})
            if problem and not is_open(found):
                place = ("resources", "namespaceSelector", "matchExpressions", index)
                advice = next((f" ({each})" for sign, each in _SELECTORS if sign in problem), "")
                text = f"invalid selector, which selects nothing: {problem}{advice}"
                yield warn(policy.document, "KV346", text, (*one.path, *place))


def _is_open(pattern: str) -> bool:
    return not pattern.strip("*")


def cluster_kinds(one: ResourceFilter) -> frozenset[str]:
    """Return the kinds of a filter if all of them are known and cluster-scoped."""
    if not all(map(_is_cluster_scoped, one.kinds)):
        return frozenset()
    return frozenset(parse_kind_selector(text).kind for text in one.kinds)


def _is_cluster_scoped(text: str) -> bool:
    """Return whether a kind selector only matches a known cluster-scoped kind."""
    served = kinds_served(text, NO_KINDS)
    return bool(served) and not any(
        is_namespaced_in_cluster(split_api_version(version)[0], kind) for version, kind in served
    )


_SENT_TO: Mapping[str, str] = {
    "PodExecOptions": "Pod/exec",
    "PodAttachOptions": "Pod/attach",
    "PodPortForwardOptions": "Pod/portforward",
    "PodProxyOptions": "Pod/proxy",
    "NodeProxyOptions": "Node/proxy",
    "ServiceProxyOptions": "Service/proxy",
    "Eviction": "Pod/eviction",
    "TokenRequest": "ServiceAccount/token",
    "Scale": "*/scale",
}
"""Kinds of objects that are sent to a subresource, and how rules match them."""
_BODIES: Mapping[str, tuple[str, frozenset[str]]] = {
    "exec": (
        "PodExecOptions",
        frozenset({"stdin", "stdout", "stderr", "tty", "container", "command"}),
    ),
    "attach": ("PodAttachOptions", frozenset({"stdin", "stdout", "stderr", "tty", "container"})),
    "portforward": ("PodPortForwardOptions", frozenset({"ports"})),
    "eviction": ("Eviction", frozenset({"metadata", "deleteOptions"})),
    "binding": ("Binding", frozenset({"metadata", "target"})),
    "scale": ("Scale", frozenset({"metadata", "spec.replicas", "status"})),
    "token": ("TokenRequest", frozenset({"metadata", "spec", "status"})),
}
"""The kinds of objects that are sent to subresources, and their fields."""


_ONLY_NAMES = frozenset({"eviction", "scale", "token"})
"""The subresources whose objects have no metadata of their own, which a Binding may have."""
_OF_OWNERS = frozenset({"metadata.labels", "metadata.annotations", "metadata.ownerReferences"})


def not_in_body(subresource: str, fields: Sequence[str]) -> str:
    """Return why an object that is sent to a subresource does not have a field, or "".

    upstream: k8s.io/api core/v1, policy/v1, autoscaling/v1, authentication/v1;
    pkg/utils/admission/utils.go `ConvertResource`
    """
    kind, known = _BODIES.get(subresource, ("", frozenset()))
    name, inner = fields[0], ".".join(fields[:2])
    if subresource in _ONLY_NAMES and inner in _OF_OWNERS:
        return (
            f"`{inner}` has no value: the object of a request for `{subresource}` has the kind "
            f"{kind}, which only has the name of the owner (an API call in the context can read it)"
        )
    if inner in {"metadata", "metadata.namespace"}:
        return ""  # Kyverno adds the namespace of the request
    is_known = name in {"apiVersion", "kind", *known} or inner in known
    if (
        not kind
        or is_known
        or (len(fields) == 1 and any(one.startswith(f"{name}.") for one in known))
    ):
        return ""
    is_inside = name == "metadata" or any(one.startswith(f"{name}.") for one in known)
    shown = inner if is_inside else name
    return (
        f"`{shown}` has no value: the object of a request for `{subresource}` has the kind "
        f"{kind}, with the fields {listed(known, 7)} "
        "(an API call in the context can read the owner)"
    )


def kinds_never_requested(policy: Policy) -> Iterator[Diagnostic]:
    """KV315: a kind that no request has: it was removed, or is sent to a subresource.

    upstream: pkg/webhooks/handlers/enrich.go, which matches the kind of the parent
    """
    for rule in policy.rules:
        for one in rule.tree.filters:
            yield from _passed_kinds(policy.document, one, denied=_denies_all(rule))
            if one.operations == ("CONNECT",) and one.kinds and not any(map(_connects, one.kinds)):
                text = (
                    "CONNECT requests are sent to subresources, which these kinds do not match: "
                    f"write `{one.kinds[0]}/exec`, for example"
                )
                path = (*one.path, "resources", "operations")
                yield warn(policy.document, "KV315", text, path)
        for path, api_version, kind in target_kinds(rule.tree):
            problem, _ = _passed(f"{api_version}/{kind}".lstrip("/"), alone=True)
            if problem:
                text = problem.replace("no request has", "no object has")
                yield warn(policy.document, "KV315", text, path)


def _connects(text: str) -> bool:
    selector = parse_kind_selector(text)
    return bool(selector.subresource) or has_wildcard(selector.kind)


def _denies_all(rule: Rule) -> bool:
    """Return whether a rule denies the objects that it matches because of their kind alone."""
    validate = rule.tree.validate
    deny = validate.deny if validate else None
    return deny is not None and not (deny.conditions and deny.conditions.conditions)


def _passed_kinds(
    document: Document, one: ResourceFilter, *, denied: bool = False
) -> Iterator[Diagnostic]:
    for index, text in enumerate(one.kinds):
        problem, meant = _passed(text, alone=len(one.kinds) == 1, denied=denied)
        if problem:
            path = (*one.path, "resources", "kinds", index)
            instead = (text, meant) if meant else None
            yield warn(document, "KV315", problem, path, instead=instead)


def _passed(text: str, *, alone: bool, denied: bool = False) -> tuple[str, str]:
    """Return the problem of a kind, which may be the only one of its filter, and what is meant.

    `denied` is whether the rule denies all objects of the kind.
    """
    group, version, kind, subresource = parse_kind_selector(text)
    if kind in REMOVED_KINDS and (alone or not has_wildcard(version)):
        return f"no request has the kind `{text}`: {REMOVED_KINDS[kind]}", ""
    sent_to = _SENT_TO.get(kind)
    if sent_to and not subresource:
        problem = (
            f"no request matches the kind `{text}`: such objects are sent to a subresource, and "
            f"rules match the kind of its owner (write `{sent_to}`)"
        )
        # `Scale` is the body of several subresources.
        return problem, "" if has_wildcard(sent_to) else sent_to
    later = successor_of(group, version, kind, kyverno_kinds())
    if later:
        problem = f"no request has the version of `{text}`, which was removed"
        # A rule that shall keep a version out must not deny the served one.
        advice = ", so it can be left out" if denied else f": write `{group}/{later}/{kind}`"
        return f"{problem}{advice}", ""
    return "", ""


def own_namespace_problem(
    kind: str, cluster_kind: str, own: str, selector: Mapping[str, object] | None
) -> str:
    """Return why a policy of one namespace does not need a selector of namespaces, or ""."""
    labels = (selector or {}).get("matchLabels")
    name = labels.get("kubernetes.io/metadata.name") if isinstance(labels, dict) else None
    if own and name == own:
        return ""
    return (
        f"a {kind} only sees objects of its own namespace{f' `{own}`' if own else ''}, so this can "
        f"select no other: write a {cluster_kind} for several namespaces"
    )
