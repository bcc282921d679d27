"""References to kinds, resources, policies and rules that do not exist."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import permutations
from typing import TYPE_CHECKING, NamedTuple

from kyvsim.engine.compile.compiled import warn
from kyvsim.engine.match import kinds_of_block
from kyvsim.kubernetes.discovery import (
    crd_kinds,
    every_kind,
    parse_kind_selector,
    plural,
    split_api_version,
)
from kyvsim.kubernetes.labels import unselectable_label
from kyvsim.kubernetes.objects import KubernetesObject, Path, contains_text, found_at, object_key
from kyvsim.kubernetes.wildcard import has_wildcard, matches
from kyvsim.languages.classic.validation.rule_parts import is_open
from kyvsim.languages.classic.validation.variables import (
    fix_of_keys,
    impossible_calls_in,
    unreadable_variables,
)
from kyvsim.model.diagnostic import (
    ChangeKind,
    Diagnostic,
    Fix,
    Severity,
    change,
    listed,
    nearest,
)
from kyvsim.model.policy import Binding, CelException, ExceptedRules, Policy, PolicyException, Rule
from kyvsim.model.request import OPERATIONS
from kyvsim.model.source import Document
from kyvsim.model.values import Values
from kyvsim.policy.cel_policy import expressions
from kyvsim.policy.rule import RuleNode
from kyvsim.policy.visit import texts_within
from kyvsim.schema.kinds import CEL_GROUP, kyverno_kinds

if TYPE_CHECKING:
    from kyvsim.policy.cel_policy import MatchConstraints, ResourceRule

# Unknown kinds in match and exclude blocks: the rule never runs, and no failure shows it.
# A kind is known if it is built in, one of Kyverno's, defined by a given CRD, or the kind of a
# given object. Names with wildcards are not checked.
# upstream: pkg/utils/kube/kind.go, pkg/clients/dclient/discovery.go

_NEAR = 0.85
"""How similar two names must be for one to be a typo of the other."""
_MOST_MEANT = 200
"""Maximum number of unknown kinds for which a similar one is searched; more are no typos."""
NAME_IT = "pass its CRD with --crd-path"
"""The advice for a custom resource without a CRD."""
_FURTHER: Mapping[str, tuple[str, ...]] = {
    "": (
        *("NodeProxyOptions", "ServiceProxyOptions", "PodAttachOptions", "PodExecOptions"),
        *("PodPortForwardOptions", "PodProxyOptions"),
    ),
    "authentication.k8s.io": ("TokenRequest",),
    "autoscaling": ("Scale",),
    "policy": ("Eviction",),
    "openreports.io": ("ClusterReport", "Report"),
}
"""Kinds that are sent to subresources, and kinds of reports that Kyverno can write."""
REMOVED_KINDS: Mapping[str, str] = {
    "PodSecurityPolicy": "Kubernetes 1.25 removed it (use Pod Security Standards)",
}
"""Kinds of Kubernetes that no definition brings back."""


class _Use(NamedTuple):
    document: Document
    path: Path
    text: str


def known_kinds(objects: Iterable[KubernetesObject]) -> frozenset[tuple[str, str]]:
    """Return group and kind of all kinds that are built in, or defined or used by the objects."""
    given = tuple(objects)
    keys = [object_key(data) for data in given]
    shown = {(split_api_version(key.api_version)[0], key.kind) for key in keys}
    # Most objects have built-in kinds, which share one set.
    always = _always_known()
    others = {*shown, *crd_kinds(given)} - always
    return always | others if others else always


@lru_cache(maxsize=1)
def _always_known() -> frozenset[tuple[str, str]]:
    own = {(group, kind) for group, kinds in _FURTHER.items() for kind in kinds}
    return frozenset({*own, *kyverno_kinds(), *every_kind()})


_SEPARATOR = re.compile(r"[,|;]")


def unknown_kinds(
    policies: Iterable[Policy],
    known: frozenset[tuple[str, str]],
    exceptions: Iterable[PolicyException] = (),
) -> Iterator[Diagnostic]:
    """KV215: a kind that is a typo of another, KV216: unknown kinds, all in one diagnostic.

    A similar spelling only proves a typo in a known group: cert-manager's `CertificateRequest` is
    not Kubernetes' `PodCertificateRequest`. Without a group it is a hint.
    """
    filters = [
        (policy.document, one)
        for policy in policies
        for rule in policy.rules
        for one in rule.tree.filters
    ]
    filters += [(one.document, each) for one in exceptions for each in one.match.filters]
    every = (
        _Use(document, (*one.path, "resources", "kinds", index), text)
        for document, one in filters
        for index, text in enumerate(one.kinds)
    )
    others: dict[str, list[_Use]] = {}
    meant_by: dict[tuple[str, str], str] = {}
    for use in every:
        text = use.text
        problem = _malformed(text, known) or _reordered(text, known) or _misread(text)
        if problem:
            text = f"no object has the kind `{text}`: {problem}"
            yield warn(use.document, "KV215", text, use.path)
            continue
        group, _, kind, subresource = parse_kind_selector(use.text)
        is_removed = kind in REMOVED_KINDS  # see KV315
        if not kind or has_wildcard(kind) or is_removed or _is_known(group, kind, known):
            continue
        meant = meant_by.get((group, kind))
        if meant is None:
            meant = _meant(group, kind, known) if len(meant_by) < _MOST_MEANT else ""
            meant_by[group, kind] = meant
        if meant:
            meant = f"{meant}/{subresource}" if subresource else meant
            text = f"no object has the kind `{use.text}`: did you mean `{meant}`?"
            yield warn(use.document, "KV215", text, use.path)
        else:
            others.setdefault(use.text, []).append(use)
    near = {text: _alike(text, known) if len(others) <= _MOST_MEANT else "" for text in others}
    for text, uses in others.items():
        if near[text]:
            times = f" ({len(uses)} times)" if len(uses) > 1 else ""
            message = (
                f"unknown kind `{text}`{times}: did you mean `{near[text]}`? If not, {NAME_IT}"
            )
            yield warn(uses[0].document, "KV216", message, uses[0].path)
    unlike = [text for text in others if not near[text]]
    if unlike:
        first = others[unlike[0]][0]
        text = f"{len(unlike)} unknown kinds: {listed(unlike)}: pass their CRDs with --crd-path"
        if len(unlike) == 1:
            text = f"unknown kind `{unlike[0]}`: {NAME_IT}"
        yield Diagnostic("KV216", Severity.INFO, text, first.document.locate(first.path))


def _malformed(text: str, known: frozenset[tuple[str, str]]) -> str:
    """Return how to write several kinds in one string, or `Deployment.apps`; "" for others."""
    if _SEPARATOR.search(text):
        return "write each kind as an item of the list"
    kind, _, group = text.partition(".")
    if "/" in text:
        group, _, kind = text.partition("/")  # `networking.k8s.io/Ingress` lacks the version
    kind = _spelled(known).get(kind.lower(), kind) if group else kind
    return f"did you mean `{group}/*/{kind}`?" if group and (group, kind) in known else ""


_VERSIONED = re.compile(
    r"(?:(?P<before>.+)[./])?(?P<version>v\d+(?:(?:alpha|beta)\d+)?)(?:[./](?P<after>.+))?"
)
_KIND = re.compile(r"[A-Z]\w+")


def _reordered(text: str, known: frozenset[tuple[str, str]]) -> str:
    """Return which kind is meant by `v1/apps/Deployment` or `Deployment.v1.apps`; "" for others."""
    found = _VERSIONED.fullmatch(text)
    if found is None or _has_kind(text, known):
        return ""
    parts = [part for one in (found["before"], found["after"]) if one for part in one.split("/")]
    if len(parts) == 1 and "." in parts[0]:
        parts = parts[0].split(".", 1)
    for name, group in permutations((*parts, "")[:2]) if len(parts) in {1, 2} else ():
        kind = _spelled(known).get(name.lower(), "")
        groups = [group] if group else sorted(_groups(known).get(kind, ()))
        is_custom = "." in group and _KIND.fullmatch(name)
        if is_custom or (groups and (groups[0], kind) in known):
            meant = f"{groups[0]}/{found['version']}/{kind or name}".lstrip("/")
            return f"the order is group, version, kind: write `{meant}`" if meant != text else ""
    return ""


def _misread(text: str) -> str:
    """Return what is meant by three parts of which one is no group or version; "" for others."""
    group, version, kind, _ = parse_kind_selector(text)
    if text.count("/") != 2:
        return ""
    # Neither has capital letters.
    if version.lower() != version:
        return f"`{version}` is read as a version: write `{group}/*/{version}/{kind}`"
    if group.lower() != group:
        return f"`{group}` is read as a group: a subresource has one name, `{group}/{version}`"
    return ""


def _has_kind(text: str, known: frozenset[tuple[str, str]]) -> bool:
    """Return whether a selector has a known kind, and a subresource that is none of its parts."""
    group, _, kind, subresource = parse_kind_selector(text)
    kind = _spelled(known).get(kind.lower(), kind)
    is_part = _VERSIONED.fullmatch(subresource) or (subresource, kind) in known
    return _is_known(group, kind, known) and not (subresource and is_part)


def unknown_target_kinds(
    policies: Iterable[Policy], known: frozenset[tuple[str, str]]
) -> Iterator[Diagnostic]:
    """KV215: a typo in the kind of objects that a rule generates, clones or changes."""
    for policy in policies:
        for rule in policy.rules:
            for path, api_version, kind in target_kinds(rule.tree):
                problem = kind_problem(api_version, kind, known)
                if problem:
                    yield warn(policy.document, "KV215", problem, path)


def kind_problem(
    api_version: str, kind: str, known: frozenset[tuple[str, str]] | None = None
) -> str:
    """Return what is meant instead of a kind that a group does not have; "" if there is nothing.

    `known` are the known kinds, by default those that are built in.
    """
    known = _always_known() if known is None else known
    group = split_api_version(api_version)[0]
    meant = "" if (group, kind) in known else _meant(group, kind, known, is_written=True)
    if not meant:
        return ""
    text = f"no object has the kind `{kind}`"
    if meant.rpartition("/")[2] == kind:
        place = f"the group `{group}`" if group else "the core group"
        text = f"{place} has no kind `{kind}`"
    return f"{text}: did you mean `{meant}`?"


def target_kinds(rule: RuleNode) -> Iterator[tuple[Path, str, str]]:
    """Yield path, apiVersion and kind of objects that a rule generates, clones or changes."""
    generate, mutate = rule.generate, rule.mutate
    made = [generate.target, *(one.target for one in generate.foreach or ())] if generate else []
    targets = [(one.path, one.api_version, one.kind) for one in made]
    targets += [(one.path, one.api_version, one.kind) for one in (mutate and mutate.targets) or ()]
    for path, api_version, kind in targets:
        if kind and api_version and not is_open([api_version, kind]) and "*" not in kind:
            yield (*path, "kind"), api_version, kind
    for clones in (one.clone_list for one in made if one.clone_list):
        for index, text in enumerate(clones.kinds or ()):
            api_version, _, kind = text.rpartition("/")
            yield (*clones.path, "kinds", index), api_version, kind


def _is_known(group: str, kind: str, known: frozenset[tuple[str, str]]) -> bool:
    if group == CEL_GROUP or (group, kind) in known:
        return True
    return any(matches(group, its_group) for its_group in _groups(known).get(kind, ()))


@lru_cache(maxsize=2)
def _groups(known: frozenset[tuple[str, str]]) -> Mapping[str, list[str]]:
    found: dict[str, list[str]] = {}
    for group, kind in known:
        found.setdefault(kind, []).append(group)
    return found


@lru_cache(maxsize=2)
def _spelled(known: frozenset[tuple[str, str]]) -> Mapping[str, str]:
    return {
        spelled.lower(): name
        for its_group, name in sorted(known, reverse=True)
        for spelled in (plural(its_group, name), name)
    }


def _meant(
    group: str, kind: str, known: frozenset[tuple[str, str]], *, is_written: bool = False
) -> str:
    """Return the likely kind, with its group if a different one was given, or "".

    `is_written` is whether the core group is written, and not just a missing group.
    """
    if "." in group and not any(matches(group, its_group) for its_group, _ in known):
        return ""  # a third-party group may have any kinds
    elsewhere = sorted(its_group for its_group, name in known if name == kind)
    if elsewhere:
        return f"{elsewhere[0]}/*/{kind}" if elsewhere[0] else f"v1/{kind}"
    names = _spelled(known)
    if kind.lower() in names:
        return names[kind.lower()]
    if group in {"", "*"}:
        return names.get(nearest(kind, names, _NEAR), "") if is_written else ""
    return names.get(nearest(kind, names, _NEAR), "")


def _alike(text: str, known: frozenset[tuple[str, str]]) -> str:
    """Return the known kind of which a kind without a group may be a typo, or "".

    A typo is a letter or two; another word makes it a different kind.
    """
    group, _, kind, _ = parse_kind_selector(text)
    if group not in {"", "*"}:
        return ""
    near = nearest(kind, sorted(name for _, name in known), _NEAR)
    return near if abs(len(near) - len(kind)) <= 2 else ""


# Unknown resources in constraints and bindings: the policy never runs, and no failure shows it.
# A resource is known if its kind is built in or Kyverno's own, or if a CRD is given, or an object
# whose kind has this plural name by Kubernetes' guess. Names with wildcards are not checked.


class _ResourceUse(NamedTuple):
    document: Document
    path: Path
    name: str
    groups: tuple[str, ...]


def unknown_resources(
    policies: Iterable[Policy],
    objects: Iterable[KubernetesObject],
    bindings: Iterable[Binding] = (),
) -> Iterator[Diagnostic]:
    """KV163: a resource that is a typo of another, KV164: resources without a CRD, once.

    `objects` are all given objects, including CRDs.
    """
    uses = [
        use
        for policy in policies
        if policy.cel_tree is not None
        for constraints in (
            policy.cel_tree.match_constraints,
            policy.cel_tree.target_match_constraints,
        )
        for use in _resource_uses(policy.document, constraints)
    ]
    for binding in bindings:
        uses += _resource_uses(binding.document, binding.tree.match_resources)
    if not uses:
        return
    given = tuple(objects)
    table = crd_kinds(given)
    known = {(group, plural(group, kind, table)): kind for group, kind in known_kinds(given)}
    others: dict[tuple[str, tuple[str, ...]], list[_ResourceUse]] = {}
    for use in uses:
        if CEL_GROUP in use.groups or any((group, use.name) in known for group in use.groups):
            continue
        if "*" in use.groups and any(name == use.name for _, name in known):
            continue
        meant = _meant_resource(use, known)
        if meant:
            text = f"there is no resource `{use.name}` {_place(use.groups)}: {meant}"
            yield warn(use.document, "KV163", text, use.path)
        else:
            others.setdefault((use.name, use.groups), []).append(use)
    if others:
        first = next(iter(others.values()))[0]
        text = f"unknown resource `{first.name}` {_place(first.groups)}: {NAME_IT}"
        if len(others) > 1:
            shown = listed(
                f"{name}.{groups[0]}" if len(groups) == 1 else name for name, groups in others
            )
            text = f"{len(others)} unknown resources: {shown}: pass their CRDs with --crd-path"
        # Custom resources are common, so this alone does not fail a strict run.
        yield Diagnostic("KV164", Severity.INFO, text, first.document.locate(first.path))


def _resource_uses(
    document: Document, constraints: "MatchConstraints | None"
) -> Iterator[_ResourceUse]:
    if constraints is None:
        return
    for rule in (*constraints.resource_rules, *constraints.exclude_resource_rules):
        for index, text in enumerate(rule.resources):
            name, path = text.partition("/")[0], (*rule.path, "resources", index)
            if name != "*" and rule.api_groups:
                yield _ResourceUse(document, path, name, rule.api_groups)


def _meant_resource(use: _ResourceUse, known: Mapping[tuple[str, str], str]) -> str:
    groups = {group for group, _ in known}
    if not any(group in groups or group == "*" for group in use.groups):
        return ""  # third-party groups may have any resources
    named = sorted((group, name) for (group, name), kind in known.items() if kind == use.name)
    own = {key: kind for key, kind in known.items() if "*" in use.groups or key[0] in use.groups}
    spelled = {kind.lower(): name for (_, name), kind in sorted(own.items(), reverse=True)}
    spelled |= {name: name for _, name in own}
    meant = spelled.get(use.name.lower())
    elsewhere = sorted(group for group, name in known if name == use.name)
    if not meant and elsewhere:
        return f"it belongs to another group, {_place(elsewhere[:1])}"
    if not meant and named:
        return f"resources have plural names: write `{named[0][1]}`, {_place(named[0][:1])}"
    if not meant:
        meant = spelled.get(nearest(use.name, spelled, 0.8))
    return f"did you mean `{meant}`?" if meant else ""


def _place(groups: Sequence[str]) -> str:
    if "*" in groups:
        return "in any apiGroup"
    if list(groups) == [""]:
        return 'in the core apiGroup (`""`)'
    shown = ", ".join(f"`{group}`" if group else 'core (`""`)' for group in groups)
    return f"in apiGroup {shown}" if len(groups) == 1 else f"in apiGroups {shown}"


# Exceptions, values and bindings that refer to policies or rules that do not exist.
# They are only checked if all policies were loaded: a reference to a rejected one is not a typo.


def unused_exceptions(
    exceptions: Iterable[PolicyException], rules: Mapping[str, frozenset[str]]
) -> Iterator[Diagnostic]:
    """KV071: an exception for a missing policy, KV072: an exception for a missing rule.

    `rules` are the names of all rules, including autogen rules, by policy key.
    """
    for exception in exceptions:
        for index, entry in enumerate(exception.exceptions):
            path = ("spec", "exceptions", index)
            own = rules.get(entry.policy)
            if own is None:
                text = f"the exception is for the policy `{entry.policy}`, which was not passed"
                text = _with(text, "passed", rules)
                yield warn(exception.document, "KV071", text, (*path, "policyName"))
                continue
            for number, name in enumerate(entry.rules):
                # Authors list autogen rules to be safe, even if none is derived.
                if name.startswith("autogen-") or any(matches(name, rule) for rule in own):
                    continue
                text = (
                    f"the exception is for the rule `{name}`, which `{entry.policy}` does not have"
                )
                without_rules = (
                    "CEL policies have no rules; they are exempted by exceptions of "
                    "`policies.kyverno.io`"
                )
                text = _with(text, "its rules", own) if own else f"{text}: {without_rules}"
                yield warn(exception.document, "KV072", text, (*path, "ruleNames", number))


def _with(text: str, what: str, names: Iterable[str]) -> str:
    known = listed(names)
    return f"{text} ({what}: {known})" if known else text


def unused_values(
    values: Values | None, rules: Mapping[str, frozenset[str]], resources: frozenset[str]
) -> Iterator[Diagnostic]:
    """KV073: values for a missing policy, rule or resource."""
    if values is None or values.document is None:
        return
    by_name: dict[str, set[str]] = {}
    for key, names in rules.items():
        by_name.setdefault(key.rpartition("/")[2], set()).update(names)
    yield from _values_of_requests(values.document, values.global_values)
    for kind, policy, name, path in values.entries:
        own = by_name.get(policy)
        if kind == "policy":
            known, where = name in by_name, _with("was not passed", "passed", by_name)
        elif own is None:
            continue
        elif kind == "resource":
            known, where = name in resources, "is not among the resources"
        else:
            known = any(prefix + name in own for prefix in ("", "autogen-", "autogen-cronjob-"))
            where = _with(f"`{policy}` does not have", "its rules", own)
        if not known:
            text = f"the values are for the {kind} `{name}`, which {where}"
            yield warn(values.document, "KV073", text, path)


def _values_of_requests(document: Document, values: Mapping[str, object]) -> Iterator[Diagnostic]:
    """KV073: a typo of `request.operation`, or an operation that requests do not have."""
    for name, value in values.items():
        path = ("globalValues", name)
        if name == "request.operation" and isinstance(value, str) and value not in OPERATIONS:
            near = nearest(value, OPERATIONS)
            hint = f"did you mean `{near}`?" if near else f"they are {listed(OPERATIONS)}"
            yield warn(document, "KV073", f"`{value}` is not an operation: {hint}", path)
        elif nearest(name, ["request.operation"], _NEAR) and name != "request.operation":
            text = f"no rule reads `{name}`: did you mean `request.operation`?"
            yield warn(document, "KV073", text, path)


# Bindings of Kubernetes' admission policies without a policy, and policies without a binding.
# Outside of a cluster, a policy works without a binding; in a cluster it has no effect. upstream:
# k8s.io/kubernetes pkg/apis/admissionregistration/validation/validation.go


def unused_bindings(
    bindings: Iterable[Binding], policies: Iterable[Policy]
) -> Iterator[Diagnostic]:
    """KV167: a binding for a missing policy."""
    every = tuple(policies)
    for binding in bindings:
        if any(binding.binds(one.kind, one.name) for one in every):
            continue
        kind = binding.kind.removesuffix("Binding")
        given = (one.name for one in every if one.kind == kind)
        text = f"the binding is for the {kind} `{binding.tree.policy_name}`, which was not passed"
        text = _with(text, "passed", given)
        yield warn(binding.document, "KV167", text, ("spec", "policyName"))


def binding_problems(
    bindings: Iterable[Binding], policies: Iterable[Policy]
) -> Iterator[Diagnostic]:
    """Yield the diagnostics of `lint` about bindings and policies that are given together.

    References from a file with only bindings or only policies cannot be checked.
    """
    given, every = tuple(bindings), tuple(policies)
    kinds = {one.kind for one in every}
    together = [one for one in given if one.kind.removesuffix("Binding") in kinds]
    yield from unused_bindings(together, every)
    bound_kinds = {one.kind for one in given}
    for policy in every:
        is_bound = any(one.binds(policy.kind, policy.name) for one in given)
        if f"{policy.kind}Binding" in bound_kinds and not is_bound:
            text = (
                f"none of the bindings is for the {policy.kind} `{policy.name}`: without "
                "one it has no effect in a cluster"
            )
            yield warn(policy.document, "KV265", text, ("metadata", "name"))
    for one in given:
        if {"Deny", "Warn"} <= set(one.tree.validation_actions):
            text = (
                "a cluster rejects `Deny` together with `Warn`: a denial already shows the message"
            )
            rest = ", ".join(name for name in one.tree.validation_actions if name != "Warn")
            path, actions = ("spec", "validationActions"), f"validationActions: [{rest}]"
            without = change(one.document, ChangeKind.ENTRY, path, actions)
            fix = Fix("remove `Warn`", (without,))
            yield warn(one.document, "KV266", text, path, fix=fix)
        for policy in every:
            if one.binds(policy.kind, policy.name):
                if one.tree.param_ref is not None and policy.cel.param_kind is None:
                    text = f"`paramRef` has no effect: `{policy.name}` has no `paramKind`"
                    yield warn(one.document, "KV265", text, ("spec", "paramRef"))
                yield from _wider(one, one.tree.match_resources, policy)


def _wider(
    binding: Binding, constraints: "MatchConstraints | None", policy: Policy
) -> Iterator[Diagnostic]:
    """KV269: a resource in a binding that its policy never matches, or contradictory labels."""
    own = policy.cel.resource_rules
    if constraints is None:
        return
    for field, selector in (
        ("namespaceSelector", constraints.namespace_selector),
        ("objectSelector", constraints.object_selector),
    ):
        key = unselectable_label(selector or {})
        if key:
            text = f"the binding never matches: no value of the label `{key}` is selected"
            yield warn(binding.document, "KV269", text, (*constraints.path, field))
    if not own:
        return
    for rule in constraints.resource_rules:
        for index, name in enumerate(rule.resources):
            if not any(_meet(rule._replace(resources=(name,)), one) for one in own):
                text = (
                    f"`{policy.name}` never matches `{name}` as written here: in a cluster this "
                    "has no effect, while Kyverno's command line only uses the binding"
                )
                path = (*rule.path, "resources", index)
                yield warn(binding.document, "KV269", text, path)


def _meet(rule: "ResourceRule", other: "ResourceRule") -> bool:
    """Return whether a request can match both resource rules.

    Groups and versions are ignored, since equivalent resources also match.
    """
    pairs = ((rule.operations, other.operations), (rule.resources, other.resources))
    return all(
        any(
            ("*" in one or "*" in another or one == another)
            for one in some or ("*",)
            for another in others or ("*",)
        )
        for some, others in pairs
    )


def unused_cel_exceptions(
    exceptions: Iterable[CelException], policies: Iterable[Policy]
) -> Iterator[Diagnostic]:
    """KV071: an exception for a missing policy, or for no policy."""
    kinds: dict[str, list[str]] = {}
    for policy in policies:
        kinds.setdefault(policy.name, []).append(policy.kind)
    for exception in exceptions:
        if not exception.policies:
            text = "the exception lists no policy"
            yield warn(exception.document, "KV071", text, ("spec", "policyRefs"))
        for index, ref in enumerate(exception.policies):
            own = kinds.get(ref.name, [])
            if ref.kind in {"ClusterPolicy", "Policy"}:
                text = (
                    "exceptions of policies.kyverno.io are for policies in CEL: write one of "
                    f"kyverno.io/v2 for the {ref.kind}"
                )
                yield warn(exception.document, "KV071", text, ("spec", "policyRefs", index, "kind"))
                continue
            if ref.kind in own:
                continue
            text = f"the exception is for the {ref.kind} `{ref.name}`, which was not passed"
            known = f"{text}: write the kind of `{ref.name}`, {own[0]}" if own else ""
            text = known or _with(text, "passed", kinds)
            field = "kind" if own else "name"
            yield warn(exception.document, "KV071", text, ("spec", "policyRefs", index, field))


def unread_allowances(
    exceptions: Iterable[CelException], policies: Iterable[Policy]
) -> Iterator[Diagnostic]:
    """KV226: an exception with allowed images or values for a policy that does not read them.

    upstream: pkg/cel/policies/vpol/compiler/policy.go: it does not except objects as a whole
    """
    by_ref = {(one.kind, one.name): one for one in policies}
    for exception in exceptions:
        for ref in exception.policies if not exception.is_full else ():
            policy = by_ref.get((ref.kind, ref.name))
            if policy is None or ref.kind.endswith("ImageValidatingPolicy"):
                continue
            if not any("exceptions" in text for _, text, _ in expressions(policy.cel)):
                field = "images" if exception.images else "allowedValues"
                name = (
                    "exceptions.allowedImages" if exception.images else "exceptions.allowedValues"
                )
                text = (
                    f"the exception has no effect: with `{field}` it only fills `{name}`, which "
                    f"`{ref.name}` does not read (without `{field}`, it excepts objects that meet "
                    "`matchConditions`)"
                )
                yield warn(exception.document, "KV226", text, ("spec", field))


def powerless_exceptions(
    exceptions: Iterable[PolicyException],
    policies: Iterable[Policy],
    derive: Callable[[Policy], Iterable[Rule]],
) -> Iterator[Diagnostic]:
    """KV226: an exception for kinds that its rules never match."""
    by_key = {one.key: one for one in policies}
    rules: dict[str, tuple[Rule, ...]] = {}
    for exception in exceptions:
        excepted = kinds_of_block(exception.match)
        if not excepted or not all(one.kinds for one in exception.match.effective):
            continue
        for index, entry in enumerate(exception.exceptions):
            policy = by_key.get(entry.policy)
            if policy is None:
                continue
            if entry.policy not in rules:
                rules[entry.policy] = (*policy.rules, *derive(policy))
            looked_at = _kinds(entry, rules[entry.policy])
            if looked_at and looked_at.isdisjoint(excepted):
                text = (
                    f"the exception has no effect: it matches {listed(excepted)}, but the rules "
                    f"that it lists match {listed(looked_at)}"
                )
                others = _unlisted(entry, exception, rules[entry.policy], excepted)
                if others:
                    text = f"{text} (add the rule {listed(others)}, which autogen derives)"
                yield warn(exception.document, "KV226", text, ("spec", "exceptions", index))
                continue
            missed = excepted - looked_at if looked_at else frozenset()
            others = _unlisted(entry, exception, rules[entry.policy], missed)
            if others:
                kinds = missed & frozenset[str]().union(*others.values())
                text = (
                    f"the exception has no effect for {listed(kinds)}, which it matches: add the "
                    f"rule {listed(others)}, which autogen derives"
                )
                written = (n for n, name in enumerate(entry.rules) if _base(min(others)) == name)
                path: Path = ("spec", "exceptions", index, "ruleNames", next(written))
                yield warn(exception.document, "KV226", text, path)


def _unlisted(
    entry: ExceptedRules, exception: PolicyException, rules: Iterable[Rule], kinds: frozenset[str]
) -> dict[str, frozenset[str]]:
    """Return the autogen rules of excepted rules that are not excepted, and match one of `kinds`.

    The values are the kinds that they match.
    """
    every = [one for one in exception.exceptions if one.policy == entry.policy]
    return {
        one.name: one.facts.kinds
        for one in rules
        if one.facts.kinds
        and one.facts.kinds & kinds
        and _base(one.name) in entry.rules
        and not any(matches(name, one.name) for other in every for name in other.rules)
    }


def _base(rule: str) -> str:
    """Return the name of the rule from which autogen derives another one."""
    return rule.removeprefix("autogen-").removeprefix("cronjob-")


def broken_conditions(exceptions: Iterable[PolicyException]) -> Iterator[Diagnostic]:
    """KV230: a condition of an exception that can never be evaluated; KV205: an invalid call.

    upstream logs the error and ignores the exception: pkg/engine/utils/exceptions.go
    """
    for exception in exceptions:
        document = exception.document
        if not exception.conditions:
            continue
        conditions = found_at(document.data, exception.conditions.path)
        for problem, path, note in unreadable_variables(conditions):
            text = f"a condition of the exception can never be evaluated: {problem}"
            full_path = ("spec", "conditions", *path)
            excerpt, fix = (note,) if note else (), fix_of_keys(document, full_path)
            place = document.locate(full_path)
            yield Diagnostic("KV230", Severity.ERROR, text, place, excerpt, fix)
        if not contains_text(conditions, "("):
            continue
        for problem, path in impossible_calls_in(texts_within(conditions, ("spec", "conditions"))):
            yield warn(document, "KV205", problem, path)


def _kinds(entry: ExceptedRules, rules: Iterable[Rule]) -> frozenset[str]:
    """Return the kinds that excepted rules match; none if a rule matches all kinds."""
    found = [
        rule.facts.kinds for rule in rules if any(matches(name, rule.name) for name in entry.rules)
    ]
    return frozenset() if None in found else frozenset().union(*filter(None, found))
