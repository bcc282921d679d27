"""Known kinds: their names, their versions, and whether they live in namespaces.

Kubernetes' own are package data, `kubernetes-VERSION.json`, read on first use: by group the kinds,
and `former`, versions that other releases served, or serve where asked to; of a kind, `later` are
versions that releases after it serve. What is `unknown_to_reference` is missing in its
cmd/cli/kubectl-kyverno/data/api-group-resources.json.
Other kinds extend them: every function takes those that `crd_kinds` finds, or
`kyvsim.schema.kinds` knows, as `extra`.
"""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.kubernetes.objects import JsonMap, KubernetesObject, text_field
from kyvsim.kubernetes.package_data import read_table


class GivenSchema:
    """The schema of a definition, as it is written; it equals itself only, so it can be a key."""

    __slots__ = ("words",)

    def __init__(self, words: Mapping[str, object]) -> None:
        self.words = words


class KindFacts(NamedTuple):
    """What is known of a kind."""

    plural: str
    namespaced: bool
    versions: tuple[str, ...] = ()
    """Those that are served, by later releases too; () where they are not known."""
    schemas: Mapping[str, GivenSchema] = MappingProxyType({})
    """The schemas of given definitions, by version."""
    short: tuple[str, ...] = ()
    """What kubectl takes for its name besides."""
    misplaced: bool = False
    """Whether the reference treats a cluster-scoped kind as namespaced."""


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
                # The reference takes kinds that its own table lacks for namespaced ones.
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
    """Return whether objects of a kind live in namespaces; True for unknown kinds.

    Built-in kinds come first. upstream: cmd/cli/kubectl-kyverno/resource `isClusterScopedKind`.
    """
    facts = _builtin_kinds().get((group, kind)) or extra.get((group, kind))
    return facts is None or facts.namespaced


def is_namespaced_in_cluster(group: str, kind: str, extra: KindTable = NO_KINDS) -> bool:
    """Return whether an API server has objects of a kind in namespaces; True for unknown kinds."""
    facts = _builtin_kinds().get((group, kind))
    return is_namespaced(group, kind, extra) and not (facts and facts.misplaced)


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


def preferred_version(group: str, kind: str, extra: KindTable = NO_KINDS) -> str:
    """Return the version in which clients request a kind, v1 if its versions are not known.

    upstream: k8s.io/apimachinery pkg/version/helpers.go `CompareKubeAwareVersionStrings`
    """
    return max(served_versions(group, kind, extra), key=_maturity, default="v1")


def is_mature(version: str, others: Iterable[str]) -> bool:
    """Return whether clients would take a version before all others."""
    return all(_maturity(version) > _maturity(other) for other in others)


def _maturity(version: str) -> tuple[int, int, int]:
    """Return what orders versions: stable before beta before alpha, then the newest first."""
    found = re.fullmatch(_VERSION, version)
    if found is None:
        return (0, 0, 0)
    number, stage, step = found.groups()
    return ({"alpha": 1, "beta": 2}.get(stage, 3), int(number), int(step or 0))


def is_readable(group: str, version: str, kind: str, extra: KindTable = NO_KINDS) -> bool:
    """Return whether some cluster serves a kind in a version; True where nothing is known of it.

    Nobody says of which release a cluster is: versions that went with an older one count.
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
    """Return the plural name of a kind; for unknown kinds what Kubernetes would guess.

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
    """Return the kind with the plural name `name`, "" where none is known."""
    others = (kind for (of, kind), facts in extra.items() if (of, facts.plural) == (group, name))
    return _builtin_plurals().get((group, name)) or next(others, "")


def kinds_named(name: str, extra: KindTable = NO_KINDS) -> list[tuple[str, str]]:
    """Return group and kind of everything that kubectl calls by this name, in lower case."""
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


def _schemas_of(spec: JsonMap) -> Mapping[str, GivenSchema]:
    """Return the schemas of a definition by version; one for all of them is next to them.

    Where all unknown fields are kept, none counts.
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
    """What a `kinds` entry selects; every part may hold wildcards.

    Without a subresource it selects objects only; all parts are "" where the text has too many.
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


@lru_cache(maxsize=512)
def parse_kind_selector(text: str) -> KindSelector:
    """Return the parts of `Kind`, `version/Kind` or `group/version/Kind`, maybe with a subresource.

    A subresource follows after `/` or, in the last piece, after `.`. Parts that are not written are
    `*`, a subresource that is not written is "". upstream: pkg/utils/kube `ParseKindSelector`.
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
