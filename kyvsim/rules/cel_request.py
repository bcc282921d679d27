"""What CEL expressions see of the request and of the namespace.

Source of the rules: upstream pkg/engine/handlers/validation/validate_cel.go and k8s.io/apiserver
pkg/admission/plugin/cel/condition.go. Empty texts are left out where
the API's JSON leaves them out.
"""

from kyvsim.kube.gvk import split_api_version
from kyvsim.kube.objects import Json, object_key
from kyvsim.model.request import AdmissionRequest, UserInfo


def request_value(request: AdmissionRequest) -> dict[str, Json]:
    """Return the value of `request`; the command line knows no resource names, so they are ""."""
    key = object_key(request.subject)
    group, version = split_api_version(key.api_version)
    kind = {"group": group, "version": version, "kind": key.kind}
    resource = {"group": "", "version": "", "resource": ""}
    namespace = _namespace(request)
    return {
        "uid": "",
        "kind": kind,
        "resource": resource,
        "requestKind": kind,
        "requestResource": resource,
        **({"name": key.name} if key.name else {}),
        **({"namespace": namespace} if namespace else {}),
        "operation": request.operation.value,
        "userInfo": user_value(request.user),
        "object": None,
        "oldObject": None,
        "dryRun": False,
        "options": None,
    }


def namespace_object(request: AdmissionRequest) -> dict[str, Json] | None:
    """Return the value of `namespaceObject`: nothing but the name is known of a namespace."""
    namespace = _namespace(request)
    if not namespace:
        return None
    return {"metadata": {"name": namespace}, "spec": {}, "status": {}}


def _namespace(request: AdmissionRequest) -> str:
    key = object_key(request.subject)
    return "" if (key.api_version, key.kind) == ("v1", "Namespace") else key.namespace


def user_value(user: UserInfo | None) -> dict[str, Json]:
    """Return the value of `request.userInfo`, without fields that are empty."""
    if user is None:
        return {}
    extra = {name: list(values) for name, values in (user.extra or {}).items()}
    found = {
        "username": user.username,
        "uid": user.uid,
        "groups": list(user.groups),
        "extra": extra,
    }
    return {name: value for name, value in found.items() if value}
