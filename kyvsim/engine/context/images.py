"""Images of an object: those of its containers, or of the fields that extractors name.

Source of the rules: upstream pkg/utils/api/image.go.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeAlias

from kyvsim.jmespath import Query, QueryError
from kyvsim.kubernetes.image import parse_image
from kyvsim.kubernetes.objects import Json, KubernetesObject, text_field
from kyvsim.kubernetes.pods import POD_SPEC_PATHS
from kyvsim.model.release import Release

Images: TypeAlias = dict[str, dict[str, Json]]
"""By group and name: registry, path, tag, digest, reference and jsonPointer."""


class ImageExtractor(NamedTuple):
    """Where images of one group are: the fields to them, and what is read there."""

    group: str
    fields: tuple[str, ...]
    """A field `*` stands for all elements of a list, or all fields of a map."""
    key: str = ""
    """The field with the name of an image; "" for its path."""
    value: str = "image"
    query: Query | None = None
    """Computes the image from the field's value."""


class ImageError(QueryError):
    """An image that cannot be read; `place` is its path, such as `/spec/containers/0`."""

    def __init__(self, message: str, place: str) -> None:
        super().__init__(message)
        self.place = place


def pod_images(obj: KubernetesObject | None, release: Release) -> Images:
    """Return the images of the containers of a Pod or a Pod template.

    Raises `ImageError` if one cannot be read.
    """
    way = POD_SPEC_PATHS.get(text_field(obj, "kind"))
    if way is None:
        return {}
    groups = ("initContainers", "containers", "ephemeralContainers")
    extractors = (ImageExtractor(group, (*way, group, "*"), "name") for group in groups)
    return extracted_images(obj, extractors, release)


def extracted_images(
    obj: KubernetesObject | None, extractors: Iterable[ImageExtractor], release: Release
) -> Images:
    """Return the images that extractors find; of several extractors of a group, the last counts.

    Raises `ImageError` if one cannot be read, and `QueryError` if a query fails.
    """
    found: Images = {}
    for one in extractors:
        images = dict(_images_at(obj, one.fields, "", one, release))
        if images:
            found[one.group] = images
    return found


def _images_at(
    node: Json, fields: tuple[str, ...], path: str, extractor: ImageExtractor, release: Release
) -> Iterator[tuple[str, dict[str, Json]]]:
    if node is None:
        return
    skips_scalars = release.skips_scalars_at_wildcards
    is_parent = node.__class__ in {list, dict}
    if fields and fields[0] == "*" and (is_parent or not skips_scalars):
        if not is_parent:
            raise ImageError("invalid type", path)
        for name, member in node.items() if node.__class__ is dict else enumerate(node):
            if skips_scalars and member.__class__ not in {list, dict}:
                continue
            # In lists of lists, the wildcard also stands for the elements of the inner ones.
            is_nested = skips_scalars and node.__class__ is member.__class__ is list
            left = fields if is_nested else fields[1:]
            yield from _images_at(member, left, f"{path}/{name}", extractor, release)
    elif node.__class__ is not dict:
        raise ImageError("invalid image config", path)
    elif fields:
        below = f"{path}/{fields[0]}"
        yield from _images_at(node.get(fields[0]), fields[1:], below, extractor, release)
    else:
        yield from _image(node, path, extractor)


def _image(
    node: Json, path: str, extractor: ImageExtractor
) -> Iterator[tuple[str, dict[str, Json]]]:
    pointer = f"{path}/{extractor.value}"
    key = node.get(extractor.key) if extractor.key else pointer
    if key.__class__ is not str:
        raise ImageError("invalid key", path)
    image: Json = text_field(node, extractor.value)
    if not image.strip():
        return
    if extractor.query is not None:
        image = extractor.query.evaluate(image)
        if image.__class__ is not str:
            raise ImageError("the jmesPath must produce a string", path)
    try:
        reference = parse_image(image)
    except ValueError as error:
        raise ImageError(f"invalid image '{image}' ({error})", path) from error
    yield key, {**reference.as_variable(), "jsonPointer": pointer}
