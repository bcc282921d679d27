"""Views of a run's objects that note what was read, or hold only a part of them."""

from collections.abc import Iterable, Sequence
from typing import Final

from kyvsim.engine.given_objects import GivenObjects
from kyvsim.kubernetes.discovery import split_api_version
from kyvsim.kubernetes.objects import Json
from kyvsim.model.ports import ClusterView

# The objects of a run where only a part of them is at hand.

ALL_KINDS: Final = ""
"""Stands among what was asked for where the answer depends on what kinds there are."""


class UnaskedObjects:
    """A `ClusterView` that knows all objects of some kinds, and remembers what else is asked for.

    What it says of those kinds is what `GivenObjects` says that has everything. Any other answer
    of it is worth nothing: `asked` has the kinds of which one was given.
    """

    __slots__ = ("_kinds", "_known", "asked")

    has_ints = False

    def __init__(
        self,
        kinds: frozenset[str] = frozenset({"Namespace"}),
        objects: Sequence[Json] = (),
        definitions: Iterable[Json] = (),
    ) -> None:
        self._kinds = kinds
        self._known = GivenObjects(objects, definitions)
        self.asked: set[str] = set()

    def get(self, api_version: str, kind: str, namespace: str, name: str) -> Json | None:
        """Return the object, or None."""
        self._note(kind)
        return self._known.get(api_version, kind, namespace, name)

    def list(self, api_version: str, kind: str, namespace: str) -> Sequence[Json]:
        """Return the objects of a kind."""
        self._note(kind)
        return self._known.list(api_version, kind, namespace)

    def _note(self, kind: str) -> None:
        if kind not in self._kinds:
            self.asked.add(kind)

    def kind_of(self, api_version: str, name: str) -> str:
        """Return ""."""
        del api_version, name
        self.asked.add(ALL_KINDS)
        return ""

    def plural_of(self, api_version: str, kind: str) -> str:
        """Return what `GivenObjects` says of every kind."""
        return self._known.plural_of(api_version, kind)

    def guesses(self, api_version: str, name: str) -> bool:
        """Return False."""
        del api_version, name
        self.asked.add(ALL_KINDS)
        return False

    def is_namespaced(self, api_version: str, kind: str) -> bool:
        """Return what `GivenObjects` says of every kind."""
        return self._known.is_namespaced(api_version, kind)

    def kinds(self) -> Iterable[tuple[str, str]]:
        """Return nothing."""
        self.asked.add(ALL_KINDS)
        return ()

    def namespace_labels(self, namespace: str) -> dict[str, str]:
        """Return the labels of a Namespace, or an empty dict."""
        self._note("Namespace")
        return self._known.namespace_labels(namespace)


# The objects of a run, with a note whether any rule looked at them.


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
