"""Admission requests as data of an UpdateRequest, and back.

Source of the form: k8s.io/api admission/v1, upstream api/kyverno/v2/update_request_types.go.
"""

from kyvsim.kube.discovery import plural
from kyvsim.kube.gvk import split_api_version
from kyvsim.kube.objects import Json, object_key, text_field
from kyvsim.model.request import AdmissionRequest, Operation, UserInfo
from kyvsim.sim.server import Store

_DETAILS = ("uid", "kind", "resource", "requestKind", "requestResource", "name", "dryRun")
_SUBRESOURCES = ("subResource", "requestSubResource")


def recorded(request: AdmissionRequest | None) -> dict[str, Json]:
    """Return the context of an UpdateRequest, bare where no request led to it."""
    if request is None:
        return {"admissionRequestInfo": {}, "userInfo": {"userInfo": {}}}
    user = request.user or UserInfo()
    asked: dict[str, Json] = {
        "username": user.username,
        "groups": list(user.groups),
        "uid": user.uid,
    }
    if user.extra:
        asked["extra"] = dict(user.extra)
    info: dict[str, Json] = {"userInfo": asked}
    if user.roles:
        info["roles"] = list(user.roles)
    if user.cluster_roles:
        info["clusterRoles"] = list(user.cluster_roles)
    operation = request.operation.value
    fields: dict[str, Json] = {
        **(request.details or {}),
        "operation": operation,
        "namespace": request.namespace,
        "userInfo": asked,
        "object": request.object,
        "oldObject": request.old_object,
    }
    admission = {"admissionRequest": fields, "operation": operation}
    return {"admissionRequestInfo": admission, "userInfo": info}


def update_of(obj: Json, subresource: str, store: Store) -> AdmissionRequest:
    """Return the update, by nobody, as which Kyverno takes an object that is there."""
    key = object_key(obj)
    group, version = split_api_version(key.api_version)
    details: dict[str, Json] = {
        "kind": {"group": group, "version": version, "kind": key.kind},
        "resource": {
            "group": group,
            "version": version,
            "resource": plural(group, key.kind, store.defined),
        },
        "name": key.name,
    }
    if subresource:
        details["subResource"] = subresource
    return AdmissionRequest(
        operation=Operation.UPDATE,
        object=obj,
        namespace=key.namespace,
        user=UserInfo(),
        details=details,
    )


def request_of(context: Json, store: Store) -> AdmissionRequest | None:
    """Return the request that the context of an UpdateRequest holds, or None."""
    info = (context or {}).get("admissionRequestInfo") or {}
    fields = info.get("admissionRequest")
    if not fields:
        return None
    subresource = text_field(fields, "subResource")
    details = {name: fields[name] for name in (*_DETAILS, *_SUBRESOURCES) if name in fields}
    return AdmissionRequest(
        operation=Operation(fields["operation"]),
        object=fields.get("object"),
        old_object=fields.get("oldObject"),
        namespace=text_field(fields, "namespace"),
        user=_user(context.get("userInfo") or {}),
        subresource=subresource,
        parent_kind=_parent(fields, store) if subresource else None,
        details=details,
    )


def _user(info: Json) -> UserInfo:
    asked = info.get("userInfo") or {}
    return UserInfo(
        username=text_field(asked, "username"),
        uid=text_field(asked, "uid"),
        groups=tuple(asked.get("groups") or ()),
        extra=asked.get("extra"),
        roles=tuple(info.get("roles") or ()),
        cluster_roles=tuple(info.get("clusterRoles") or ()),
    )


def _parent(fields: Json, store: Store) -> tuple[str, str, str]:
    """Return the kind whose subresource a request is about."""
    resource = fields.get("resource") or {}
    group, version = text_field(resource, "group"), text_field(resource, "version")
    api_version = f"{group}/{version}" if group else version
    return group, version, store.kind_of(api_version, text_field(resource, "resource"))
