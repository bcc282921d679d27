"""Known kinds: their names and versions, and whether they are namespaced.

Kubernetes' own are package data, `kubernetes-VERSION.json`, read on first use: the kinds by group;
`former` are versions that other releases serve, or serve if enabled; `later` are versions of a kind
in later releases. Kinds with `unknown_to_reference` are missing in its
cmd/cli/kubectl-kyverno/data/api-group-resources.json.

Other kinds extend these: every function accepts those of `crd_kinds` or `kyvsim.schema.kinds` as
`extra`.
"""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Final, NamedTuple

from kyvsim.kubernetes.objects import JsonMap, KubernetesObject, text_field
from kyvsim.kubernetes.package_data import read_table


class GivenSchema:
    """The raw schema of a CRD; it only equals itself, so it can be a key."""

    __slots__ = ("words",)

    def __init__(self, words: Mapping[str, object]) -> None:
        self.words = words


class KindFacts(NamedTuple):
    """Facts about a kind."""

    plural: str
    namespaced: bool
    versions: tuple[str, ...] = ()
    """The served versions, including later releases; () if unknown."""
    schemas: Mapping[str, GivenSchema] = MappingProxyType({})
    """The schemas of given CRDs, by version."""
    short: tuple[str, ...] = ()
    """The short names for kubectl."""
    misplaced: bool = False
    """Whether upstream's command treats this cluster-scoped kind as namespaced."""


KindTable = Mapping[tuple[str, str], KindFacts]
"""Facts by (group, kind)."""

NO_KINDS: KindTable = MappingProxyType({})

_KUBERNETES = "1.35"
_VERSION = r"v(\d+)(?:(alpha|beta)(\d+))?"


@lru_cache(maxsize=1)
def _groups() -> JsonMap:
    table: JsonMap = read_table(__file__, f"kubernetes-{_KUBERNETES}.json")["groups"]
    return table


@lru_cache(maxsize=1)
def _builtin_kinds() -> KindTable:
    return MappingProxyType(
        {
            (group, kind): KindFacts(
                facts["plural"],
                # Upstream's command treats kinds that are missing in its own table as namespaced.
                facts["namespaced"] or "unknown_to_reference" in facts,
                (*facts["versions"], *facts.get("later", ())),
                short=tuple(facts.get("short", ())),
                misplaced="unknown_to_reference" in facts and not facts["namespaced"],
            )
            for group, known in _groups().items()
            for kind, facts in known["kinds"].items()
        }
    )


@lru_cache(maxsize=1)
def _builtin_plurals() -> Mapping[tuple[str, str], str]:
    return MappingProxyType(
        {(group, facts.plural): kind for (group, kind), facts in _builtin_kinds().items()}
    )


def is_namespaced(group: str, kind: str, extra: KindTable = NO_KINDS) -> bool:
    """Return whether a kind is namespaced; True for unknown kinds.

    Built-in kinds come first. upstream: cmd/cli/kubectl-kyverno/resource `isClusterScopedKind`.
    """
    facts = _builtin_kinds().get((group, kind)) or extra.get((group, kind))
    return facts is None or facts.namespaced


def is_namespaced_in_cluster(group: str, kind: str, extra: KindTable = NO_KINDS) -> bool:
    """Return whether a kind is namespaced in an API server; True for unknown kinds."""
    facts = _builtin_kinds().get((group, kind))
    return is_namespaced(group, kind, extra) and not (facts and facts.misplaced)


def is_builtin(group: str, kind: str) -> bool:
    """Return whether a kind is one of Kubernetes' own."""
    return (group, kind) in _builtin_kinds()


def is_builtin_group(group: str) -> bool:
    """Return whether a group is one of Kubernetes' own."""
    return any(group == known for known, _ in _builtin_kinds())


def kinds_of_group(group: str) -> list[str]:
    """Return the kinds of one of Kubernetes' own groups."""
    return [kind for known, kind in _builtin_kinds() if known == group]


def served_versions(group: str, kind: str, extra: KindTable = NO_KINDS) -> tuple[str, ...]:
    """Return the served versions of a kind; () if unknown."""
    facts = _builtin_kinds().get((group, kind)) or extra.get((group, kind))
    return facts.versions if facts else ()


REMOVED_VERSIONS: Final = frozenset(
    {
        *("extensions/v1beta1", "apps/v1beta1", "apps/v1beta2", "batch/v1beta1", "batch/v2alpha1"),
        *("policy/v1beta1", "autoscaling/v2beta1", "autoscaling/v2beta2", "autoscaling/v1beta1"),
        *("rbac.authorization.k8s.io/v1beta1", "rbac.authorization.k8s.io/v1alpha1"),
        *("apiextensions.k8s.io/v1beta1", "discovery.k8s.io/v1beta1", "events.k8s.io/v1beta1"),
        *("certificates.k8s.io/v1beta1", "networking.k8s.io/v1beta1", "scheduling.k8s.io/v1beta1"),
        *("kyverno.io/v1alpha1", "kyverno.io/v2alpha1"),
    }
)
"""Versions that Kubernetes and Kyverno removed for the kinds that have newer ones."""


def successor_of(group: str, version: str, kind: str, extra: KindTable = NO_KINDS) -> str:
    """Return the version that replaces one which was removed; "" if it was not removed."""
    served = served_versions(group, kind, extra)
    if not served or version in served or f"{group}/{version}" not in REMOVED_VERSIONS:
        return ""
    # Of autoscaling/v2beta2, it is v2.
    preferred = preferred_version(group, kind, extra)
    return next((one for one in served if version.startswith(one)), preferred)


def preferred_version(group: str, kind: str, extra: KindTable = NO_KINDS) -> str:
    """Return the version in which clients request a kind; v1 if its versions are unknown.

    upstream: k8s.io/apimachinery pkg/version/helpers.go `CompareKubeAwareVersionStrings`
    """
    return max(served_versions(group, kind, extra), key=_maturity, default="v1")


def is_mature(version: str, others: Iterable[str]) -> bool:
    """Return whether clients prefer a version to all others."""
    return all(_maturity(version) > _maturity(other) for other in others)


def _maturity(version: str) -> tuple[int, int, int]:
    """Return the sort key of a version: stable, beta, alpha, then by number."""
    found = re.fullmatch(_VERSION, version)
    if found is None:
        return (0, 0, 0)
    number, stage, step = found.groups()
    return ({"alpha": 1, "beta": 2}.get(stage, 3), int(number), int(step or 0))


def is_readable(group: str, version: str, kind: str, extra: KindTable = NO_KINDS) -> bool:
    """Return whether a cluster may serve a kind in a version; True for unknown kinds.

    The release of the cluster is unknown, so versions of older releases count, too.
    """
    if is_builtin(group, kind) and version in _groups()[group].get("former", ()):
        return True
    versions = served_versions(group, kind, extra)
    return not versions or version in versions


def every_kind(extra: KindTable = NO_KINDS) -> KindTable:
    """Return all known kinds, the built-in ones first."""
    own = _builtin_kinds()
    return MappingProxyType({**own, **extra, **own}) if extra else own


def plural(group: str, kind: str, extra: KindTable = NO_KINDS) -> str:
    """Return the plural name of a kind; for unknown kinds, Kubernetes' guess.

    upstream: apimachinery `api/meta` UnsafeGuessKindToResource.
    """
    facts = _builtin_kinds().get((group, kind)) or extra.get((group, kind))
    if facts:
        return facts.plural
    lower = kind.lower()
    if not lower or lower.endswith("endpoints"):
        return lower
    if lower.endswith("y"):
        return lower[:-1] + "ies"
    return lower + ("es" if lower.endswith("s") else "s")


def kind_of_plural(group: str, name: str, extra: KindTable = NO_KINDS) -> str:
    """Return the kind with the plural name `name`; "" if it is unknown."""
    others = (kind for (of, kind), facts in extra.items() if (of, facts.plural) == (group, name))
    return _builtin_plurals().get((group, name)) or next(others, "")


def kinds_named(name: str, extra: KindTable = NO_KINDS) -> list[tuple[str, str]]:
    """Return group and kind of all kinds that kubectl finds by a lower-case name."""
    return [
        (group, kind)
        for table in (_builtin_kinds(), extra)
        for (group, kind), facts in table.items()
        if name in {facts.plural, kind.lower(), *facts.short}
    ]


def guessed_kind(resource: str) -> str:
    """Return the kind that a plural name suggests."""
    for ending, singular in (("ies", "y"), ("es", ""), ("s", "")):
        if resource.endswith(ending):
            resource = resource.removesuffix(ending) + singular
            break
    return resource[:1].upper() + resource[1:]


def crd_kinds(objects: Iterable[KubernetesObject]) -> KindTable:
    """Return the kinds that the CustomResourceDefinitions among `objects` define."""
    table = {}
    for data in objects:
        if text_field(data, "kind") != "CustomResourceDefinition":
            continue
        spec = data.get("spec", {})
        names = spec.get("names") if spec.__class__ is dict else None
        kind = text_field(names, "kind")
        if kind:
            listed = spec["names"].get("shortNames")
            facts = KindFacts(
                text_field(names, "plural"),
                text_field(spec, "scope") != "Cluster",
                _versions_of(spec),
                _schemas_of(spec),
                tuple(map(str, listed)) if listed.__class__ is list else (),
            )
            table[text_field(spec, "group"), kind] = facts
    return MappingProxyType(table)


def _versions_of(spec: JsonMap) -> tuple[str, ...]:
    """Return the served versions of a CRD; () if it defines none."""
    listed = spec.get("versions")
    if listed.__class__ is not list:
        only = text_field(spec, "version")
        return (only,) if only else ()
    served = (
        text_field(one, "name")
        for one in listed
        if one.__class__ is dict and one.get("served") is not False
    )
    return tuple(filter(None, served))


def _schemas_of(spec: JsonMap) -> Mapping[str, GivenSchema]:
    """Return the schemas of a CRD by version; a shared one is outside of `versions`.

    If all unknown fields are preserved, schemas are ignored.
    """
    if spec.get("preserveUnknownFields") is True:
        return {}
    shared = spec.get("validation")
    listed = spec.get("versions")
    found = {}
    for one in listed if listed.__class__ is list else ({"name": spec.get("version")},):
        if one.__class__ is dict:
            holder = one.get("schema") or shared
            schema = holder.get("openAPIV3Schema") if holder.__class__ is dict else None
            if schema.__class__ is dict:
                found[text_field(one, "name")] = GivenSchema(schema)
    return found


_DIGITS = frozenset("0123456789")
_LEVELS = frozenset({"alpha", "beta"})


class KindSelector(NamedTuple):
    """The parts of a `kinds` entry, which may contain wildcards.

    Without a subresource it only selects objects; all parts are "" if there are too many.
    """

    group: str
    version: str
    kind: str
    subresource: str


@lru_cache(maxsize=512)
def split_api_version(api_version: str) -> tuple[str, str]:
    """Return group and version of an `apiVersion`; the core group is ""."""
    group, slash, version = api_version.partition("/")
    return (group, version) if slash else ("", group)


def _is_version(text: str) -> bool:
    """Return whether a part is a version, such as `v1` or `v1beta1`, or `*`."""
    if text[:1] != "v" or text[1:2] not in _DIGITS:
        return text == "*"
    return len(text) == 2 or (text[2:-1] in _LEVELS and text[-1] in _DIGITS)


_PARTS_OF_NAMESPACES = frozenset({"status", "finalize"})


class ApiPath(NamedTuple):
    """The parts of an API path; "" for missing parts."""

    api_version: str
    namespace: str
    resource: str
    name: str
    part: str


def parse_path(path: str) -> ApiPath | None:
    """Return the parts of a path without query, or None if it names no resource.

    An empty namespace means all of them, as in upstream.
    """
    root, *parts = path.removeprefix("/").split("/")
    if root == "api" and len(parts) > 1:
        api_version, rest = parts[0], parts[1:]
    elif root == "apis" and len(parts) > 2:
        api_version, rest = "/".join(parts[:2]), parts[2:]
    else:
        return None
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2 and rest[2] not in _PARTS_OF_NAMESPACES:
        namespace, rest = rest[1], rest[2:]
    elif rest[0] == "namespaces" and root == "apis":
        return None
    resource, name, part, *further = [*rest, "", ""]
    return (
        ApiPath(api_version, namespace, resource, name, part)
        if resource and not any(further)
        else None
    )


@lru_cache(maxsize=512)
def parse_kind_selector(text: str) -> KindSelector:
    """Return the parts of `Kind`, `version/Kind` or `group/version/Kind`, maybe with a subresource.

    A subresource follows after `/` or, in the last part, after `.`. Missing parts are `*`, a
    missing subresource is "". upstream: pkg/utils/kube `ParseKindSelector`.
    """
    *leading, last = text.split("/")
    parts = [*leading, *last.split(".")]
    match parts:
        case [kind]:
            return KindSelector("*", "*", kind, "")
        case [first, second]:
            if first == "*" and second == "*":
                return KindSelector("*", "*", "*", "*")
            is_subresource = first == "*" and second.lower() == second
            if _is_version(first) and not is_subresource:
                return KindSelector("*", first, second, "")
            return KindSelector("*", "*", first, second)
        case [version, kind, subresource] if _is_version(version):
            return KindSelector("*", version, kind, subresource)
        case [group, version, kind]:
            return KindSelector(group, version, kind, "")
        case [group, version, kind, subresource]:
            return KindSelector(group, version, kind, subresource)
    return KindSelector("", "", "", "")
