"""The objects given to a command, as the cluster that rules may read."""

from collections.abc import Iterable, Sequence

from kyvsim.kube.objects import Json, ObjectKey, labels, object_key


class GivenObjects:
    """A `ClusterView` over a fixed collection of objects; of two with one name the first counts."""

    def __init__(self, objects: Iterable[Json]) -> None:
        self._by_key: dict[ObjectKey, Json] = {}
        self._by_kind: dict[tuple[str, str], list[Json]] = {}
        for obj in objects:
            key = object_key(obj)
            if key not in self._by_key:
                self._by_key[key] = obj
                self._by_kind.setdefault((key.api_version, key.kind), []).append(obj)

    def get(self, api_version: str, kind: str, namespace: str, name: str) -> Json | None:
        """Return the object, or None."""
        return self._by_key.get(ObjectKey(api_version, kind, namespace, name))

    def list(self, api_version: str, kind: str, namespace: str) -> Sequence[Json]:
        """Return the objects of a kind in a namespace ("" for all), in input order."""
        found = self._by_kind.get((api_version, kind), [])
        if not namespace:
            return tuple(found)
        return tuple(one for one in found if object_key(one).namespace == namespace)

    def kinds(self) -> Iterable[tuple[str, str]]:
        """Return apiVersion and kind of everything that was given, in input order."""
        return self._by_kind.keys()

    def namespace_labels(self, namespace: str) -> dict[str, str]:
        """Return the labels of a given Namespace, or an empty dict."""
        return labels(self.get("v1", "Namespace", "", namespace))
