"""Requests: what brings an object, and what one evaluation knows besides policies and request."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from kyvsim.engine.cluster_views import OverlayView
from kyvsim.kubernetes.discovery import guessed_kind, kind_of_plural, split_api_version
from kyvsim.kubernetes.objects import Json, object_key, text_field
from kyvsim.model.ports import ClusterView, ExternalData
from kyvsim.model.request import NO_MOCKS, AdmissionRequest, Mocks, Operation, UserInfo

if TYPE_CHECKING:
    from kyvsim.model.values import Values

_NO_NAMESPACES: Mapping[str, Json] = MappingProxyType({})


class World(NamedTuple):
    """The objects that rules may read, and the values given for what is unknown offline."""

    cluster: ClusterView
    values: "Values | None" = None
    answers_calls: bool = True
    """Whether `cluster` answers API calls, and knows namespaces, as it does for `apply`."""
    sources: Callable[[str], ClusterView] | None = None
    """The objects that generate rules of a policy, by its key, may copy; None for those of
    `cluster`."""
    context: ClusterView | None = None
    images: Mapping[str, Json] = MappingProxyType({})
    arriving: Json | None = None
    """The object of `cluster` that the request brings; None where no such object is there yet."""
    account: UserInfo | None = None
    """The account, if `cluster` is an API server; None if objects are just given."""
    writes: Callable[[str, Json], None] | None = None
    """Writes what policies in CEL generate into a namespace as they go, or raises ValueError."""
    targets: Sequence[Json] = ()
    """The objects given as existing ones that policies in CEL may change for a trigger."""
    spares_triggers: bool = False
    """Whether rules for existing objects leave triggers as they are and come after them, as in a
    cluster."""
    mocks: Mocks | None = None
    """Answers in place of those that `values` have."""

    @property
    def external(self) -> ExternalData:
        """What context entries and rules can read."""
        return self._outside(self.cluster)

    def outside_before(self, old: Json | None) -> ExternalData:
        """Return what can be asked while the request is admitted: `old` is there, or nothing."""
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


# From an object to the request that brings it.


_DETAILS = (
    *("uid", "kind", "resource", "requestKind", "requestResource"),
    *("subResource", "requestSubResource", "name", "dryRun", "options"),
)
"""Further fields of a review that rules may read."""


def request_of(created: AdmissionRequest, operation: Operation, old: Json) -> AdmissionRequest:
    """Return what becomes of the request that creates an object where something else is done to it.

    Without an `old` object one that is updated is updated from itself.
    """
    obj = created.object
    if operation is Operation.UPDATE:
        return created._replace(operation=operation, old_object=obj if old is None else old)
    if operation is Operation.DELETE:
        return created._replace(operation=operation, object=None, old_object=obj)
    return created._replace(operation=operation)


def reviewed(created: AdmissionRequest, review: Json) -> AdmissionRequest:
    """Return what becomes of the request that creates an object by the `request` of a review of it.

    That says who does what to it, and what it was before. What is sent to a subresource is matched
    by the kind that this is one of.
    """
    request = request_of(created, Operation(review["operation"]), review.get("oldObject"))
    details = {name: review[name] for name in _DETAILS if name in review}
    subresource = text_field(review, "subResource")
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
        parent_kind=_parent(review) if subresource else request.parent_kind,
        details=details or None,
    )


def _parent(review: Json) -> tuple[str, str, str] | None:
    resource = review.get("resource") or {}
    group, name = text_field(resource, "group"), text_field(resource, "resource")
    kind = kind_of_plural(group, name) or guessed_kind(name)
    return (group, text_field(resource, "version"), kind) if kind else None


def creation_of(obj: Json, user: UserInfo | None, values: "Values | None") -> AdmissionRequest:
    """Return the request that creates an object, or sends it to the subresource it stands for.

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
