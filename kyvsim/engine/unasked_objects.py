"""The objects of a run where only a part of them is at hand."""

from collections.abc import Iterable, Sequence

from kyvsim.engine.given_objects import GivenObjects
from kyvsim.kube.gvk import split_api_version
from kyvsim.kube.objects import Json


class UnaskedObjects:
    """A `ClusterView` that knows all Namespaces, and remembers whether others were asked for.

    What it says of Namespaces is true. Any other answer of it is worth nothing: `asked` says
    whether one was given.
    """

    __slots__ = ("_namespaces", "asked")

    has_ints = False

    def __init__(self, namespaces: Iterable[Json] = ()) -> None:
        self._namespaces = GivenObjects(namespaces)
        self.asked = False

    def get(self, api_version: str, kind: str, namespace: str, name: str) -> Json | None:
        """Return a Namespace, or None."""
        self._note(api_version, kind)
        return self._namespaces.get(api_version, kind, namespace, name)

    def list(self, api_version: str, kind: str, namespace: str) -> Sequence[Json]:
        """Return Namespaces, or nothing."""
        self._note(api_version, kind)
        return self._namespaces.list(api_version, kind, namespace)

    def _note(self, api_version: str, kind: str) -> None:
        group, _ = split_api_version(api_version)
        self.asked |= (group, kind) != ("", "Namespace")

    def kind_of(self, api_version: str, name: str) -> str:
        """Return ""."""
        del api_version, name
        self.asked = True
        return ""

    def guesses(self, api_version: str, name: str) -> bool:
        """Return False."""
        del api_version, name
        self.asked = True
        return False

    def is_namespaced(self, api_version: str, kind: str) -> bool:
        """Return False."""
        del api_version, kind
        self.asked = True
        return False

    def kinds(self) -> Iterable[tuple[str, str]]:
        """Return nothing."""
        self.asked = True
        return ()

    def namespace_labels(self, namespace: str) -> dict[str, str]:
        """Return the labels of a Namespace, or an empty dict."""
        return self._namespaces.namespace_labels(namespace)
