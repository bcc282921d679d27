"""The kinds that come with Kyverno: their names and versions; and the schemas of given kinds."""

from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from types import MappingProxyType

from kyvsim.kubernetes.discovery import (
    NO_KINDS,
    GivenSchema,
    KindFacts,
    KindTable,
    every_kind,
    lies_in_namespace,
    split_api_version,
)
from kyvsim.kubernetes.package_data import read_table
from kyvsim.schema.facts import POLICY_GROUPS, kyverno_facts
from kyvsim.schema.node import NamedSchemas, Node, schemas_of

# The kinds that come with Kyverno: their names and versions; and the schemas of given kinds.


@lru_cache(maxsize=1)
def kyverno_kinds() -> KindTable:
    """Return Kyverno's kinds as an API server serves them."""
    return MappingProxyType(
        {
            (group, kind): KindFacts(
                facts["plural"],
                facts["namespaced"],
                tuple(name for name, one in facts["versions"].items() if one.get("served", True)),
                short=tuple(facts.get("short", ())),
            )
            for group, kinds in kyverno_facts()["kinds"].items()
            for kind, facts in kinds.items()
        }
    )


@lru_cache(maxsize=1)
def kyverno_groups() -> frozenset[str]:
    """Return the groups of Kyverno's kinds."""
    return frozenset(group for group, _ in kyverno_kinds())


@lru_cache(maxsize=1)
def policy_names() -> frozenset[str]:
    """Return what policies and exceptions are called that nothing else is called.

    `Policy` is a name that others have, too.
    """
    return frozenset(
        kind
        for group, kind in kyverno_kinds()
        if group in POLICY_GROUPS and kind.endswith(("Policy", "Exception")) and kind != "Policy"
    )


def is_cluster_scoped(text: str, extra: KindTable = NO_KINDS) -> bool | None:
    """Return whether `apiVersion/kind`, or `kind`, names a cluster-scoped kind; None if unknown.

    Known are Kubernetes' and Kyverno's own kinds, and `extra` ones. A kind without a group is
    looked for in all groups. upstream: pkg/validation/policy/validate.go `getClusteredResources`
    """
    api_version, _, kind = text.rpartition("/")
    group = split_api_version(api_version)[0]
    table = every_kind({**kyverno_kinds(), **extra})
    keys = [(group, kind)] if api_version else [key for key in table if key[1] == kind]
    found = [lies_in_namespace(*key, table) for key in keys if key in table]
    return not all(found) if found else None


def served_names(keys: Iterable[tuple[str, str]]) -> frozenset[str]:
    """Return the apiVersion/kind of Kyverno's kinds among those of these groups and names."""
    known = kyverno_kinds()
    return frozenset(
        f"{group}/{version}/{kind}"
        for group, kind in keys
        if (group, kind) in known
        for version in known[group, kind].versions
    )


def given_schema(api_version: str, kind: str, kinds: KindTable) -> Node | None:
    """Return the schema that the definition of a kind has for a version, None without one."""
    group, version = split_api_version(api_version)
    facts = kinds.get((group, kind))
    found = facts.schemas.get(version) if facts else None
    if found is None:
        return None
    return _given_node(found)


@lru_cache(maxsize=256)
def _given_node(given: GivenSchema) -> Node:
    return NamedSchemas().node(given.words)


# Kubernetes' own admission policies and their bindings: what documents of them look like.
#
# native.json is written by hand: what else the package has of Kubernetes' kinds says how they are
# called and how their fields merge, but not which fields they need and which words those take.


NATIVE_GROUP = "admissionregistration.k8s.io"


@cache
def native_schemas() -> Mapping[str, Node]:
    """Return their schemas by apiVersion/kind; seldom needed."""
    return schemas_of(read_table(__file__, "native.json"))


def native_kinds() -> frozenset[str]:
    """Return what they are called, in any version."""
    return frozenset(name.rpartition("/")[2] for name in native_schemas())
