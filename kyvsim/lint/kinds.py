"""Kinds and resources that no object has: the policy never runs, or the exception exempts nothing.

A kind is known if it is built in, one of Kyverno's, defined by a CustomResourceDefinition
that is given, or the kind of an object that is given. Names with wildcards are not checked.
upstream: pkg/utils/kube/kind.go, pkg/clients/dclient/discovery.go
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from kyvsim.engine.compile.compiled import warn
from kyvsim.kubernetes.discovery import (
    crd_kinds,
    every_kind,
    parse_kind_selector,
    plural,
    split_api_version,
)
from kyvsim.kubernetes.objects import Json, Path, object_key
from kyvsim.kubernetes.wildcard import has_wildcard, matches
from kyvsim.model.diagnostic import Diagnostic, Severity, listed, nearest
from kyvsim.model.policy import Binding, Policy
from kyvsim.model.source import Document
from kyvsim.policy.cel_policy import read_binding
from kyvsim.schema.kinds import CEL_GROUP, kyverno_kinds

if TYPE_CHECKING:
    from kyvsim.model.policy import PolicyException
    from kyvsim.policy.cel_policy import MatchConstraints

# Kinds in match and exclude blocks that nothing knows: the rule never runs, and all is green.

_NEAR = 0.85
"""How similar two names must be for one to be a typo of the other."""
_MOST_MEANT = 200
"""For so many unknown kinds a likely one is looked for: who has more has no slips."""
_LETTERS = 2
"""How many letters a typo may add or leave out."""

_FURTHER: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "": (
            "NodeProxyOptions",
            "PodAttachOptions",
            "PodExecOptions",
            "PodPortForwardOptions",
            "PodProxyOptions",
            "ServiceProxyOptions",
        ),
        "authentication.k8s.io": ("TokenRequest",),
        "autoscaling": ("Scale",),
        "policy": ("Eviction",),
        "openreports.io": ("ClusterReport", "Report"),
    }
)
"""Kinds that are sent to subresources, and those of reports that Kyverno can write."""


class _Use(NamedTuple):
    document: Document
    path: Path
    text: str


def known_kinds(objects: Iterable[Json]) -> frozenset[tuple[str, str]]:
    """Return group and kind of all that is built in, or defined or shown by the objects."""
    given = tuple(objects)
    keys = [object_key(data) for data in given]
    shown = {(split_api_version(key.api_version)[0], key.kind) for key in keys}
    # Most objects show what everybody knows, which is one set then.
    always = _always_known()
    others = {*shown, *crd_kinds(given)} - always
    return always | others if others else always


@lru_cache(maxsize=1)
def _always_known() -> frozenset[tuple[str, str]]:
    own = {(group, kind) for group, kinds in _FURTHER.items() for kind in kinds}
    return frozenset({*own, *kyverno_kinds(), *every_kind()})


def unknown_kinds(
    policies: Iterable[Policy],
    known: frozenset[tuple[str, str]],
    exceptions: Iterable["PolicyException"] = (),
) -> Iterator[Diagnostic]:
    """KV215: a kind that is a typo of another, KV216: unknown kinds, all in one diagnostic.

    A similar spelling proves a typo only within a known group: cert-manager's
    `CertificateRequest` is not Kubernetes' `PodCertificateRequest`. Without one it is a hint.
    """
    others: dict[str, list[_Use]] = {}
    meant_by: dict[tuple[str, str], str] = {}
    for use in _uses(policies, exceptions):
        group, _, kind, _ = parse_kind_selector(use.text)
        if not kind or has_wildcard(kind) or _is_known(group, kind, known):
            continue
        meant = meant_by.get((group, kind))
        if meant is None:
            meant = _meant(group, kind, known) if len(meant_by) < _MOST_MEANT else ""
            meant_by[group, kind] = meant
        if meant:
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
        yield Diagnostic(
            "KV216", Severity.INFO, _unknown_kinds_text(unlike), first.document.locate(first.path)
        )


NAME_IT = "pass its CRD with --crd-path"
"""What to do about a custom resource without a definition."""


def _unknown_kinds_text(kinds: Sequence[str]) -> str:
    if len(kinds) == 1:
        return f"unknown kind `{kinds[0]}`: {NAME_IT}"
    return f"{len(kinds)} unknown kinds: {listed(kinds)}: pass their CRDs with --crd-path"


def _uses(policies: Iterable[Policy], exceptions: Iterable["PolicyException"]) -> Iterator[_Use]:
    filters = [
        (policy.document, one)
        for policy in policies
        for rule in policy.rules
        for one in rule.tree.filters
    ]
    filters += [(one.document, each) for one in exceptions for each in one.match.filters]
    for document, one in filters:
        for index, text in enumerate(one.kinds):
            yield _Use(document, (*one.path, "resources", "kinds", index), text)


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


def _meant(group: str, kind: str, known: frozenset[tuple[str, str]]) -> str:
    """Return the likely kind, with its group if another one was named, or ""."""
    if "." in group and not any(matches(group, its_group) for its_group, _ in known):
        return ""  # somebody else's group, whatever its kinds are called
    elsewhere = sorted(its_group for its_group, name in known if name == kind)
    if elsewhere:
        return f"{elsewhere[0]}/*/{kind}" if elsewhere[0] else f"v1/{kind}"
    names = _spelled(known)
    if kind.lower() in names:
        return names[kind.lower()]
    return names.get(nearest(kind, names, _NEAR), "") if group not in {"", "*"} else ""


def _alike(text: str, known: frozenset[tuple[str, str]]) -> str:
    """Return the known kind that a kind without a group may be a typo of, or "".

    Another word in it makes another kind; a typo is a letter or two.
    """
    group, _, kind, _ = parse_kind_selector(text)
    if group not in {"", "*"}:
        return ""
    near = nearest(kind, sorted(name for _, name in known), _NEAR)
    return near if abs(len(near) - len(kind)) <= _LETTERS else ""


# Resource names that nothing knows, in constraints and bindings: nothing runs, and all is green.
#
# A resource is known if its kind is built in or Kyverno's own, if a definition of it is given, or
# an object whose kind leads to the name by Kubernetes' guess. What has a wildcard is left alone.

_NEAR_RESOURCE = 0.8
"""How similar two names must be for one to be a typo of the other."""


class _ResourceUse(NamedTuple):
    document: Document
    path: Path
    name: str
    groups: tuple[str, ...]


def unknown_resources(
    policies: Iterable[Policy], objects: Iterable[Json], bindings: Iterable[Binding] = ()
) -> Iterator[Diagnostic]:
    """KV163: a resource that is a typo of another, KV164: resources without a definition, once.

    `objects` are all that is given, definitions too.
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
        uses += _resource_uses(binding.document, read_binding(binding.spec).match_resources)
    if not uses:
        return
    given = tuple(objects)
    table = crd_kinds(given)
    known = {(group, plural(group, kind, table)): kind for group, kind in known_kinds(given)}
    others: dict[tuple[str, tuple[str, ...]], list[_ResourceUse]] = {}
    for use in uses:
        if _is_known_resource(use, known):
            continue
        meant = _meant_resource(use, known)
        if meant:
            text = f"there is no resource `{use.name}` {_place(use.groups)}: {meant}"
            yield warn(use.document, "KV163", text, use.path)
        else:
            others.setdefault((use.name, use.groups), []).append(use)
    if others:
        first = next(iter(others.values()))[0]
        # Custom resources are common, so this alone does not fail a strict run.
        place = first.document.locate(first.path)
        yield Diagnostic("KV164", Severity.INFO, _unknown_resources_text(list(others)), place)


def _unknown_resources_text(names: list[tuple[str, tuple[str, ...]]]) -> str:
    if len(names) == 1:
        ((name, groups),) = names
        return f"unknown resource `{name}` {_place(groups)}: {NAME_IT}"
    shown = listed(f"{name}.{groups[0]}" if len(groups) == 1 else name for name, groups in names)
    return f"{len(names)} unknown resources: {shown}: pass their CRDs with --crd-path"


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


def _is_known_resource(use: _ResourceUse, known: Mapping[tuple[str, str], str]) -> bool:
    if CEL_GROUP in use.groups or any((group, use.name) in known for group in use.groups):
        return True
    return "*" in use.groups and any(name == use.name for _, name in known)


def _meant_resource(use: _ResourceUse, known: Mapping[tuple[str, str], str]) -> str:
    groups = {group for group, _ in known}
    if not any(group in groups or group == "*" for group in use.groups):
        return ""  # somebody else's groups, whatever their resources are called
    own = {key: kind for key, kind in known.items() if "*" in use.groups or key[0] in use.groups}
    spelled = {kind.lower(): name for (_, name), kind in sorted(own.items(), reverse=True)}
    spelled |= {name: name for _, name in own}
    meant = spelled.get(use.name.lower())
    elsewhere = sorted(group for group, name in known if name == use.name)
    if not meant and elsewhere:
        return f"it belongs to another group, {_place(elsewhere[:1])}"
    if not meant:
        meant = spelled.get(nearest(use.name, spelled, _NEAR_RESOURCE))
    return f"did you mean `{meant}`?" if meant else ""


def _place(groups: Sequence[str]) -> str:
    if "*" in groups:
        return "in any apiGroup"
    if list(groups) == [""]:
        return 'in the core apiGroup (`""`)'
    shown = ", ".join(f"`{group}`" if group else 'core (`""`)' for group in groups)
    return f"in apiGroup {shown}" if len(groups) == 1 else f"in apiGroups {shown}"
