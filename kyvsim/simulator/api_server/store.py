"""The stored objects, their versions and watches, and the kinds that a cluster serves."""

from bisect import bisect_left, insort
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from kyvsim.kubernetes.discovery import (
    NO_KINDS,
    KindTable,
    crd_kinds,
    every_kind,
    is_builtin,
    is_namespaced_in_cluster,
    kind_of_plural,
    parse_kind_selector,
    plural,
    served_versions,
    split_api_version,
)
from kyvsim.kubernetes.objects import (
    Json,
    KubernetesObject,
    ObjectKey,
    in_version,
    labels,
    metadata,
    object_key,
    text_field,
)
from kyvsim.kubernetes.wildcard import has_wildcard, matches


class StoreChange(NamedTuple):
    """One write: the object before and after; None if it does not exist."""

    revision: int
    old: KubernetesObject | None
    new: KubernetesObject | None
    key: ObjectKey
    """The key of the object, precomputed for the watchers."""

    @property
    def subject(self) -> KubernetesObject:
        """The new object, or the deleted one."""
        return self.new or self.old or {}


Watcher = Callable[[StoreChange], None]
_MOST_ANSWERS = 4096
"""The size of the cache of query results; it is cleared when it is full."""


class _CachedAnswer(NamedTuple):
    """A query result, and the keys that were read for it."""

    value: Json
    revision: int
    reads: frozenset[ObjectKey]
    kinds: frozenset[tuple[str, str]]
    """The groups and kinds of those keys."""


class ObjectStore:
    """A `ClusterView` of objects that change. Stored objects themselves are never modified.

    An object is the same in all versions of its group; it is returned in the requested
    version.
    """

    has_ints = True

    def __init__(self, installed: KindTable = NO_KINDS) -> None:
        self._objects: dict[tuple[str, str], dict[tuple[str, str], KubernetesObject]] = {}
        self._ordered: dict[tuple[str, str], list[tuple[str, str]]] = {}
        """By group and kind, the sorted namespaces and names of objects, once they were listed."""
        self._watchers: list[tuple[Watcher, Collection[tuple[str, str]] | None]] = []
        self._watchers_by_kind: dict[tuple[str, str], tuple[Watcher, ...]] = {}
        """The watchers by apiVersion and kind."""
        self._installed = installed
        self.defined = installed
        """The kinds that custom resource definitions add."""
        self._served: KindTable | None = None
        self.revision = 0
        self.changes: list[StoreChange] = []
        self._created: dict[tuple[str, str], int] = {}
        self._written: dict[tuple[str, str], int] = {}
        """By group and kind, the revision of the last write."""
        self._answers: dict[tuple[Hashable, ...], _CachedAnswer] = {}
        self._shared: dict[tuple[Hashable, ...], _CachedAnswer] = {}
        """The results that all copies of a store have in common, at `_copied` as revision."""
        self._copied = 0
        self.read_keys: set[ObjectKey] | None = None
        """Collects the keys that are read, None if reads are not recorded."""

    def copy(self) -> "ObjectStore":
        """Return an independent store with the same objects, unwatched.

        Copies share cached results that depend on none of their own writes, so the original must
        not be written any more.
        """
        other = ObjectStore(self._installed)
        other._objects = {kind: {**some} for kind, some in self._objects.items()}
        other._ordered = {kind: [*places] for kind, places in self._ordered.items()}
        other._created, other._written = {**self._created}, {**self._written}
        other._shared, other._copied = self._answers, self.revision
        other.defined, other._served = self.defined, self._served
        other.revision, other.changes = self.revision, [*self.changes]
        return other

    def get(
        self, api_version: str, kind: str, namespace: str, name: str
    ) -> KubernetesObject | None:
        """Return the object, or None."""
        group = split_api_version(api_version)[0]
        if self.read_keys is not None and name:
            self.read_keys.add(ObjectKey(group, kind, namespace, name))
        obj = self._objects.get((group, kind), {}).get((namespace, name))
        return None if obj is None else in_version(obj, api_version)

    def list(self, api_version: str, kind: str, namespace: str) -> Sequence[KubernetesObject]:
        """Return the objects of a kind in a namespace ("" for all), by namespace and name."""
        group = split_api_version(api_version)[0]
        if self.read_keys is not None:
            self.read_keys.add(ObjectKey(group, kind, namespace, ""))
        some = self._objects.get((group, kind))
        if not some:
            return []
        places = self._ordered.get((group, kind))
        if places is None:
            places = self._ordered[group, kind] = sorted(some)
        if namespace:
            start = bisect_left(places, (namespace, ""))
            places = places[start : bisect_left(places, (f"{namespace}\0", ""))]
        return [in_version(some[place], api_version) for place in places]

    def cached(self, query: Callable[..., Json], *about: Hashable) -> Json:
        """Return the result of `query` for this store, cached until a kind that it read is written.

        It must depend on objects only, not on the kinds defined or on other state. The reads of
        a cached result are recorded as if it were computed again.
        """
        known = self._answers.get((query, *about)) or self._shared.get((query, *about))
        if known is None or self._is_old(known):
            outer, self.read_keys = self.read_keys, set()
            try:
                value = query(self, *about)
                reads = frozenset(self.read_keys)
            finally:
                self.read_keys = outer
            known = _CachedAnswer(value, self.revision, reads, frozenset(one[:2] for one in reads))
            answers, copied = self._answers, self._copied
            if copied and all(self._written.get(kind, 0) <= copied for kind in known.kinds):
                answers, known = self._shared, known._replace(revision=copied)
            if len(answers) >= _MOST_ANSWERS:
                answers.clear()
            answers[query, *about] = known
        if self.read_keys is not None:
            self.read_keys |= known.reads
        return known.value

    def _is_old(self, answer: _CachedAnswer) -> bool:
        written, revision = self._written, answer.revision
        for kind in answer.kinds:  # noqa: SIM110 — faster, and called very often
            if kind in written and written[kind] > revision:
                return True
        return False

    def ever(self, api_version: str, kind: str) -> int:
        """Return how many objects of a kind were ever created; this is not recorded as a read."""
        return self._created.get((split_api_version(api_version)[0], kind), 0)

    def kinds(self) -> Iterable[tuple[str, str]]:
        """Return apiVersion and kind of all stored objects, in order of first writing."""
        return dict.fromkeys(
            (obj["apiVersion"], kind)
            for (_, kind), some in self._objects.items()
            for obj in some.values()
        )

    def kind_of(self, api_version: str, name: str) -> str:
        """Return the kind whose plural is `name`, "" if unknown."""
        return kind_of_plural(split_api_version(api_version)[0], name, self.defined)

    def plural_of(self, api_version: str, kind: str) -> str:
        """Return the plural of a kind, as in paths, "" if it is not served."""
        group, version = split_api_version(api_version)
        facts = self.served.get((group, kind))
        is_served = facts is not None and (not facts.versions or version in facts.versions)
        return facts.plural if facts is not None and is_served else ""

    def guesses(self, api_version: str, name: str) -> bool:
        """Return False: an API server knows all kinds that it serves."""
        del api_version, name
        return False

    def is_namespaced(self, api_version: str, kind: str) -> bool:
        """Return whether objects of a kind are namespaced."""
        return is_namespaced_in_cluster(split_api_version(api_version)[0], kind, self.defined)

    def defined_versions(self, group: str, kind: str) -> Sequence[Json]:
        """Return the versions in the definition of a custom kind, () if it has none."""
        for definition in self.list("apiextensions.k8s.io/v1", "CustomResourceDefinition", ""):
            spec = definition.get("spec") or {}
            if (text_field(spec, "group"), text_field(spec.get("names"), "kind")) == (group, kind):
                return spec.get("versions") or ()
        return ()

    @property
    def served(self) -> KindTable:
        """All served kinds, the built-in ones first."""
        if self._served is None:
            self._served = every_kind(self.defined)
        return self._served

    def namespace_labels(self, namespace: str) -> dict[str, str]:
        """Return the labels of a Namespace, or an empty dict."""
        return labels(self.get("v1", "Namespace", "", namespace))

    def by_uid(self, api_version: str, kind: str, uid: str) -> KubernetesObject | None:
        """Return the object of a kind with a uid, or None."""
        for obj in self.list(api_version, kind, ""):
            if uid and text_field(metadata(obj), "uid") == uid:
                return obj
        return None

    def every(self) -> Sequence[KubernetesObject]:
        """Return all objects, by group, kind, namespace and name."""
        return [
            obj
            for _, some in sorted(self._objects.items())
            for _, obj in sorted(some.items(), key=lambda item: item[0])
        ]

    def contents(self, namespace: str) -> Sequence[ObjectKey]:
        """Return the keys of all objects in a namespace, by group, kind and name."""
        return [
            object_key(some[place])
            for _, some in sorted(self._objects.items())
            for place in sorted(place for place in some if place[0] == namespace)
        ]

    def watch(self, watcher: Watcher, kinds: Collection[tuple[str, str]] | None = None) -> None:
        """Call `watcher` on every write, synchronously; it must only schedule a step.

        With `kinds` it is only called for these, by apiVersion and kind.
        """
        self._watchers.append((watcher, kinds))
        self._watchers_by_kind.clear()

    def put(self, obj: KubernetesObject) -> KubernetesObject:
        """Store an object with a new resourceVersion, and return it."""
        self.revision += 1
        stored = {**obj, "metadata": {**metadata(obj), "resourceVersion": str(self.revision)}}
        key = object_key(stored)
        group = key.group
        some = self._objects.setdefault((group, key.kind), {})
        old = some.get((key.namespace, key.name))
        some[key.namespace, key.name] = stored
        self._written[group, key.kind] = self.revision
        if old is None:
            if (group, key.kind) in self._ordered:
                insort(self._ordered[group, key.kind], (key.namespace, key.name))
            self._created[group, key.kind] = self.ever(key.api_version, key.kind) + 1
        self._notify(StoreChange(self.revision, old, stored, key))
        return stored

    def remove(self, obj: KubernetesObject) -> None:
        """Remove an object if it exists."""
        key = object_key(obj)
        old = self._objects.get((key.group, key.kind), {}).pop((key.namespace, key.name), None)
        if old is not None:
            places = self._ordered.get((key.group, key.kind))
            if places is not None:
                del places[bisect_left(places, (key.namespace, key.name))]
            self.revision += 1
            self._written[key.group, key.kind] = self.revision
            self._notify(StoreChange(self.revision, old, None, key))

    def _notify(self, change: StoreChange) -> None:
        key = change.key
        definition = key.kind == "CustomResourceDefinition"
        if definition and key.api_version.startswith("apiextensions.k8s.io/"):
            defined = crd_kinds(self.list(key.api_version, key.kind, ""))
            self.defined = {**self._installed, **defined}
            self._served = None
        self.changes.append(change)
        named = change.subject["apiVersion"], key.kind
        watchers = self._watchers_by_kind.get(named)
        if watchers is None:
            watchers = self._watchers_by_kind[named] = tuple(
                watcher for watcher, kinds in self._watchers if kinds is None or named in kinds
            )
        for watcher in watchers:
            watcher(change)


# The kinds that a cluster serves, by their names in policies.
# Source of the rules: upstream pkg/clients/dclient/discovery.go, pkg/utils/kube/kind.go.

_ANY_VERSION = ("v1", "v2", "v1alpha1", "v1alpha2", "v1beta1", "v2alpha1", "v2beta1")
"""The versions assumed for a kind whose versions are unknown."""
_SCALED = ("Deployment", "ReplicaSet", "ReplicationController", "StatefulSet")
_PARTS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(_SCALED, ("scale",)),
    "Namespace": ("finalize",),
    "Node": ("proxy",),
    "Pod": (
        *("attach", "binding", "ephemeralcontainers", "eviction", "exec"),
        *("log", "portforward", "proxy", "resize"),
    ),
    "Service": ("proxy",),
    "ServiceAccount": ("token",),
}
"""Subresources of built-in kinds besides `status`."""
_WITHOUT_STATUS = frozenset(
    {"ConfigMap", "Secret", "ServiceAccount", "Endpoints", "Event", "Role", "RoleBinding"}
    | {"ClusterRole", "ClusterRoleBinding", "Lease", "StorageClass", "PriorityClass"}
)


def find_kinds(text: str, store: ObjectStore) -> list[tuple[str, str, str]]:
    """Return group, kind and subresource of all served kinds that a `kinds` entry selects."""
    group, version, kind, subresource = parse_kind_selector(text)
    named = store.served if has_wildcard(kind) else [key for key in store.served if key[1] == kind]
    kinds = [
        key
        for key in named
        if matches(kind, key[1])
        and matches(group, key[0])
        and any(
            matches(version, one) for one in served_versions(*key, store.defined) or _ANY_VERSION
        )
    ]
    parts = [(*key, part) for key in kinds for part in _parts(key, subresource, store)]
    if subresource and (kind, subresource) != ("*", "*"):
        return parts
    return [*((*key, "") for key in kinds), *parts]


class ServedResource(NamedTuple):
    """One resource or subresource, in one version."""

    group: str
    version: str
    resource: str
    subresource: str
    namespaced: bool


def find_resources(text: str, store: ObjectStore) -> Iterator[ServedResource]:
    """Yield the resources that a `kinds` entry selects, in each served version."""
    version = parse_kind_selector(text).version
    for group, kind, part in find_kinds(text, store):
        resource = plural(group, kind, store.defined)
        for served in served_versions(group, kind, store.defined) or (version,):
            if matches(version, served):
                namespaced = store.served[group, kind].namespaced
                yield ServedResource(group, served, resource, part, namespaced)


def is_cluster_wide(text: str, store: ObjectStore) -> bool:
    """Return whether `kind` or `apiVersion/kind` names a cluster-scoped kind."""
    api_version, _, kind = text.rpartition("/")
    group = split_api_version(api_version)[0]
    return any(
        known == kind and not facts.namespaced and (not api_version or its_group == group)
        for (its_group, known), facts in store.served.items()
    )


def kind_key(text: str, store: ObjectStore) -> ObjectKey | None:
    """Return apiVersion and kind that a `kinds` entry selects, None if they are not served."""
    group, version, kind, _ = parse_kind_selector(text)
    for key in store.served:
        if key[1] != kind or not matches(group, key[0]):
            continue
        for served in served_versions(*key, store.defined) or _ANY_VERSION:
            if matches(version, served):
                return ObjectKey(f"{key[0]}/{served}" if key[0] else served, kind, "", "")
    return None


def _parts(key: tuple[str, str], pattern: str, store: ObjectStore) -> list[str]:
    """Return the subresources of a kind that a pattern selects."""
    if not pattern:
        return []
    group, kind = key
    parts = [] if kind in _WITHOUT_STATUS else ["status"]
    if is_builtin(group, kind):
        parts += _PARTS.get(kind, ())
    else:
        versions = store.defined_versions(group, kind)
        parts += [part for one in versions for part in one.get("subresources") or ()]
    return [part for part in dict.fromkeys(parts) if matches(pattern, part)]
