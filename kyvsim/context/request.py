"""The context that a request opens with.

Source of the rules: upstream pkg/engine/policycontext, pkg/engine/context.
"""

from collections.abc import Mapping

from kyvsim.context.images import load_images
from kyvsim.context.json_context import JSONContext
from kyvsim.context.variables import top_names, with_variables
from kyvsim.kube.objects import Json
from kyvsim.model.outside import Outside
from kyvsim.model.request import AdmissionRequest, Operation, UserInfo

_SERVICE_ACCOUNT = "system:serviceaccount:"


def request_context(
    request: AdmissionRequest, outside: Outside, variables: Mapping[str, Json]
) -> JSONContext:
    """Return the context for a request: its fields, its user, the images of its object.

    `variables` are merged in by their dotted names; they can change any part of the request.
    """
    data = _request_data(request, outside)
    if variables:
        data = with_variables(data, variables)
    deleting = request.operation is Operation.DELETE
    subject = request.object
    return JSONContext(
        data,
        outside,
        deleting=deleting,
        valued=top_names(variables) if variables else frozenset(),
        loaders=(("images", lambda _: _images_of(subject)),) if subject else (),
    )


def _images_of(subject: Json) -> Json:
    return load_images(subject)


def _request_data(request: AdmissionRequest, outside: Outside) -> dict[str, Json]:
    fields: dict[str, Json] = {
        "namespace": request.namespace,
        "operation": request.operation.value,
    }
    if request.object is not None:
        fields["object"] = outside.as_json(request.object)
    if request.old_object is not None:
        fields["oldObject"] = outside.as_json(request.old_object)
    if request.details:
        fields |= request.details
    if request.user is None:
        return {"request": fields}
    fields |= _user_fields(request.user)
    return {"request": fields, **_service_account(request.user.username)}


def _user_fields(user: UserInfo) -> dict[str, Json]:
    info: dict[str, Json] = {
        "username": user.username,
        "uid": user.uid,
        "groups": list(user.groups),
        "extra": user.extra,
    }
    fields: dict[str, Json] = {"userInfo": {name: value for name, value in info.items() if value}}
    if user.roles:
        fields["roles"] = list(user.roles)
    if user.cluster_roles:
        fields["clusterRoles"] = list(user.cluster_roles)
    return fields


def _service_account(username: str) -> dict[str, Json]:
    # upstream cuts off the prefix by its length, without a look at what it cuts.
    parts = username[len(_SERVICE_ACCOUNT) :].split(":")
    namespace, name = (parts[0], parts[1]) if len(parts) > 1 else ("", "")
    return {"serviceAccountName": name, "serviceAccountNamespace": namespace}
