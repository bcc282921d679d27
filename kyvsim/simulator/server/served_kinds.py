"""The kinds that a cluster serves, as policies name them.

Source of the rules: upstream pkg/clients/dclient/discovery.go, pkg/utils/kube/kind.go.
"""

from collections.abc import Iterator
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.kubernetes.discovery import (
    is_builtin,
    parse_kind_selector,
    plural,
    served_versions,
    split_api_version,
)
from kyvsim.kubernetes.objects import ObjectKey, text_field
from kyvsim.kubernetes.wildcard import has_wildcard, matches
from kyvsim.simulator.server.store import Store

_ANY_VERSION = ("v1", "v2", "v1alpha1", "v1alpha2", "v1beta1", "v2alpha1", "v2beta1")
"""Those that a kind may have of which no versions are known."""
_PARTS = MappingProxyType(
    {
        "Deployment": ("scale",),
        "Namespace": ("finalize",),
        "Node": ("proxy",),
        "Pod": (
            "attach",
            "binding",
            "ephemeralcontainers",
            "eviction",
            "exec",
            "log",
            "portforward",
            "proxy",
            "resize",
        ),
        "ReplicaSet": ("scale",),
        "ReplicationController": ("scale",),
        "Service": ("proxy",),
        "ServiceAccount": ("token",),
        "StatefulSet": ("scale",),
    }
)
"""Subresources of built-in kinds besides `status`."""
_WITHOUT_STATUS = frozenset(
    {"ConfigMap", "Secret", "ServiceAccount", "Endpoints", "Event", "Role", "RoleBinding"}
    | {"ClusterRole", "ClusterRoleBinding", "Lease", "StorageClass", "PriorityClass"}
)


def find_kinds(text: str, store: Store) -> list[tuple[str, str, str]]:
    """Return group, kind and subresource of everything served that a `kinds` entry selects."""
    group, version, kind, subresource = parse_kind_selector(text)
    named = store.served if has_wildcard(kind) else [key for key in store.served if key[1] == kind]
    found = [
        key
        for key in named
        if matches(kind, key[1]) and matches(group, key[0]) and _serves(key, version, store)
    ]
    parts = [(*key, part) for key in found for part in _parts(key, subresource, store)]
    if subresource and (kind, subresource) != ("*", "*"):
        return parts
    return [*((*key, "") for key in found), *parts]


class ServedResource(NamedTuple):
    """One resource, or part of one, in one version."""

    group: str
    version: str
    resource: str
    subresource: str
    namespaced: bool


def find_resources(text: str, store: Store) -> Iterator[ServedResource]:
    """Yield the resources that a `kinds` entry selects, in each version that is served."""
    _, version, _, _ = parse_kind_selector(text)
    known = store.served
    for group, kind, part in find_kinds(text, store):
        resource = plural(group, kind, store.defined)
        for served in served_versions(group, kind, store.defined) or (version,):
            if matches(version, served):
                namespaced = known[group, kind].namespaced
                yield ServedResource(group, served, resource, part, namespaced)


def is_cluster_wide(text: str, store: Store) -> bool:
    """Return whether `kind` or `apiVersion/kind` names a kind without namespaces."""
    api_version, _, kind = text.rpartition("/")
    group = split_api_version(api_version)[0]
    return any(
        known == kind and not facts.namespaced and (not api_version or its_group == group)
        for (its_group, known), facts in store.served.items()
    )


def kind_key(text: str, store: Store) -> ObjectKey | None:
    """Return apiVersion and kind of what a `kinds` entry names, None where nothing serves it."""
    group, version, kind, _ = parse_kind_selector(text)
    for key in store.served:
        if key[1] != kind or not matches(group, key[0]):
            continue
        for served in served_versions(*key, store.defined) or _ANY_VERSION:
            if matches(version, served):
                return ObjectKey(f"{key[0]}/{served}" if key[0] else served, kind, "", "")
    return None


def _serves(key: tuple[str, str], pattern: str, store: Store) -> bool:
    versions = served_versions(*key, store.defined) or _ANY_VERSION
    return any(matches(pattern, version) for version in versions)


def _parts(key: tuple[str, str], pattern: str, store: Store) -> list[str]:
    """Return the subresources of a kind that a pattern selects."""
    if not pattern:
        return []
    group, kind = key
    parts = [] if kind in _WITHOUT_STATUS else ["status"]
    if is_builtin(group, kind):
        parts += _PARTS.get(kind, ())
    else:
        parts += _defined_parts(key, store)
    return [part for part in dict.fromkeys(parts) if matches(pattern, part)]


def _defined_parts(key: tuple[str, str], store: Store) -> list[str]:
    for definition in store.list("apiextensions.k8s.io/v1", "CustomResourceDefinition", ""):
        spec = definition.get("spec") or {}
        if (text_field(spec, "group"), text_field(spec.get("names"), "kind")) == key:
            return [
                part for one in spec.get("versions") or () for part in one.get("subresources") or ()
            ]
    return []
