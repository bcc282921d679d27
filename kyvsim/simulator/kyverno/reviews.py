"""From the API server's question to the request that rules see.

Source of the rules: upstream pkg/webhooks/utils/policy_context_builder.go, pkg/userinfo.
"""

from kyvsim.kubernetes.discovery import plural, split_api_version
from kyvsim.kubernetes.objects import Json, ObjectKey, text_field
from kyvsim.model.request import AdmissionRequest, Operation, UserInfo
from kyvsim.simulator.api_server import Review, Store
from kyvsim.simulator.api_server.authorizer import bound_roles
from kyvsim.simulator.api_server.metadata import with_metadata


def admission_request(review: Review, store: Store) -> AdmissionRequest:
    """Return the request as rules see it, with the roles of its user."""
    request = review.request
    group, version = split_api_version(request.key.api_version)
    subresource = request.subresource
    obj = review.object if request.operation is not Operation.DELETE else None
    if request.operation is Operation.CONNECT and obj is not None:
        # Options of a connection have no metadata; upstream: pkg/utils/admission ConvertResource.
        obj = with_metadata(obj, {"namespace": request.key.namespace})
    return AdmissionRequest(
        operation=request.operation,
        object=obj,
        old_object=review.old,
        namespace=request.key.namespace,
        user=with_roles(request.user, request.key.namespace, store),
        subresource=subresource,
        parent_kind=(group, version, request.key.kind) if subresource else None,
        details=details(request.key, review, store),
    )


def subject_of(review: Review) -> Json | None:
    """Return the object that a request is about: on DELETE the one that is there."""
    deletes = review.request.operation is Operation.DELETE
    return review.old if deletes else review.object


def details(key: ObjectKey, review: Review, store: Store) -> dict[str, Json]:
    """Return the fields of a request that only an API server fills in."""
    group, version = split_api_version(key.api_version)
    subject = review.object if review.object is not None else review.old
    # What is sent to a subresource may be of another kind: a Scale, an Eviction.
    sent = split_api_version(text_field(subject, "apiVersion") or key.api_version)
    kind = {
        "group": sent[0],
        "version": sent[1],
        "kind": text_field(subject, "kind") or key.kind,
    }
    resource = {
        "group": group,
        "version": version,
        "resource": plural(group, key.kind, store.defined),
    }
    found: dict[str, Json] = {
        "uid": review.uid,
        "kind": kind,
        "resource": resource,
        "requestKind": kind,
        "requestResource": resource,
        "name": _name(key, subject),
        "dryRun": review.request.dry_run,
    }
    if review.request.subresource:
        found["subResource"] = found["requestSubResource"] = review.request.subresource
    return found


def _name(key: ObjectKey, subject: Json) -> str:
    return key.name or text_field((subject or {}).get("metadata"), "name")


def with_roles(user: UserInfo, namespace: str, store: Store) -> UserInfo:
    """Return a user with the roles that are bound to it, for requests in a namespace."""
    if user.extra is None:
        known: UserInfo = store.remembered(_with_roles, user, namespace)
        return known
    return _with_roles(store, user, namespace)


def _with_roles(store: Store, user: UserInfo, namespace: str) -> UserInfo:
    roles, cluster_roles = bound_roles(user, namespace, store)
    return user._replace(roles=roles, cluster_roles=cluster_roles)
