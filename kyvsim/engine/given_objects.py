"""The objects of a run as the cluster that rules may read, also as it is before a request."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import groupby
from types import MappingProxyType

from kyvsim.kubernetes.discovery import (
    KindTable,
    crd_kinds,
    guessed_kind,
    is_builtin_group,
    is_readable,
    kind_of_plural,
    plural,
    split_api_version,
)
from kyvsim.kubernetes.objects import Json, in_version, labels, object_key, text_field
from kyvsim.model.ports import ClusterView

# The objects given to a command, as the cluster that rules may read.


_NOTHING: Mapping[tuple[str, str], Json] = MappingProxyType({})
_NAME_LABEL = "kubernetes.io/metadata.name"
_DEFINITIONS = ("apiextensions.k8s.io", "CustomResourceDefinition")


class GivenObjects:
    """A `ClusterView` over a fixed collection of objects; of two with one name the first counts.

    An object is one whatever version of its group it is asked for by, and comes back as that
    version. Definitions of custom resources count where they are among the objects or beside them.
    """

    def __init__(self, objects: Sequence[Json], definitions: Iterable[Json] = ()) -> None:
        self._objects = objects
        self._definitions = definitions
        self._named: dict[tuple[str, str], dict[tuple[str, str], Json]] = {}
        self._listed: dict[tuple[str, str], dict[str, Sequence[Json]]] = {}

    has_ints = False

    @cached_property
    def _of_kind(self) -> dict[str, list[Json]]:
        found: dict[str, list[Json]] = {}
        for obj in self._objects:
            found.setdefault(text_field(obj, "kind"), []).append(obj)
        return found

    def _by_name(self, group: str, kind: str) -> Mapping[tuple[str, str], Json]:
        """Return the objects of a kind by namespace and name; rules ask for few kinds."""
        found = self._named.get((group, kind))
        if found is None:
            if kind not in self._of_kind:
                return _NOTHING
            found = self._named[group, kind] = {}
            for obj in self._of_kind[kind]:
                api_version, _, namespace, name = object_key(obj)
                if split_api_version(api_version)[0] == group:
                    found.setdefault((namespace, name), obj)
        return found

    def get(self, api_version: str, kind: str, namespace: str, name: str) -> Json | None:
        """Return the object, or None."""
        group, version = split_api_version(api_version)
        found = self._by_name(group, kind).get((namespace, name))
        if found is None or not is_readable(group, version, kind, self._defined):
            return None
        return in_version(found, api_version)

    def list(self, api_version: str, kind: str, namespace: str) -> Sequence[Json]:
        """Return the objects of a kind in a namespace ("" for all), by namespace and name."""
        listed = self._listed.get((api_version, kind))
        if listed is None:
            listed = self._listed[api_version, kind] = self._by_namespace(api_version, kind)
        return listed.get(namespace, ())

    def _by_namespace(self, api_version: str, kind: str) -> dict[str, Sequence[Json]]:
        """Return objects by namespace and all of them under "", in the order in which APIs list."""
        group, version = split_api_version(api_version)
        some = self._by_name(group, kind)
        if not some or not is_readable(group, version, kind, self._defined):
            return {}
        ordered = sorted(some.items(), key=lambda item: item[0])
        everything = [(place[0], in_version(obj, api_version)) for place, obj in ordered]
        listed: dict[str, Sequence[Json]] = {
            namespace: tuple(obj for _, obj in found)
            for namespace, found in groupby(everything, key=lambda item: item[0])
        }
        return {**listed, "": tuple(obj for _, obj in everything)}

    def kinds(self) -> Iterable[tuple[str, str]]:
        """Return apiVersion and kind of everything as it was given, in input order."""
        return self._kinds.keys()

    def kind_of(self, api_version: str, name: str) -> str:
        """Return the kind that paths call `name`, "" where there can be none.

        Outside of Kubernetes' own groups there may be kinds that nobody gave an object of: there
        it is the kind that the name suggests.
        """
        group, version = split_api_version(api_version)
        kind = self._known_kind(group, name)
        if not kind:
            return "" if is_builtin_group(group) else guessed_kind(name)
        return kind if is_readable(group, version, kind, self._defined) else ""

    def plural_of(self, api_version: str, kind: str) -> str:
        """Return the name by which paths call a kind, as Kubernetes guesses it for unknown ones."""
        group, version = split_api_version(api_version)
        readable = is_readable(group, version, kind, self._defined)
        return plural(group, kind, self._defined) if readable else ""

    def guesses(self, api_version: str, name: str) -> bool:
        """Return whether nothing tells of a kind that paths call `name`, though it may exist."""
        group = split_api_version(api_version)[0]
        return not (self._known_kind(group, name) or is_builtin_group(group))

    def _known_kind(self, group: str, name: str) -> str:
        known = self._kind_by_plural.get((group, name))
        return known or kind_of_plural(group, name, self._defined)

    def is_namespaced(self, api_version: str, kind: str) -> bool:
        """Return False: upstream's stand-in for a cluster says so of every kind.

        upstream: pkg/clients/dclient/fake.go
        """
        del api_version, kind
        return False

    @cached_property
    def _defined(self) -> KindTable:
        own = self._by_name(*_DEFINITIONS).values()
        return crd_kinds((*self._definitions, *own))

    @cached_property
    def _kinds(self) -> dict[tuple[str, str], None]:
        found: dict[tuple[str, str], None] = {}
        for obj in self._objects:
            api_version, kind, namespace, name = object_key(obj)
            group = split_api_version(api_version)[0]
            if self._by_name(group, kind)[namespace, name] is obj:
                found[api_version, kind] = None
        return found

    @cached_property
    def _kind_by_plural(self) -> dict[tuple[str, str], str]:
        """Return the given kinds by group and plural, guessed where nobody defines it."""
        given = ((split_api_version(version)[0], kind) for version, kind in self._kinds)
        kinds = dict.fromkeys(given)
        return {(group, plural(group, kind, self._defined)): kind for group, kind in kinds}

    def namespace_labels(self, namespace: str) -> dict[str, str]:
        """Return the labels of a given Namespace, its name among them; an empty dict for none.

        upstream: an API server gives every Namespace that label.
        """
        found = self.get("v1", "Namespace", "", namespace)
        return {**labels(found), _NAME_LABEL: namespace} if found else {}


# A cluster as it is while a request is admitted: before what the request does.


class ClusterBefore:
    """A `ClusterView` in which one object of another is as it was before, or is not there yet.

    It is that object under every version of its group. Nothing is worked out before it is asked.
    """

    def __init__(self, cluster: ClusterView, arriving: Json, before: Json | None) -> None:
        self._cluster = cluster
        self._arriving = arriving
        self._before = before

    @cached_property
    def _kind(self) -> tuple[str, str]:
        api_version, kind, _, _ = object_key(self._arriving)
        return split_api_version(api_version)[0], kind

    @cached_property
    def _place(self) -> tuple[str, str]:
        _, _, namespace, name = object_key(self._arriving)
        return namespace, name

    @property
    def has_ints(self) -> bool:
        """Whether whole numbers of the objects are ints."""
        return self._cluster.has_ints

    def get(self, api_version: str, kind: str, namespace: str, name: str) -> Json | None:
        """Return the object, or None."""
        found = self._cluster.get(api_version, kind, namespace, name)
        if (
            found is None
            or (namespace, name) != self._place
            or not self._is_kind(api_version, kind)
        ):
            return found
        return self._as_before(api_version)

    def list(self, api_version: str, kind: str, namespace: str) -> Sequence[Json]:
        """Return the objects of a kind in a namespace ("" for all), by namespace and name."""
        found = self._cluster.list(api_version, kind, namespace)
        if not self._is_kind(api_version, kind):
            return found
        some = (self._as_before(api_version) if self._is_it(obj) else obj for obj in found)
        return [obj for obj in some if obj is not None]

    def kind_of(self, api_version: str, name: str) -> str:
        """Return the kind that paths call `name`, "" where there can be none."""
        return self._cluster.kind_of(api_version, name)

    def plural_of(self, api_version: str, kind: str) -> str:
        """Return the name by which paths call a kind, "" where it is not served."""
        return self._cluster.plural_of(api_version, kind)

    def guesses(self, api_version: str, name: str) -> bool:
        """Return whether nothing tells of a kind that paths call `name`, though it may exist."""
        return self._cluster.guesses(api_version, name)

    def is_namespaced(self, api_version: str, kind: str) -> bool:
        """Return whether objects of a kind live in namespaces, as far as this cluster can say."""
        return self._cluster.is_namespaced(api_version, kind)

    def kinds(self) -> Iterable[tuple[str, str]]:
        """Return apiVersion and kind of everything that there is, or comes."""
        return self._cluster.kinds()

    def namespace_labels(self, namespace: str) -> dict[str, Json]:
        """Return the labels known for a namespace, or an empty dict."""
        return self._cluster.namespace_labels(namespace)

    def _is_kind(self, api_version: str, kind: str) -> bool:
        return (split_api_version(api_version)[0], kind) == self._kind

    def _is_it(self, obj: Json) -> bool:
        _, _, namespace, name = object_key(obj)
        return (namespace, name) == self._place

    def _as_before(self, api_version: str) -> Json | None:
        return None if self._before is None else in_version(self._before, api_version)
