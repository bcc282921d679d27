"""From an object to the request that brings it."""

from kyvsim.kube.gvk import split_api_version
from kyvsim.kube.objects import Json, object_key, text_field
from kyvsim.model.request import AdmissionRequest, Operation, UserInfo
from kyvsim.model.values import KindKey, Values

_DETAILS = (
    *("uid", "kind", "resource", "requestKind", "requestResource"),
    *("name", "dryRun", "options"),
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
    return created


def reviewed(created: AdmissionRequest, review: Json) -> AdmissionRequest:
    """Return what becomes of the request that creates an object by the `request` of a review of it.

    That says who does what to it, and what it was before.
    """
    named = text_field(review, "operation")
    operation = Operation(named) if named in Operation.__members__ else Operation.CREATE
    request = request_of(created, operation, review.get("oldObject"))
    details = {name: review[name] for name in _DETAILS if name in review}
    return request._replace(
        user=created.user or _sender(review.get("userInfo")),
        namespace=text_field(review, "namespace") or request.namespace,
        subresource=text_field(review, "subResource") or request.subresource,
        details=details or None,
    )


def _sender(info: Json) -> UserInfo | None:
    if info.__class__ is not dict:
        return None
    groups = info.get("groups")
    return UserInfo(
        text_field(info, "username"),
        text_field(info, "uid"),
        tuple(groups) if groups.__class__ is list else (),
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
