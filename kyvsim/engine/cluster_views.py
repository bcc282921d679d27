"""The cluster that rules read: the given objects, and views on top of another view."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import groupby
from types import MappingProxyType
from typing import Final

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
        """Return whether nothing defines a kind that paths call `name`, though it may exist."""
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
        """Return the given kinds by group and plural, guessed if no definition is given."""
        given = ((split_api_version(version)[0], kind) for version, kind in self._kinds)
        kinds = dict.fromkeys(given)
        return {(group, plural(group, kind, self._defined)): kind for group, kind in kinds}

    def namespace_labels(self, namespace: str) -> dict[str, str]:
        """Return the labels of a given Namespace, its name among them; an empty dict for none.

        upstream: an API server gives every Namespace that label.
        """
        found = self.get("v1", "Namespace", "", namespace)
        return {**labels(found), _NAME_LABEL: namespace} if found else {}


# Views of a cluster on top of another view: some objects replaced, or what is read recorded.

ALL_KINDS: Final = ""
"""Recorded as a kind if an answer depends on which kinds there are."""
_KIND_NAMES: Final = "*"
"""Recorded as a kind if an answer depends only on how a kind is defined."""


class DelegatingView:
    """A `ClusterView` that answers as another one does: what overlays and recorders have in common.

    The protocol has eight methods, of which an overlay changes two or three.
    """

    def __init__(self, view: ClusterView) -> None:
        self._view = view

    def _record(self, api_version: str, kind: str) -> None:
        """Take notice that an answer depends on the objects of a kind, or on ALL_KINDS."""

    @property
    def has_ints(self) -> bool:
        """Whether whole numbers of the objects are ints."""
        return self._view.has_ints

    def get(self, api_version: str, kind: str, namespace: str, name: str) -> Json | None:
        """Return the object, or None."""
        self._record(api_version, kind)
        return self._view.get(api_version, kind, namespace, name)

    def list(self, api_version: str, kind: str, namespace: str) -> Sequence[Json]:
        """Return the objects of a kind in a namespace ("" for all), by namespace and name."""
        self._record(api_version, kind)
        return self._view.list(api_version, kind, namespace)

    def kind_of(self, api_version: str, name: str) -> str:
        """Return the kind that paths call `name`, "" if there can be none."""
        self._record("", ALL_KINDS)
        return self._view.kind_of(api_version, name)

    def plural_of(self, api_version: str, kind: str) -> str:
        """Return the name by which paths call a kind, "" if it is not served."""
        self._record("", _KIND_NAMES)
        return self._view.plural_of(api_version, kind)

    def guesses(self, api_version: str, name: str) -> bool:
        """Return whether a kind that paths call `name` is unknown, but may exist."""
        self._record("", ALL_KINDS)
        return self._view.guesses(api_version, name)

    def is_namespaced(self, api_version: str, kind: str) -> bool:
        """Return whether objects of a kind have a namespace."""
        self._record("", _KIND_NAMES)
        return self._view.is_namespaced(api_version, kind)

    def kinds(self) -> Iterable[tuple[str, str]]:
        """Return apiVersion and kind of everything that there is."""
        self._record("", ALL_KINDS)
        return self._view.kinds()

    def namespace_labels(self, namespace: str) -> dict[str, Json]:
        """Return the labels of a Namespace, or an empty dict."""
        self._record("", "Namespace")
        return self._view.namespace_labels(namespace)


class OverlayView(DelegatingView):
    """A view in which one object of another is as it was before, or is not there yet.

    It is that object under every version of its group. Further kinds may be listed of which there
    is no object. Nothing is computed before it is needed.
    """

    def __init__(
        self,
        view: ClusterView,
        arriving: Json = None,
        before: Json | None = None,
        kinds: Iterable[tuple[str, str]] = (),
    ) -> None:
        super().__init__(view)
        self._arriving = arriving
        self._before = before
        self._kinds = tuple(kinds)

    @cached_property
    def _key(self) -> tuple[tuple[str, str], tuple[str, str]]:
        if self._arriving is None:
            return ("", ""), ("", "")
        api_version, kind, namespace, name = object_key(self._arriving)
        return (split_api_version(api_version)[0], kind), (namespace, name)

    def get(self, api_version: str, kind: str, namespace: str, name: str) -> Json | None:
        """Return the object, or None."""
        found = self._view.get(api_version, kind, namespace, name)
        of_kind, place = self._key
        if found is None or (namespace, name) != place:
            return found
        if (split_api_version(api_version)[0], kind) != of_kind:
            return found
        return None if self._before is None else in_version(self._before, api_version)

    def list(self, api_version: str, kind: str, namespace: str) -> Sequence[Json]:
        """Return the objects of a kind in a namespace ("" for all), by namespace and name."""
        found = self._view.list(api_version, kind, namespace)
        of_kind, place = self._key
        if (split_api_version(api_version)[0], kind) != of_kind:
            return found
        before = None if self._before is None else in_version(self._before, api_version)
        some = (before if object_key(obj)[2:] == place else obj for obj in found)
        return [obj for obj in some if obj is not None]

    def kinds(self) -> Iterable[tuple[str, str]]:
        """Return apiVersion and kind of everything that there is, and of what was added."""
        if not self._kinds:
            return self._view.kinds()
        return dict.fromkeys([*self._view.kinds(), *self._kinds])


class RecordingView(DelegatingView):
    """A view that records the kinds whose objects were read, except those that are complete."""

    def __init__(self, view: ClusterView, is_complete: Callable[[str, str], bool]) -> None:
        super().__init__(view)
        self._is_complete = is_complete
        self.queried: set[str] = set()

    def _record(self, api_version: str, kind: str) -> None:
        if not self._is_complete(split_api_version(api_version)[0], kind):
            self.queried.add(kind)


def view_of_part(
    kinds: frozenset[str] = frozenset({"Namespace"}),
    objects: Sequence[Json] = (),
    definitions: Iterable[Json] = (),
) -> RecordingView:
    """Return the view of a part of a run's objects, which has all objects of some kinds.

    Answers on other kinds are worthless: `queried` then has those kinds. How kinds are named is
    answered from the definitions, which every part has.
    """
    known = (kinds | {_KIND_NAMES}) - {ALL_KINDS}
    return RecordingView(GivenObjects(objects, definitions), lambda _, kind: kind in known)


def view_of_whole(view: ClusterView) -> RecordingView:
    """Return a view whose `queried` says whether anything but Namespaces was read."""
    return RecordingView(view, lambda group, kind: (group, kind) == ("", "Namespace"))
