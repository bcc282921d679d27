"""From an object to the request that brings it."""

from kyvsim.kube.discovery import guessed_kind, kind_of_plural, split_api_version
from kyvsim.kube.objects import Json, object_key, text_field
from kyvsim.model.request import AdmissionRequest, Operation, UserInfo
from kyvsim.model.values import KindKey, Values

_DETAILS = (
    *("uid", "kind", "resource", "requestKind", "requestResource"),
    *("subResource", "requestSubResource", "name", "dryRun", "options"),
)
"""What a review tells besides, and rules may read."""


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
    return request._replace(
        user=created.user or _sender(review.get("userInfo")),
        namespace=text_field(review, "namespace") or request.namespace,
        subresource=subresource or request.subresource,
        parent_kind=_parent(review) if subresource else request.parent_kind,
        details=details or None,
    )


def _parent(review: Json) -> tuple[str, str, str] | None:
    """Return group, version and kind of what a request to a subresource names."""
    resource = review.get("resource") or {}
    group, name = text_field(resource, "group"), text_field(resource, "resource")
    kind = kind_of_plural(group, name) or guessed_kind(name)
    return (group, text_field(resource, "version"), kind) if kind else None


def _sender(info: Json) -> UserInfo | None:
    if info is None:
        return None
    return UserInfo(
        text_field(info, "username"),
        text_field(info, "uid"),
        tuple(info.get("groups") or ()),
        info.get("extra"),
    )


def creation_of(obj: Json, user: UserInfo | None, values: Values | None) -> AdmissionRequest:
    """Return the request that creates an object, or sends it to the subresource it stands for.

    upstream: cmd/cli/kubectl-kyverno/processor/policy_processor.go
    """
    key = object_key(obj)
    request = AdmissionRequest(Operation.CREATE, obj, namespace=key.namespace, user=user)
    if values is None:
        return request
    found = values.subresource_of(KindKey(*split_api_version(key.api_version), key.kind))
    if found is None:
        return request
    return request._replace(subresource=found.name, parent_kind=found.parent)
