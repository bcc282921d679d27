"""The objects of a run, with a note whether any rule looked at them."""

from collections.abc import Iterable, Sequence

from kyvsim.kubernetes.discovery import split_api_version
from kyvsim.kubernetes.objects import Json
from kyvsim.model.ports import ClusterView


class WatchedObjects:
    """A `ClusterView` that remembers whether it was asked for anything but Namespaces."""

    __slots__ = ("_view", "asked", "has_ints")

    def __init__(self, view: ClusterView) -> None:
        self._view = view
        self.asked = False
        self.has_ints = view.has_ints

    def get(self, api_version: str, kind: str, namespace: str, name: str) -> Json | None:
        """Return the object, or None."""
        self._note(api_version, kind)
        return self._view.get(api_version, kind, namespace, name)

    def list(self, api_version: str, kind: str, namespace: str) -> Sequence[Json]:
        """Return the objects of a kind in a namespace ("" for all)."""
        self._note(api_version, kind)
        return self._view.list(api_version, kind, namespace)

    def _note(self, api_version: str, kind: str) -> None:
        group, _ = split_api_version(api_version)
        self.asked |= (group, kind) != ("", "Namespace")

    def kind_of(self, api_version: str, name: str) -> str:
        """Return the kind that paths call `name`, "" where there can be none."""
        self.asked = True
        return self._view.kind_of(api_version, name)

    def plural_of(self, api_version: str, kind: str) -> str:
        """Return the name by which paths call a kind, "" where it is not served."""
        self.asked = True
        return self._view.plural_of(api_version, kind)

    def guesses(self, api_version: str, name: str) -> bool:
        """Return whether nothing tells of a kind that paths call `name`, though it may exist."""
        self.asked = True
        return self._view.guesses(api_version, name)

    def is_namespaced(self, api_version: str, kind: str) -> bool:
        """Return whether objects of a kind have a namespace."""
        self.asked = True
        return self._view.is_namespaced(api_version, kind)

    def kinds(self) -> Iterable[tuple[str, str]]:
        """Return apiVersion and kind of everything that is there."""
        self.asked = True
        return self._view.kinds()

    def namespace_labels(self, namespace: str) -> dict[str, Json]:
        """Return the labels of a Namespace."""
        return self._view.namespace_labels(namespace)
