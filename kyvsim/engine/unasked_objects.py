"""The objects of a run where only a part of them is at hand."""

from collections.abc import Iterable, Sequence

from kyvsim.kube.objects import Json


class UnaskedObjects:
    """A `ClusterView` without objects that remembers whether any were asked for.

    There are no Namespaces where it stands in, so that what it says of those is true. Any other
    answer of it is worth nothing: `asked` says whether one was given.
    """

    __slots__ = ("asked",)

    has_ints = False

    def __init__(self) -> None:
        self.asked = False

    def get(self, api_version: str, kind: str, namespace: str, name: str) -> Json | None:
        """Return None."""
        del namespace, name
        self.asked |= (api_version, kind) != ("v1", "Namespace")
        return None

    def list(self, api_version: str, kind: str, namespace: str) -> Sequence[Json]:
        """Return nothing."""
        del api_version, kind, namespace
        self.asked = True
        return ()

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

    def namespace_labels(self, namespace: str) -> dict[str, Json]:
        """Return an empty dict."""
        del namespace
        return {}
