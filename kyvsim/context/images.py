"""The `images` variable: references of the containers of a Pod or of a controller's template.

Source of the rules: upstream pkg/utils/api/image.go.
"""

from kyvsim.context.json_context import SKIPPED
from kyvsim.expr import QueryError
from kyvsim.kube.image import parse_image
from kyvsim.kube.objects import Json, text_field
from kyvsim.kube.pod_spec import POD_SPEC_PATHS

_GROUPS = ("initContainers", "containers", "ephemeralContainers")


def load_images(obj: Json) -> Json:
    """Return `{group: {container: {registry, path, …}}}`, or `SKIPPED` where there is no image.

    Raises `QueryError` where a reference cannot be read.
    """
    way = POD_SPEC_PATHS.get(text_field(obj, "kind"))
    if way is None:
        return SKIPPED
    spec = obj
    for field in way:
        spec = _field(spec, field)
    images = {group: _images_of(_field(spec, group), (*way, group)) for group in _GROUPS}
    return {group: found for group, found in images.items() if found} or SKIPPED


def _field(data: Json, field: str) -> Json:
    if data is None:
        return None
    if data.__class__ is not dict:
        raise QueryError("invalid image config")
    return data.get(field)


def _images_of(containers: Json, way: tuple[str, ...]) -> dict[str, Json]:
    if containers is None:
        return {}
    if containers.__class__ not in {list, dict}:
        raise QueryError("invalid type")
    numbered = containers.items() if containers.__class__ is dict else enumerate(containers)
    found: dict[str, Json] = {}
    for index, container in numbered:
        if container is None:
            continue
        if container.__class__ is not dict:
            raise QueryError("invalid image config")
        if container.get("name").__class__ is not str:
            raise QueryError("invalid key")
        image = text_field(container, "image")
        if not image.strip():
            continue
        try:
            reference = parse_image(image)
        except ValueError as error:
            raise QueryError(f"invalid image '{image}' ({error})") from error
        pointer = "/".join(("", *way, str(index), "image"))
        found[container["name"]] = {**reference.as_variable(), "jsonPointer": pointer}
    return found
