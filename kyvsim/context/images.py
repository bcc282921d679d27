"""The `images` variable: references of the containers of a Pod or of a controller's template.

Source of the rules: upstream pkg/utils/api/image.go.
"""

from kyvsim.context.json_context import SKIPPED
from kyvsim.expr import QueryError
from kyvsim.kube.image import parse_image
from kyvsim.kube.objects import Json, text_field
from kyvsim.kube.pods import POD_SPEC_PATHS

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
    images = {group: _images_of(_field(spec, group, way), (*way, group)) for group in _GROUPS}
    return {group: found for group, found in images.items() if found} or SKIPPED


def _field(data: Json, field: str, way: tuple[str, ...]) -> Json:
    if data is None:
        return None
    if data.__class__ is not dict:
        raise ImageError("invalid image config", way)
    return data.get(field)


def _images_of(containers: Json, way: tuple[str, ...]) -> dict[str, Json]:
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
