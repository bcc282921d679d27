"""Kinds in match and exclude blocks that nothing knows: the rule never runs, and all is green.

In a PolicyException it is the other way round: nothing is let off. A kind is known if it is built
in or Kyverno's own, if a definition of it is given, or an object.
What has a wildcard in its kind is left alone.
upstream: pkg/utils/kube/kind.go, pkg/clients/dclient/discovery.go
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.engine.compile.compiled import warn
from kyvsim.engine.match.criteria import filters
from kyvsim.kubernetes.discovery import (
    crd_kinds,
    every_kind,
    parse_kind_selector,
    plural,
    split_api_version,
)
from kyvsim.kubernetes.objects import Json, object_key
from kyvsim.kubernetes.wildcard import has_wildcard, matches
from kyvsim.model.diagnostic import Diagnostic, Severity, listed, nearest
from kyvsim.model.policy import Filter, Policy, PolicyException
from kyvsim.model.source import Document, Path
from kyvsim.schema.kinds import CEL_GROUP, kyverno_kinds

_NEAR = 0.85
"""How alike two names must be for one to be a slip of the other."""
_MOST_MEANT = 200
"""For so many unknown kinds a likely one is looked for: who has more has no slips."""
_LETTERS = 2
"""How many letters a slip may add or leave out."""

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
    """A kind in a block of a rule or of an exception."""

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
    """Return the kinds that need no object and no definition."""
    own = {(group, kind) for group, kinds in _FURTHER.items() for kind in kinds}
    return frozenset({*own, *kyverno_kinds(), *every_kind()})


def unknown_kinds(
    policies: Iterable[Policy],
    known: frozenset[tuple[str, str]],
    exceptions: Iterable[PolicyException] = (),
) -> Iterator[Diagnostic]:
    """KV215: a kind that is a slip of another, KV216: kinds that nothing knows, all in one note.

    A near spelling proves a slip only within a group that is known: cert-manager's
    `CertificateRequest` is not Kubernetes' `PodCertificateRequest`. Without one it is a hint.
    """
    others: dict[str, list[_Use]] = {}
    meant_by: dict[tuple[str, str], str] = {}
    for use in chain(_uses(policies), _uses_of_exceptions(exceptions)):
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
                f"kind `{text}`{times} is not built in, and neither its definition nor an object is"
                f" given: did you mean `{near[text]}`? If not, {NAME_IT}"
            )
            yield warn(uses[0].document, "KV216", message, uses[0].path)
    unlike = [text for text in others if not near[text]]
    if unlike:
        first = others[unlike[0]][0]
        yield Diagnostic(
            "KV216", Severity.INFO, _none_known(unlike), first.document.locate(first.path)
        )


NAME_IT = "name the file of its CustomResourceDefinition with --crd-path"
"""What to do about a custom resource without a definition."""


def _none_known(kinds: Sequence[str]) -> str:
    """Return that kinds of custom resources, probably, are neither defined nor given."""
    if len(kinds) == 1:
        return (
            f"kind `{kinds[0]}` is not built in, and neither its definition nor an object is"
            f" given: {NAME_IT}"
        )
    return (
        f"{len(kinds)} kinds are not built in, and neither their definitions nor objects are given:"
        f" {listed(kinds)}: name the files of their"
        " CustomResourceDefinitions with --crd-path"
    )


def _uses(policies: Iterable[Policy]) -> Iterator[_Use]:
    for policy in policies:
        for rule in policy.rules:
            blocks = (*rule.facts.match, *rule.facts.exclude)
            yield from _uses_in(policy.document, rule.path, blocks)


def _uses_of_exceptions(exceptions: Iterable[PolicyException]) -> Iterator[_Use]:
    for one in exceptions:
        yield from _uses_in(one.document, ("spec",), filters({"match": one.match}, "match"))


def _uses_in(document: Document, parent: Path, blocks: Iterable[Filter]) -> Iterator[_Use]:
    for one in blocks:
        path = (*parent, *one.path, "resources", "kinds")
        for index, text in enumerate(one.kinds):
            yield _Use(document, (*path, index), text)


def _is_known(group: str, kind: str, known: frozenset[tuple[str, str]]) -> bool:
    if group == CEL_GROUP or (group, kind) in known:
        return True
    return any(matches(group, its_group) for its_group in _groups(known).get(kind, ()))


@lru_cache(maxsize=2)
def _groups(known: frozenset[tuple[str, str]]) -> Mapping[str, list[str]]:
    """Return the groups of kinds by the names of these."""
    found: dict[str, list[str]] = {}
    for group, kind in known:
        found.setdefault(kind, []).append(group)
    return found


@lru_cache(maxsize=2)
def _spelled(known: frozenset[tuple[str, str]]) -> Mapping[str, str]:
    """Return kinds by what people write for them, in small letters."""
    return {
        spelled.lower(): name
        for its_group, name in sorted(known, reverse=True)
        for spelled in (plural(its_group, name), name)
    }


def _meant(group: str, kind: str, known: frozenset[tuple[str, str]]) -> str:
    """Return the kind that was meant, with its group if another one was named, or ""."""
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
    """Return the known kind that a kind without a group may be a slip of, or "".

    Another word in it makes another kind; a slip is a letter or two.
    """
    group, _, kind, _ = parse_kind_selector(text)
    if group not in {"", "*"}:
        return ""
    near = nearest(kind, sorted(name for _, name in known), _NEAR)
    return near if abs(len(near) - len(kind)) <= _LETTERS else ""
