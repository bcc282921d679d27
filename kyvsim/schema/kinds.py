"""Kyverno's kinds: names, versions, schemas; and the schemas of given kinds."""

from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from types import MappingProxyType

from kyvsim.kubernetes.discovery import (
    NO_KINDS,
    GivenSchema,
    KindFacts,
    KindTable,
    every_kind,
    is_namespaced_in_cluster,
    preferred_version,
    split_api_version,
)
from kyvsim.kubernetes.objects import Json
from kyvsim.kubernetes.package_data import read_table
from kyvsim.schema.node import NamedSchemas, SchemaNode, SchemaRef, SchemaWords, schemas_of

# The schema of an object's metadata in files. upstream: k8s.io/apimachinery
# pkg/apis/meta/v1/types.go and pkg/api/validation/objectmeta.go.

_LABEL_VALUE = "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?"
_DNS_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_DNS_SUBDOMAIN = f"{_DNS_LABEL}([.]{_DNS_LABEL})*"
_LABEL_NAME = "[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_ANNOTATION_KEY = f"([A-Za-z0-9][-A-Za-z0-9.]*/)?{_LABEL_NAME}"
_LONGEST_KEY = 317
"""A DNS subdomain, a slash and a name."""

_TEXT: SchemaWords = MappingProxyType({"type": "string", "nullable": True})
_TIME: SchemaWords = MappingProxyType(
    {**_TEXT, "form": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d([.,]\d+)?(Z|[+-]\d\d:\d\d)$"}
)
_OPEN: SchemaWords = MappingProxyType({"x-kubernetes-preserve-unknown-fields": True})
_OF_OWNERS = ("apiVersion", "kind", "name", "uid")
_OWNER: SchemaWords = MappingProxyType(
    {
        "type": "object",
        "required": [*_OF_OWNERS],
        "properties": {
            **{name: {"type": "string", "minLength": 1} for name in _OF_OWNERS},
            "blockOwnerDeletion": "boolean",
            "controller": "boolean",
        },
    }
)


def _keys(form: str) -> SchemaWords:
    return {"type": "string", "maxLength": _LONGEST_KEY, "form": f"^{form}$"}


OBJECT_META: SchemaWords = MappingProxyType(
    {
        "type": "object",
        "required": ["name"],
        "properties": {
            "name": {"type": "string", "maxLength": 253, "form": f"^{_DNS_SUBDOMAIN}$"},
            "generateName": "string",
            "namespace": {"type": "string", "maxLength": 63, "form": f"^({_DNS_LABEL})?$"},
            "labels": {
                "type": "object",
                "propertyNames": _keys(f"({_DNS_SUBDOMAIN}/)?{_LABEL_NAME}"),
                "additionalProperties": {**_TEXT, "maxLength": 63, "form": f"^{_LABEL_VALUE}$"},
            },
            "annotations": {
                "type": "object",
                "propertyNames": _keys(_ANNOTATION_KEY),
                "additionalProperties": _TEXT,
            },
            "creationTimestamp": _TIME,
            "deletionTimestamp": _TIME,
            "deletionGracePeriodSeconds": "integer",
            "finalizers": {"type": "array", "items": "string"},
            "generation": "integer",
            "managedFields": _OPEN,
            "ownerReferences": {"type": "array", "items": _OWNER},
            "resourceVersion": "string",
            "selfLink": "string",
            "uid": "string",
        },
    }
)

# The facts are package data, `kyverno-VERSION.json`, read on first use. They are generated from
# Kyverno's CustomResourceDefinitions by tests/package_data/make_kyverno_facts.py.

KYVERNO = "1.19.0"
RULES_GROUP, CEL_GROUP = "kyverno.io", "policies.kyverno.io"
POLICY_GROUPS = (RULES_GROUP, CEL_GROUP)
"""The groups of kinds that users write; the others are those of reports."""
_NOT_WRITTEN = frozenset({"UpdateRequest"})
_LOOPS = ("mutate", "validate")
"""The sections of a rule whose `foreach` may be nested."""
_WITH_LOOPS = frozenset({"ClusterPolicy", "Policy"})
_RULE = ("spec", "rules", "items")


@lru_cache(maxsize=1)
def kyverno_facts() -> Json:
    """Return the facts as in their file: `kinds` by group and name, and named `schemas`."""
    return read_table(__file__, f"kyverno-{KYVERNO}.json")


@lru_cache(maxsize=1)
def _named_schemas() -> NamedSchemas:
    # The definitions do not describe nested `foreach`; Kyverno reads them like the outer one,
    # but ignores unknown fields. upstream: api/kyverno/v1/wrappers.go
    facts = kyverno_facts()
    table = facts["schemas"]
    root = facts["kinds"][RULES_GROUP]["ClusterPolicy"]["versions"]["v1"]["schema"]
    found = {}
    for block in _LOOPS:
        words = _resolved(root, table)
        for step in (*_RULE, block, "foreach", "items"):
            words = _resolved(_inside(words, step), table)
        properties = {**words["properties"], "foreach": _loops_name(block)}
        words = {**words, "properties": properties, "x-kubernetes-preserve-unknown-fields": True}
        found[_loops_name(block)] = {"type": "array", "items": words}
    return NamedSchemas({**table, **found})


def _loops_name(block: str) -> str:
    return f"{block} foreach foreach"


def _resolved(ref: SchemaRef, table: Mapping[str, SchemaWords]) -> SchemaWords:
    """Return the keywords of a schema; a name that is not in the table is a type."""
    return table.get(ref) or {"type": ref} if isinstance(ref, str) else ref


def _inside(words: SchemaWords, step: str) -> SchemaRef:
    ref: SchemaRef = words["items"] if step == "items" else words["properties"][step]
    return ref


def _replaced(
    words: SchemaWords, path: tuple[str, ...], ref: SchemaRef, table: Mapping[str, SchemaWords]
) -> SchemaWords:
    """Return a schema in which another one replaces the nested schema at a path."""
    step, *further = path
    inner = _resolved(_inside(words, step), table)
    new = _replaced(inner, tuple(further), ref, table) if further else ref
    if step == "items":
        return {**words, "items": new}
    return {**words, "properties": {**words["properties"], step: new}}


def _versions(group: str, kind: str) -> Mapping[str, Json]:
    """Return the facts of each version of a kind, empty for other kinds."""
    facts: Mapping[str, SchemaWords] = kyverno_facts()["kinds"].get(group, {}).get(kind, {})
    return facts.get("versions", {})


def _facts_of(api_version: str, kind: str) -> Mapping[str, Json] | None:
    group, version = split_api_version(api_version)
    return _versions(group, kind).get(version)


def is_written(name: str) -> bool:
    """Return whether an apiVersion/kind is one of Kyverno's kinds that users write."""
    api_version, _, kind = name.rpartition("/")
    group, version = split_api_version(api_version)
    is_one = group in POLICY_GROUPS and kind not in _NOT_WRITTEN
    return is_one and version in _versions(group, kind)


def is_deprecated(api_version: str, kind: str) -> bool:
    """Return whether Kyverno requires another version of one of its kinds."""
    return "deprecated" in (_facts_of(api_version, kind) or ())


def version_deprecation(api_version: str, kind: str) -> str:
    """Return an API server's warning about a deprecated version of a kind, "" for none.

    upstream: k8s.io/apiextensions-apiserver pkg/apiserver `defaultDeprecationWarning`
    """
    if not is_deprecated(api_version, kind):
        return ""
    group = split_api_version(api_version)[0]
    newer = preferred_version(group, kind, kyverno_kinds())
    return f"{api_version} {kind} is deprecated; use {group}/{newer} {kind}"


def has_status_apart(api_version: str, kind: str) -> bool:
    """Return whether only requests to `status` can change the status of one of Kyverno's kinds."""
    return "status" in (_facts_of(api_version, kind) or ())


@lru_cache(maxsize=64)
def kyverno_schema(api_version: str, kind: str) -> SchemaNode | None:
    """Return the API server's schema of one of Kyverno's kinds, None for other kinds."""
    facts = _facts_of(api_version, kind)
    return None if facts is None else _named_schemas().node(facts["schema"])


@lru_cache(maxsize=64)
def written_schema(name: str) -> SchemaNode:
    """Return the schema of an apiVersion/kind in files: with metadata, and with a name.

    Definitions omit metadata: the API server validates it in the same way for all kinds.
    """
    api_version, _, kind = name.rpartition("/")
    schema = kyverno_schema(api_version, kind)
    if schema is None:
        raise KeyError(name)
    required = sorted({*schema.words.get("required", ()), "metadata"})
    properties = {**schema.properties, "metadata": OBJECT_META}
    words: SchemaWords = {**schema.words, "required": required, "properties": properties}
    if kind in _WITH_LOOPS and api_version.startswith(f"{RULES_GROUP}/"):
        for block in _LOOPS:
            path = (*_RULE, block, "foreach", "items", "foreach")
            words = _replaced(words, path, _loops_name(block), schema.named.table)
    return schema.named.node(words)


def written_names() -> tuple[str, ...]:
    """Return the apiVersion/kind of all kinds that users write, the stored version of each last."""
    return tuple(
        f"{group}/{version}/{kind}"
        for group in POLICY_GROUPS
        for kind in kyverno_facts()["kinds"][group]
        for version in sorted(
            _versions(group, kind), key=lambda one: "stored" in _versions(group, kind)[one]
        )
        if kind not in _NOT_WRITTEN
    )


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
    """Return the kinds that only policies and exceptions have.

    `Policy` is excluded, since others use this name, too.
    """
    return frozenset(
        kind
        for group, kind in kyverno_kinds()
        if group in POLICY_GROUPS and kind.endswith(("Policy", "Exception")) and kind != "Policy"
    )


def is_cluster_scoped(text: str, extra: KindTable = NO_KINDS) -> bool | None:
    """Return whether `apiVersion/kind`, or `kind`, is a cluster-scoped kind; None if unknown.

    Kubernetes' and Kyverno's own kinds are known, and `extra` ones. A kind without a group is
    searched in all groups. upstream: pkg/validation/policy/validate.go `getClusteredResources`
    """
    api_version, _, kind = text.rpartition("/")
    group = split_api_version(api_version)[0]
    table = every_kind({**kyverno_kinds(), **extra})
    keys = [(group, kind)] if api_version else [key for key in table if key[1] == kind]
    found = [is_namespaced_in_cluster(*key, table) for key in keys if key in table]
    return not all(found) if found else None


def served_names(keys: Iterable[tuple[str, str]]) -> frozenset[str]:
    """Return the apiVersion/kind of Kyverno's kinds with these groups and names."""
    known = kyverno_kinds()
    return frozenset(
        f"{group}/{version}/{kind}"
        for group, kind in keys
        if (group, kind) in known
        for version in known[group, kind].versions
    )


def given_schema(api_version: str, kind: str, kinds: KindTable) -> SchemaNode | None:
    """Return the schema in a kind's definition for a version, None if there is none."""
    group, version = split_api_version(api_version)
    facts = kinds.get((group, kind))
    found = facts.schemas.get(version) if facts else None
    return None if found is None else _given_node(found)


@lru_cache(maxsize=256)
def _given_node(given: GivenSchema) -> SchemaNode:
    return NamedSchemas().node(given.words)


# Schemas of Kubernetes' own admission policies and their bindings.
#
# native.json is written by hand: the package's other data on Kubernetes' kinds contains their
# names and how their fields merge, but neither required fields nor allowed values.

NATIVE_GROUP = "admissionregistration.k8s.io"


@cache
def native_schemas() -> Mapping[str, SchemaNode]:
    """Return their schemas by apiVersion/kind; rarely needed."""
    return schemas_of(read_table(__file__, "native.json"))


def native_kinds() -> frozenset[str]:
    """Return their kinds, in any version."""
    return frozenset(name.rpartition("/")[2] for name in native_schemas())
