"""Known kinds: their plural names, their versions, and whether they live in namespaces.

The table is package data (`builtin_kinds.json`), read on first use. Custom resource definitions
extend it: every function takes the kinds that `crd_kinds` finds as `extra`.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.kube.objects import Json, text_field
from kyvsim.kube.package_data import read_table


class KindFacts(NamedTuple):
    """What is known of a kind."""

    plural: str
    namespaced: bool
    versions: tuple[str, ...] = ()
    """Those that are served; () where they are not known."""
    schemas: Mapping[str, Json] = MappingProxyType({})
    """The schemas of given definitions, by version."""


KindTable = Mapping[tuple[str, str], KindFacts]
"""Facts by (group, kind)."""

NO_KINDS: KindTable = MappingProxyType({})

_FORMER_VERSIONS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "admissionregistration.k8s.io": frozenset({"v1alpha1", "v1beta1"}),
        "apiextensions.k8s.io": frozenset({"v1beta1"}),
        "apiregistration.k8s.io": frozenset({"v1beta1"}),
        "apps": frozenset({"v1beta1", "v1beta2"}),
        "authentication.k8s.io": frozenset({"v1alpha1", "v1beta1"}),
        "authorization.k8s.io": frozenset({"v1beta1"}),
        "autoscaling": frozenset({"v2beta1", "v2beta2"}),
        "batch": frozenset({"v1beta1", "v2alpha1"}),
        "certificates.k8s.io": frozenset({"v1alpha1", "v1beta1"}),
        "coordination.k8s.io": frozenset({"v1alpha1", "v1beta1"}),
        "discovery.k8s.io": frozenset({"v1alpha1", "v1beta1"}),
        "events.k8s.io": frozenset({"v1beta1"}),
        "flowcontrol.apiserver.k8s.io": frozenset({"v1alpha1", "v1beta1", "v1beta2", "v1beta3"}),
        "networking.k8s.io": frozenset({"v1alpha1", "v1beta1"}),
        "node.k8s.io": frozenset({"v1alpha1", "v1beta1"}),
        "policy": frozenset({"v1beta1"}),
        "rbac.authorization.k8s.io": frozenset({"v1alpha1", "v1beta1"}),
        "resource.k8s.io": frozenset({"v1alpha1", "v1alpha2", "v1alpha3"}),
        "scheduling.k8s.io": frozenset({"v1alpha1", "v1beta1"}),
        "storage.k8s.io": frozenset({"v1alpha1", "v1beta1"}),
    }
)
"""What releases of Kubernetes served besides the versions of the table, or serve where asked to."""


@lru_cache(maxsize=1)
def _builtin_kinds() -> KindTable:
    table = read_table(__file__, "builtin_kinds.json")
    return MappingProxyType(
        {
            (group, kind): KindFacts(plural, bool(namespaced), tuple(versions) or ("v1",))
            for group, kinds in table.items()
            for kind, (plural, namespaced, *versions) in kinds.items()
        }
    )


@lru_cache(maxsize=1)
def _builtin_plurals() -> Mapping[tuple[str, str], str]:
    return MappingProxyType(
        {(group, facts.plural): kind for (group, kind), facts in _builtin_kinds().items()}
    )


def is_namespaced(group: str, kind: str, extra: KindTable = NO_KINDS) -> bool:
    """Return whether objects of a kind live in namespaces; True for unknown kinds.

    Built-in kinds come first. upstream: cmd/cli/kubectl-kyverno/resource `isClusterScopedKind`.
    """
    facts = _builtin_kinds().get((group, kind)) or extra.get((group, kind))
    return facts is None or facts.namespaced


def is_builtin(group: str, kind: str) -> bool:
    """Return whether a kind is one of Kubernetes' own."""
    return (group, kind) in _builtin_kinds()


def is_builtin_group(group: str) -> bool:
    """Return whether a group is one of Kubernetes' own."""
    return any(group == known for known, _ in _builtin_kinds())


def served_versions(group: str, kind: str, extra: KindTable = NO_KINDS) -> tuple[str, ...]:
    """Return the versions in which a kind is served, () where they are not known."""
    facts = _builtin_kinds().get((group, kind)) or extra.get((group, kind))
    return facts.versions if facts else ()


def is_readable(group: str, version: str, kind: str, extra: KindTable = NO_KINDS) -> bool:
    """Return whether some cluster serves a kind in a version; True where nothing is known of it.

    Nobody says of which release a cluster is: versions that went with an older one count.
    """
    if is_builtin(group, kind) and version in _FORMER_VERSIONS.get(group, ()):
        return True
    versions = served_versions(group, kind, extra)
    return not versions or version in versions


def every_kind(extra: KindTable = NO_KINDS) -> KindTable:
    """Return all known kinds, the built-in ones first."""
    own = _builtin_kinds()
    return MappingProxyType({**own, **extra, **own}) if extra else own


def plural(group: str, kind: str, extra: KindTable = NO_KINDS) -> str:
    """Return the plural name of a kind; for unknown kinds what Kubernetes would guess.

    upstream: apimachinery `api/meta` UnsafeGuessKindToResource.
    """
    facts = _builtin_kinds().get((group, kind)) or extra.get((group, kind))
    if facts:
        return facts.plural
    lower = kind.lower()
    if lower.endswith("endpoints"):
        return lower
    if lower.endswith("s"):
        return lower + "es"
    if lower.endswith("y"):
        return lower[:-1] + "ies"
    return lower + "s" if lower else ""


def kind_of_plural(group: str, name: str, extra: KindTable = NO_KINDS) -> str:
    """Return the kind with the plural name `name`, "" where none is known."""
    found = _builtin_plurals().get((group, name))
    if found:
        return found
    for (extra_group, kind), facts in extra.items():
        if extra_group == group and facts.plural == name:
            return kind
    return ""


def kinds_named(name: str, extra: KindTable = NO_KINDS) -> list[tuple[str, str]]:
    """Return group and kind of everything with a plural, or a kind in lower case, of this name."""
    return [
        (group, kind)
        for table in (_builtin_kinds(), extra)
        for (group, kind), facts in table.items()
        if name in {facts.plural, kind.lower()}
    ]


def guessed_kind(resource: str) -> str:
    """Return the kind that a plural name suggests."""
    for ending, singular in (("ies", "y"), ("es", ""), ("s", "")):
        if resource.endswith(ending):
            resource = resource.removesuffix(ending) + singular
            break
    return resource[:1].upper() + resource[1:]


def crd_kinds(objects: Iterable[Json]) -> KindTable:
    """Return the kinds that the CustomResourceDefinitions among `objects` define."""
    table = {}
    for data in objects:
        if text_field(data, "kind") != "CustomResourceDefinition":
            continue
        spec = data.get("spec")
        names = spec.get("names") if spec.__class__ is dict else None
        kind = text_field(names, "kind")
        if kind:
            namespaced = text_field(spec, "scope") != "Cluster"
            facts = KindFacts(
                text_field(names, "plural"), namespaced, _versions_of(spec), _schemas_of(spec)
            )
            table[text_field(spec, "group"), kind] = facts
    return MappingProxyType(table)


def _versions_of(spec: Json) -> tuple[str, ...]:
    """Return the versions that a definition serves, () where it names none."""
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


def _schemas_of(spec: Json) -> Mapping[str, Json]:
    """Return the schemas of a definition by version; one for all of them stands beside them."""
    shared = spec.get("validation")
    listed = spec.get("versions")
    found = {}
    for one in listed if listed.__class__ is list else ({"name": spec.get("version")},):
        if one.__class__ is dict:
            holder = one.get("schema") or shared
            schema = holder.get("openAPIV3Schema") if holder.__class__ is dict else None
            if schema.__class__ is dict:
                found[text_field(one, "name")] = schema
    return found
