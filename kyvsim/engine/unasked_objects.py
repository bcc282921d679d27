"""The objects of a run where only a part of them is at hand."""

from collections.abc import Iterable, Sequence
from typing import Final

from kyvsim.engine.given_objects import GivenObjects
from kyvsim.kubernetes.objects import Json

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
