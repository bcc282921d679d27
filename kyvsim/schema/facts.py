"""What is known of a version of Kyverno: its kinds, and the schemas of each in each version.

The facts are package data, `kyverno-VERSION.json`, read on first use. They are made from Kyverno's
CustomResourceDefinitions by tests/package_data/make_kyverno_facts.py.
"""

from collections.abc import Mapping
from functools import lru_cache

from kyvsim.kubernetes.discovery import split_api_version
from kyvsim.kubernetes.objects import Json
from kyvsim.kubernetes.package_data import read_table
from kyvsim.schema.node import NamedSchemas, Node, SchemaRef
from kyvsim.schema.object_meta import OBJECT_META

KYVERNO = "1.19.0"
"""The version whose facts are read."""
RULES_GROUP, CEL_GROUP = "kyverno.io", "policies.kyverno.io"
POLICY_GROUPS = (RULES_GROUP, CEL_GROUP)
"""The groups of what users write; the others are those of reports."""
_NOT_WRITTEN = frozenset({"UpdateRequest"})
_LOOPS = ("mutate", "validate")
"""The parts of a rule whose `foreach` may have another one inside it."""
_WITH_LOOPS = frozenset({"ClusterPolicy", "Policy"})
_RULE = ("spec", "rules", "items")


@lru_cache(maxsize=1)
def kyverno_facts() -> Json:
    """Return the facts as their file has them: `kinds` by group and name, and named `schemas`."""
    return read_table(__file__, f"kyverno-{KYVERNO}.json")


@lru_cache(maxsize=1)
def _named_schemas() -> NamedSchemas:
    facts = kyverno_facts()
    return NamedSchemas({**facts["schemas"], **_nested_loops(facts)})


def _nested_loops(facts: Json) -> Mapping[str, Json]:
    """Return a schema by name for each `foreach` in a `foreach`.

    The definitions leave these to Kyverno, which reads them as it reads the outer ones, but for
    fields that it does not know: those it leaves out. A policy that has something else there is
    not accepted. upstream: api/kyverno/v1/wrappers.go
    """
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
    return found


def _loops_name(block: str) -> str:
    return f"{block} foreach foreach"


def _resolved(ref: SchemaRef, table: Mapping[str, Mapping[str, Json]]) -> Mapping[str, Json]:
    """Return a schema in words; a name that is none of the table's is a type."""
    return table.get(ref) or {"type": ref} if isinstance(ref, str) else ref


def _inside(words: Mapping[str, Json], step: str) -> SchemaRef:
    ref: SchemaRef = words["items"] if step == "items" else words["properties"][step]
    return ref


def _replaced(
    words: Mapping[str, Json],
    path: tuple[str, ...],
    ref: SchemaRef,
    table: Mapping[str, Mapping[str, Json]],
) -> Mapping[str, Json]:
    """Return a schema with another one in place of the one that a path leads to."""
    step, *further = path
    inner = _resolved(_inside(words, step), table)
    new = _replaced(inner, tuple(further), ref, table) if further else ref
    if step == "items":
        return {**words, "items": new}
    return {**words, "properties": {**words["properties"], step: new}}


def _versions(group: str, kind: str) -> Mapping[str, Json]:
    """Return what is known of each version of a kind, nothing for a kind of others."""
    facts: Mapping[str, Mapping[str, Json]] = kyverno_facts()["kinds"].get(group, {}).get(kind, {})
    return facts.get("versions", {})


def is_written(name: str) -> bool:
    """Return whether an apiVersion/kind is one of Kyverno's that users write."""
    api_version, _, kind = name.rpartition("/")
    group, version = split_api_version(api_version)
    is_one = group in POLICY_GROUPS and kind not in _NOT_WRITTEN
    return is_one and version in _versions(group, kind)


def is_deprecated(api_version: str, kind: str) -> bool:
    """Return whether Kyverno asks for another version of a kind of its own."""
    group, version = split_api_version(api_version)
    return "deprecated" in _versions(group, kind).get(version, ())


def has_status_apart(api_version: str, kind: str) -> bool:
    """Return whether only requests to `status` can change the status of a kind of Kyverno's."""
    group, version = split_api_version(api_version)
    return "status" in _versions(group, kind).get(version, ())


@lru_cache(maxsize=64)
def kyverno_schema(api_version: str, kind: str) -> Node | None:
    """Return the schema by which an API server reads a kind of Kyverno's, None for other kinds."""
    group, version = split_api_version(api_version)
    facts = _versions(group, kind).get(version)
    return None if facts is None else _named_schemas().node(facts["schema"])


@lru_cache(maxsize=64)
def written_schema(name: str) -> Node:
    """Return the schema of an apiVersion/kind as users write it: with metadata, and with a name.

    Definitions leave metadata to the API server, which checks it in the same way for all kinds.
    """
    api_version, _, kind = name.rpartition("/")
    schema = kyverno_schema(api_version, kind)
    if schema is None:
        raise KeyError(name)
    required = sorted({*schema.words.get("required", ()), "metadata"})
    properties = {**schema.properties, "metadata": OBJECT_META}
    words: Mapping[str, Json] = {**schema.words, "required": required, "properties": properties}
    if kind in _WITH_LOOPS and api_version.startswith(f"{RULES_GROUP}/"):
        for block in _LOOPS:
            path = (*_RULE, block, "foreach", "items", "foreach")
            words = _replaced(words, path, _loops_name(block), schema.named.table)
    return schema.named.node(words)


def written_names() -> tuple[str, ...]:
    """Return the apiVersion/kind of all that users write; of one kind the stored version last."""
    return tuple(
        f"{group}/{version}/{kind}"
        for group in POLICY_GROUPS
        for kind in kyverno_facts()["kinds"][group]
        for version in sorted(_versions(group, kind), key=lambda one: _is_stored(group, kind, one))
        if kind not in _NOT_WRITTEN
    )


def _is_stored(group: str, kind: str, version: str) -> bool:
    return "stored" in _versions(group, kind)[version]
