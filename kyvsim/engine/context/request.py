"""The context that a request opens with, and the variable `images`."""

from collections.abc import Mapping

from kyvsim.engine.context.json_context import SKIPPED, JSONContext, top_names, with_variables
from kyvsim.jmespath import QueryError
from kyvsim.kubernetes.image import parse_image
from kyvsim.kubernetes.objects import Json, text_field
from kyvsim.kubernetes.pods import POD_SPEC_PATHS
from kyvsim.model.ports import Outside
from kyvsim.model.request import AdmissionRequest, Operation, UserInfo

# The `images` variable: references of the containers of a Pod or of a controller's template.
#
# Source of the rules: upstream pkg/utils/api/image.go.


_GROUPS = ("initContainers", "containers", "ephemeralContainers")


class ImageError(QueryError):
    """An image that cannot be read; `place` is where it stands, such as `/spec/containers/0`."""

    def __init__(self, message: str, way: tuple[str, ...]) -> None:
        super().__init__(message)
        self.place = "/".join(("", *way))


def load_images(obj: Json) -> Json:
    """Return `{group: {container: {registry, path, …}}}`, or `SKIPPED` where there is no image.

    Raises `ImageError` where one cannot be read.
    """
    way = POD_SPEC_PATHS.get(text_field(obj, "kind"))
    if way is None:
        return SKIPPED
    spec = obj
    for depth, field in enumerate(way):
        spec = _field(spec, field, way[:depth])
    images = {group: _images_at(_field(spec, group, way), (*way, group)) for group in _GROUPS}
    return {group: found for group, found in images.items() if found} or SKIPPED


def _field(data: Json, field: str, way: tuple[str, ...]) -> Json:
    if data is None:
        return None
    if data.__class__ is not dict:
        raise ImageError("invalid image config", way)
    return data.get(field)


def _images_at(containers: Json, way: tuple[str, ...]) -> dict[str, Json]:
    if containers is None:
        return {}
    if containers.__class__ not in {list, dict}:
        raise ImageError("invalid type", way)
    numbered = containers.items() if containers.__class__ is dict else enumerate(containers)
    found: dict[str, Json] = {}
    for index, container in numbered:
        if container is None:
            continue
        here = (*way, str(index))
        if container.__class__ is not dict:
            raise ImageError("invalid image config", here)
        if container.get("name").__class__ is not str:
            raise ImageError("invalid key", here)
        image = text_field(container, "image")
        if not image.strip():
            continue
        try:
            reference = parse_image(image)
        except ValueError as error:
            raise ImageError(f"invalid image '{image}' ({error})", here) from error
        pointer = "/".join(("", *here, "image"))
        found[container["name"]] = {**reference.as_variable(), "jsonPointer": pointer}
    return found


# The context that a request opens with.
#
# Source of the rules: upstream pkg/engine/policycontext, pkg/engine/context.


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
