"""What policies look up besides the object of a request, and which of it is there."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from kyvsim.engine.given_objects import GivenObjects
from kyvsim.kubernetes.image import parse_image
from kyvsim.kubernetes.objects import Json, ObjectKey, object_key

_T = TypeVar("_T")
IMAGE = "Image"
"""Stands, without any apiVersion, for the kind of what a registry tells of an image."""


class Asked:
    """Keeps what is looked up while a case is decided."""

    def __init__(self) -> None:
        self.missed: dict[ObjectKey, None] = {}
        """What is not there; no name: a list that is empty."""
        self.stand_ins: dict[ObjectKey, None] = {}
        """What is there only because a request needs it: with next to nothing in it."""
        self.found = 0
        """How often something was there."""

    def forget(self) -> None:
        """Begin anew."""
        self.missed.clear()
        self.stand_ins.clear()
        self.found = 0


class AskedCluster:
    """A `ClusterView` over given objects that tells what is asked for."""

    def __init__(
        self,
        objects: Sequence[Json],
        definitions: Sequence[Json],
        asked: Asked,
        stand_in: Json = None,
    ) -> None:
        """Take one of the objects that stands in for what nobody gave, None if there is none."""
        self._objects = GivenObjects(objects, definitions)
        self._asked = asked
        self._stand_in = None if stand_in is None else object_key(stand_in)

    has_ints = False

    def get(self, api_version: str, kind: str, namespace: str, name: str) -> Json | None:
        """Return the object, or None."""
        found = self._objects.get(api_version, kind, namespace, name)
        key = ObjectKey(api_version, kind, namespace, name)
        if found is None:
            self._asked.missed[key] = None
        else:
            self._asked.found += 1
            if key == self._stand_in:
                self._asked.stand_ins[key] = None
        return found

    def list(self, api_version: str, kind: str, namespace: str) -> Sequence[Json]:
        """Return the objects of a kind in a namespace ("" for all)."""
        found = self._objects.list(api_version, kind, namespace)
        if found:
            self._asked.found += 1
        else:
            self._asked.missed[ObjectKey(api_version, kind, namespace, "")] = None
        return found

    def kind_of(self, api_version: str, name: str) -> str:
        """Return the kind that paths call `name`, "" where there can be none."""
        return self._objects.kind_of(api_version, name)

    def plural_of(self, api_version: str, kind: str) -> str:
        """Return the name by which paths call a kind, "" where it is not served."""
        return self._objects.plural_of(api_version, kind)

    def guesses(self, api_version: str, name: str) -> bool:
        """Return whether nothing tells of a kind that paths call `name`, though it may exist."""
        return self._objects.guesses(api_version, name)

    def is_namespaced(self, api_version: str, kind: str) -> bool:
        """Return whether objects of a kind live in namespaces."""
        return self._objects.is_namespaced(api_version, kind)

    def kinds(self) -> Iterable[tuple[str, str]]:
        """Return apiVersion and kind of everything that there is."""
        return self._objects.kinds()

    def namespace_labels(self, namespace: str) -> dict[str, Json]:
        """Return the labels of a Namespace: every request asks for these."""
        return self._objects.namespace_labels(namespace)


class AskedImages(Mapping[str, _T]):
    """What is known of images, by their references, however these are written."""

    def __init__(
        self,
        given: Mapping[str, _T],
        made: Iterable[Json],
        asked: Asked,
        read: Callable[[Json], _T],
    ) -> None:
        """Take what is given, and what is made for a case: `read` makes of that what is kept."""
        self._given = given
        self._made = {whole_reference(one["image"]): read(one) for one in made}
        self._asked = asked

    def __getitem__(self, reference: str) -> _T:
        found = self._given.get(reference) or self._made.get(whole_reference(reference))
        if found is None:
            self._asked.missed[ObjectKey("", IMAGE, "", reference)] = None
            raise KeyError(reference)
        self._asked.found += 1
        return found

    def __iter__(self) -> Iterator[str]:
        return iter({**self._given, **self._made})

    def __len__(self) -> int:
        return len({**self._given, **self._made})


def whole_reference(text: str) -> str:
    """Return the reference of an image with its registry and its tag, as far as it is one."""
    try:
        return parse_image(text).reference
    except ValueError:
        return text
