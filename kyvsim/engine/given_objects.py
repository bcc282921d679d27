"""The objects given to a command, as the cluster that rules may read."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import groupby

from kyvsim.kube.discovery import KindTable, crd_kinds, guessed_kind, kind_of_plural, plural
from kyvsim.kube.gvk import split_api_version
from kyvsim.kube.objects import Json, ObjectKey, labels, object_key

_DEFINITIONS = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")


class GivenObjects:
    """A `ClusterView` over a fixed collection of objects; of two with one name the first counts."""

    def __init__(self, objects: Iterable[Json]) -> None:
        self._by_key: dict[ObjectKey, Json] = {}
        self._by_kind: dict[tuple[str, str], list[Json]] = {}
        self._listed: dict[tuple[str, str], dict[str, Sequence[Json]]] = {}
        for obj in objects:
            key = object_key(obj)
            if key not in self._by_key:
                self._by_key[key] = obj
                self._by_kind.setdefault((key.api_version, key.kind), []).append(obj)

    def get(self, api_version: str, kind: str, namespace: str, name: str) -> Json | None:
        """Return the object, or None."""
        return self._by_key.get(ObjectKey(api_version, kind, namespace, name))

    def list(self, api_version: str, kind: str, namespace: str) -> Sequence[Json]:
        """Return the objects of a kind in a namespace ("" for all), by namespace and name."""
        group = (api_version, kind)
        listed = self._listed.get(group)
        if listed is None:
            listed = self._listed[group] = _by_namespace(self._by_kind.get(group, ()))
        return listed.get(namespace, ())

    def kinds(self) -> Iterable[tuple[str, str]]:
        """Return apiVersion and kind of everything that was given, in input order."""
        return self._by_kind.keys()

    def kind_of(self, api_version: str, name: str) -> str:
        """Return the kind that paths call `name`, or what the name suggests.

        There may be kinds that nobody gave an object of.
        """
        found = self._kind_by_plural.get((api_version, name))
        known = found or kind_of_plural(split_api_version(api_version)[0], name, self._defined)
        return known or guessed_kind(name)

    def is_namespaced(self, api_version: str, kind: str) -> bool:
        """Return False: upstream's stand-in for a cluster says so of every kind.

        upstream: pkg/clients/dclient/fake.go
        """
        del api_version, kind
        return False

    @cached_property
    def _defined(self) -> KindTable:
        return crd_kinds(self._by_kind.get(_DEFINITIONS, ()))

    @cached_property
    def _kind_by_plural(self) -> dict[tuple[str, str], str]:
        """Return the given kinds by apiVersion and plural, guessed where nobody defines it."""
        return {
            (api_version, plural(split_api_version(api_version)[0], kind, self._defined)): kind
            for api_version, kind in self._by_kind
        }

    def namespace_labels(self, namespace: str) -> dict[str, str]:
        """Return the labels of a given Namespace, or an empty dict."""
        return labels(self.get("v1", "Namespace", "", namespace))


def _by_namespace(objects: Sequence[Json]) -> dict[str, Sequence[Json]]:
    """Return objects by namespace and all of them under "", in the order in which an API lists."""
    ordered = sorted(objects, key=lambda obj: object_key(obj)[2:])
    listed: dict[str, Sequence[Json]] = {}
    for namespace, some in groupby(ordered, key=lambda obj: object_key(obj).namespace):
        listed[namespace] = tuple(some)
    return {**listed, "": tuple(ordered)}
