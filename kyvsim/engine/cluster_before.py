"""A cluster as it is while a request is admitted: before what the request does."""

from collections.abc import Iterable, Sequence
from functools import cached_property

from kyvsim.kube.gvk import split_api_version
from kyvsim.kube.objects import Json, in_version, object_key
from kyvsim.model.ports import ClusterView


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
