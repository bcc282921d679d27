"""The values of the request and of the namespace in CEL expressions.

Source of the rules: upstream pkg/engine/handlers/validation/validate_cel.go and k8s.io/apiserver
pkg/admission/plugin/cel/condition.go. Empty strings are omitted like in
the API's JSON.
"""

from collections.abc import Mapping
from types import MappingProxyType

from kyvsim.cel.kubernetes import authorizer_values
from kyvsim.cel.libraries.admission import AccessQuery, Answer, Authorizer, ResourceCheck
from kyvsim.engine.context.cluster_api import can_review, review
from kyvsim.kubernetes.discovery import split_api_version
from kyvsim.kubernetes.objects import Json, KubernetesObject, metadata, object_key, text_field
from kyvsim.model.ports import ExternalData
from kyvsim.model.request import AdmissionRequest, UserInfo

_NO_RESOURCE: Mapping[str, str] = MappingProxyType({"group": "", "version": "", "resource": ""})


def request_value(request: AdmissionRequest) -> dict[str, Json]:
    """Return the value of `request`; without an API server resource names are unknown."""
    resource = (request.details or {}).get("resource") or dict(_NO_RESOURCE)
    return review_request(request, resource, _namespace(request))


def review_request(
    request: AdmissionRequest, resource: KubernetesObject, namespace: str
) -> dict[str, Json]:
    """Return a request as API servers send it for review, without its objects."""
    key = object_key(request.subject)
    group, version = split_api_version(key.api_version)
    kind = {"group": group, "version": version, "kind": key.kind}
    user = request.user or UserInfo()
    info = {
        "username": user.username,
        "uid": user.uid,
        "groups": list(user.groups),
        "extra": {name: list(values) for name, values in (user.extra or {}).items()},
    }
    return {
        "uid": "",
        "kind": kind,
        "resource": resource,
        "requestKind": kind,
        "requestResource": resource,
        **({"name": key.name} if key.name else {}),
        **({"namespace": namespace} if namespace else {}),
        "operation": request.operation.value,
        "userInfo": {name: value for name, value in info.items() if value},
        "object": None,
        "oldObject": None,
        "dryRun": False,
        "options": None,
    }


def namespace_object(request: AdmissionRequest, external: ExternalData) -> dict[str, Json] | None:
    """Return the value of `namespaceObject`; without an API server it has only a name."""
    namespace = _namespace(request)
    if not namespace:
        return None
    found = None
    if external.account is not None:
        found = external.cluster.get("v1", "Namespace", "", namespace)
    plain: dict[str, object] = {"metadata": {"name": namespace}, "spec": {}, "status": {}}
    if found is None:
        return plain
    seen = ("annotations", "finalizers", "generation", "labels", "name", "resourceVersion")
    meta = {name: value for name, value in metadata(found).items() if name in seen}
    parts = {part: found.get(part) or {} for part in ("spec", "status")}
    return {**plain, **parts, "metadata": meta}


def authorizer_of(
    request: AdmissionRequest, external: ExternalData
) -> tuple[Authorizer, ResourceCheck]:
    """Return the values of `authorizer` and `authorizer.requestResource`.

    Roles decide if there are any, those of a cluster or given ones.
    """
    user = request.user or UserInfo()

    def decide(name: str, groups: tuple[str, ...], wanted: Mapping[str, str]) -> Answer | None:
        known = external.account is not None or can_review(external.cluster)
        if not known:
            return None
        field = "nonResourceAttributes" if "path" in wanted else "resourceAttributes"
        body = {"spec": {"user": name, "groups": list(groups), field: wanted}}
        status = review(body, external.cluster)["status"]
        return bool(status["allowed"]), text_field(status, "reason")

    asked = AccessQuery(user.username, user.groups, decide)
    resource = (request.details or {}).get("resource") or _NO_RESOURCE
    attributes = {
        "group": text_field(resource, "group"),
        "resource": text_field(resource, "resource"),
        "subresource": request.subresource,
        "namespace": _namespace(request),
        "name": object_key(request.subject).name,
    }
    return authorizer_values(asked, attributes)


def _namespace(request: AdmissionRequest) -> str:
    key = object_key(request.subject)
    return "" if (key.api_version, key.kind) == ("v1", "Namespace") else key.namespace
