"""The inputs of an evaluation besides policies: the cluster that rules read, and the request.

The cluster is the given objects, or a view on top of another view.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import groupby
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

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
from kyvsim.kubernetes.objects import KubernetesObject, in_version, labels, object_key, text_field
from kyvsim.model.ports import ClusterView, ExternalData
from kyvsim.model.request import AdmissionRequest, Operation, UserInfo
from kyvsim.model.values import NO_MOCKS, Mocks

if TYPE_CHECKING:
    from kyvsim.model.values import Values

# The objects given to a command, as the cluster that rules can read.

_NOTHING: Mapping[tuple[str, str], KubernetesObject] = MappingProxyType({})
_NAME_LABEL = "kubernetes.io/metadata.name"
_DEFINITIONS = ("apiextensions.k8s.io", "CustomResourceDefinition")


class GivenObjects:
    """A `ClusterView` over a fixed collection of objects; of several with one name, the first.

    An object can be read in any version of its group, and is returned in that version. Definitions
    of custom resources are used both from the objects and from separate input.
    """

    def __init__(
        self, objects: Sequence[KubernetesObject], definitions: Iterable[KubernetesObject] = ()
    ) -> None:
        self._objects = objects
        self._definitions = definitions
        self._named: dict[tuple[str, str], dict[tuple[str, str], KubernetesObject]] = {}
        self._listed: dict[tuple[str, str], dict[str, Sequence[KubernetesObject]]] = {}

    has_ints = False

    @cached_property
    def _of_kind(self) -> dict[str, list[KubernetesObject]]:
        found: dict[str, list[KubernetesObject]] = {}
        for obj in self._objects:
            found.setdefault(text_field(obj, "kind"), []).append(obj)
        return found

    def _by_name(self, group: str, kind: str) -> Mapping[tuple[str, str], KubernetesObject]:
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

    def get(
        self, api_version: str, kind: str, namespace: str, name: str
    ) -> KubernetesObject | None:
        """Return the object, or None."""
        group, version = split_api_version(api_version)
        found = self._by_name(group, kind).get((namespace, name))
        if found is None or not is_readable(group, version, kind, self._defined):
            return None
        return in_version(found, api_version)

    def list(self, api_version: str, kind: str, namespace: str) -> Sequence[KubernetesObject]:
        """Return the objects of a kind in a namespace ("" for all), by namespace and name."""
        listed = self._listed.get((api_version, kind))
        if listed is None:
            listed = self._listed[api_version, kind] = self._by_namespace(api_version, kind)
        return listed.get(namespace, ())

    def _by_namespace(self, api_version: str, kind: str) -> dict[str, Sequence[KubernetesObject]]:
        """Return objects by namespace, and all of them under "", in the order of API lists."""
        group, version = split_api_version(api_version)
        some = self._by_name(group, kind)
        if not some or not is_readable(group, version, kind, self._defined):
            return {}
        ordered = sorted(some.items(), key=lambda item: item[0])
        everything = [(place[0], in_version(obj, api_version)) for place, obj in ordered]
        listed: dict[str, Sequence[KubernetesObject]] = {
            namespace: tuple(obj for _, obj in found)
            for namespace, found in groupby(everything, key=lambda item: item[0])
        }
        return {**listed, "": tuple(obj for _, obj in everything)}

    def kinds(self) -> Iterable[tuple[str, str]]:
        """Return apiVersion and kind of all objects as given, in input order."""
        return self._kinds.keys()

    def kind_of(self, api_version: str, name: str) -> str:
        """Return the kind of the resource `name` in API paths, "" if there can be none.

        Outside of Kubernetes' own groups a kind may exist although no object of it is given: then
        the kind is guessed from the name.
        """
        group, version = split_api_version(api_version)
        kind = self._known_kind(group, name)
        if not kind:
            return "" if is_builtin_group(group) else guessed_kind(name)
        return kind if is_readable(group, version, kind, self._defined) else ""

    def plural_of(self, api_version: str, kind: str) -> str:
        """Return the resource name of a kind in API paths, guessed like Kubernetes if unknown."""
        group, version = split_api_version(api_version)
        readable = is_readable(group, version, kind, self._defined)
        return plural(group, kind, self._defined) if readable else ""

    def guesses(self, api_version: str, name: str) -> bool:
        """Return whether the resource `name` is undefined, though it may exist."""
        group = split_api_version(api_version)[0]
        return not (self._known_kind(group, name) or is_builtin_group(group))

    def _known_kind(self, group: str, name: str) -> str:
        known = self._kind_by_plural.get((group, name))
        return known or kind_of_plural(group, name, self._defined)

    def is_namespaced(self, api_version: str, kind: str) -> bool:
        """Return False: upstream's fake cluster returns it for every kind.

        upstream: pkg/clients/dclient/fake.go
        """
        del api_version, kind
        return False

    @cached_property
    def _defined(self) -> KindTable:
        return crd_kinds((*self._definitions, *self._by_name(*_DEFINITIONS).values()))

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
        """Return the given kinds by group and plural, which is guessed without a definition."""
        given = ((split_api_version(version)[0], kind) for version, kind in self._kinds)
        kinds = dict.fromkeys(given)
        return {(group, plural(group, kind, self._defined)): kind for group, kind in kinds}

    def namespace_labels(self, namespace: str) -> dict[str, str]:
        """Return the labels of a given Namespace, including its name; an empty dict for none.

        upstream: an API server adds this label to every Namespace.
        """
        found = self.get("v1", "Namespace", "", namespace)
        return {**labels(found), _NAME_LABEL: namespace} if found else {}


# Views of a cluster on top of another view: they replace some objects, or record reads.

ALL_KINDS: Final = ""
"""Recorded as a kind if a result depends on which kinds exist."""
_KIND_NAMES: Final = "*"
"""Recorded as a kind if a result depends only on how a kind is defined."""


class DelegatingView:
    """A `ClusterView` that delegates to another one: the base of overlays and recorders.

    The protocol has eight methods, of which an overlay changes two or three.
    """

    def __init__(self, view: ClusterView) -> None:
        self._view = view

    def _record(self, api_version: str, kind: str) -> None:
        """Record that a result depends on the objects of a kind, or on ALL_KINDS."""

    @property
    def has_ints(self) -> bool:
        """Whether whole numbers of the objects are ints."""
        return self._view.has_ints

    def get(
        self, api_version: str, kind: str, namespace: str, name: str
    ) -> KubernetesObject | None:
        """Return the object, or None."""
        self._record(api_version, kind)
        return self._view.get(api_version, kind, namespace, name)

    def list(self, api_version: str, kind: str, namespace: str) -> Sequence[KubernetesObject]:
        """Return the objects of a kind in a namespace ("" for all), by namespace and name."""
        self._record(api_version, kind)
        return self._view.list(api_version, kind, namespace)

    def kind_of(self, api_version: str, name: str) -> str:
        """Return the kind of the resource `name` in API paths, "" if there can be none."""
        self._record("", ALL_KINDS)
        return self._view.kind_of(api_version, name)

    def plural_of(self, api_version: str, kind: str) -> str:
        """Return the resource name of a kind in API paths, "" if it is not served."""
        self._record("", _KIND_NAMES)
        return self._view.plural_of(api_version, kind)

    def guesses(self, api_version: str, name: str) -> bool:
        """Return whether the resource `name` is unknown, but may exist."""
        self._record("", ALL_KINDS)
        return self._view.guesses(api_version, name)

    def is_namespaced(self, api_version: str, kind: str) -> bool:
        """Return whether objects of a kind have a namespace."""
        self._record("", _KIND_NAMES)
        return self._view.is_namespaced(api_version, kind)

    def kinds(self) -> Iterable[tuple[str, str]]:
        """Return apiVersion and kind of all objects."""
        self._record("", ALL_KINDS)
        return self._view.kinds()

    def namespace_labels(self, namespace: str) -> dict[str, str]:
        """Return the labels of a Namespace, or an empty dict."""
        self._record("", "Namespace")
        return self._view.namespace_labels(namespace)


class OverlayView(DelegatingView):
    """A view in which one object of another view has its old state, or does not exist yet.

    It is that object in every version of its group. Additional kinds without objects may be listed.
    Everything is computed on demand.
    """

    def __init__(
        self,
        view: ClusterView,
        arriving: KubernetesObject | None = None,
        before: KubernetesObject | None = None,
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

    def get(
        self, api_version: str, kind: str, namespace: str, name: str
    ) -> KubernetesObject | None:
        """Return the object, or None."""
        found = self._view.get(api_version, kind, namespace, name)
        of_kind, place = self._key
        if found is None or (namespace, name) != place:
            return found
        if (split_api_version(api_version)[0], kind) != of_kind:
            return found
        return None if self._before is None else in_version(self._before, api_version)

    def list(self, api_version: str, kind: str, namespace: str) -> Sequence[KubernetesObject]:
        """Return the objects of a kind in a namespace ("" for all), by namespace and name."""
        found = self._view.list(api_version, kind, namespace)
        of_kind, place = self._key
        if (split_api_version(api_version)[0], kind) != of_kind:
            return found
        before = None if self._before is None else in_version(self._before, api_version)
        some = (before if object_key(obj)[2:] == place else obj for obj in found)
        return [obj for obj in some if obj is not None]

    def kinds(self) -> Iterable[tuple[str, str]]:
        """Return apiVersion and kind of all objects, and of the additional kinds."""
        if not self._kinds:
            return self._view.kinds()
        return dict.fromkeys([*self._view.kinds(), *self._kinds])


class RecordingView(DelegatingView):
    """A view that records the kinds whose objects were read, except for complete kinds."""

    def __init__(self, view: ClusterView, is_complete: Callable[[str, str], bool]) -> None:
        super().__init__(view)
        self._is_complete = is_complete
        self.queried: set[str] = set()

    def _record(self, api_version: str, kind: str) -> None:
        if not self._is_complete(split_api_version(api_version)[0], kind):
            self.queried.add(kind)


def view_of_part(
    kinds: frozenset[str] = frozenset({"Namespace"}),
    objects: Sequence[KubernetesObject] = (),
    definitions: Iterable[KubernetesObject] = (),
) -> RecordingView:
    """Return the view of a part of a run's objects, which is complete for some kinds.

    With ALL_KINDS among them, there is an object of every kind. Results for other kinds are
    invalid: `queried` then contains those kinds. Names of kinds come from the definitions, which
    every part has.
    """
    known = kinds | {_KIND_NAMES}
    return RecordingView(GivenObjects(objects, definitions), lambda _, kind: kind in known)


def view_of_whole(view: ClusterView) -> RecordingView:
    """Return a view whose `queried` contains other kinds than Namespaces that were read."""
    return RecordingView(view, lambda group, kind: (group, kind) == ("", "Namespace"))


_NO_NAMESPACES: Mapping[str, KubernetesObject] = MappingProxyType({})


# The inputs of one evaluation besides policies and request.


class World(NamedTuple):
    """The objects that rules can read, and the given values for data that is unknown offline."""

    cluster: ClusterView
    values: "Values | None" = None
    answers_calls: bool = True
    """Whether `cluster` serves API calls and namespaces, as for `apply`."""
    sources: Callable[[str], ClusterView] | None = None
    """The objects that generate rules of a policy, by its key, may copy; None for `cluster`."""
    context: ClusterView | None = None
    images: Mapping[str, object] = MappingProxyType({})
    arriving: KubernetesObject | None = None
    """The object of `cluster` that the request creates or changes; None if it does not exist."""
    account: UserInfo | None = None
    """The account, if `cluster` is an API server; None if objects are just given."""
    writes: Callable[[str, KubernetesObject], None] | None = None
    """Writes objects that policies in CEL generate to a namespace, or raises ValueError."""
    targets: Sequence[KubernetesObject] = ()
    """The existing objects that policies in CEL may change for a trigger."""
    spares_triggers: bool = False
    """Whether rules for existing objects do not change triggers and run after them, as in a
    cluster."""
    reports_missing_input: bool = False
    """Whether results report the inputs that they lack; in a cluster, none are missing."""
    mocks: Mocks | None = None
    """Mocks that replace those of `values`."""

    @property
    def external(self) -> ExternalData:
        """The data that context entries and rules can read."""
        return self._outside(self.cluster)

    def outside_before(self, old: KubernetesObject | None) -> ExternalData:
        """Return the data during admission of the request: with the `old` object, or without it."""
        if self.arriving is None:
            return self._outside(self.cluster)
        return self._outside(OverlayView(self.cluster, self.arriving, old))

    def _outside(self, cluster: ClusterView) -> ExternalData:
        return ExternalData(
            cluster,
            self.mocks or (self.values.mocks if self.values else NO_MOCKS),
            self.answers_calls,
            context=self.context,
            images=self.images,
            namespaces=self.values.namespaces if self.values else _NO_NAMESPACES,
            targets=self.targets,
            spares_triggers=self.spares_triggers,
            sources=self.sources,
            account=self.account,
            writes=self.writes,
        )


# Requests that create, change or delete an object.

_DETAILS = (
    *("uid", "kind", "resource", "requestKind", "requestResource"),
    *("subResource", "requestSubResource", "name", "dryRun", "options"),
)
"""Additional fields of an AdmissionReview that rules can read."""


def request_of(
    created: AdmissionRequest, operation: Operation, old: KubernetesObject | None
) -> AdmissionRequest:
    """Return the request for another operation on the object of a CREATE request.

    Without an `old` object an UPDATE has the same old and new object.
    """
    obj = created.object
    if operation is Operation.UPDATE:
        return created._replace(operation=operation, old_object=obj if old is None else old)
    if operation is Operation.DELETE:
        return created._replace(operation=operation, object=None, old_object=obj)
    return created._replace(operation=operation)


def reviewed(created: AdmissionRequest, review: KubernetesObject) -> AdmissionRequest:
    """Return the request of an AdmissionReview for the object of a CREATE request.

    It contains the user, the operation and the old object. A request for a subresource is matched
    by the kind of its parent.
    """
    request = request_of(created, Operation(review["operation"]), review.get("oldObject"))
    details = {name: review[name] for name in _DETAILS if name in review}
    subresource = text_field(review, "subResource")
    resource = review.get("resource") or {}
    group, name = text_field(resource, "group"), text_field(resource, "resource")
    kind = kind_of_plural(group, name) or guessed_kind(name)
    parent = (group, text_field(resource, "version"), kind) if kind else None
    info = review.get("userInfo")
    sender = None
    if info is not None:
        groups = tuple(info.get("groups") or ())
        sender = UserInfo(
            text_field(info, "username"), text_field(info, "uid"), groups, info.get("extra")
        )
    return request._replace(
        user=created.user or sender,
        namespace=text_field(review, "namespace") or request.namespace,
        subresource=subresource or request.subresource,
        parent_kind=parent if subresource else request.parent_kind,
        details=details or None,
    )


def creation_of(
    obj: KubernetesObject, user: UserInfo | None, values: "Values | None"
) -> AdmissionRequest:
    """Return the request that creates an object, or sends it to its subresource.

    upstream: cmd/cli/kubectl-kyverno/processor/policy_processor.go
    """
    key = object_key(obj)
    request = AdmissionRequest(Operation.CREATE, obj, namespace=key.namespace, user=user)
    if values is None:
        return request
    found = values.subresource_of((*split_api_version(key.api_version), key.kind))
    if found is None:
        return request
    return request._replace(subresource=found.name, parent_kind=found.parent)
