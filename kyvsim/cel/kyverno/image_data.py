"""What a registry tells of an image.

Source of the rules: upstream kyverno/sdk extensions/cel/libs/imagedata; offline the answers are
those of a context file.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from kyvsim.cel.environment import Library, function, way
from kyvsim.cel.errors import CelError
from kyvsim.cel.types import CelType, opaque

_TYPE = opaque("imagedata.Context")


class ImageDataAccess(NamedTuple):
    """The value of the variable `image`."""

    data_of: Callable[[str], Any]
    """Takes a reference as it is written; returns None where nothing is known of it."""

    @property
    def cel_type(self) -> CelType:
        """Its type in expressions."""
        return _TYPE


def _get(access: ImageDataAccess, reference: str) -> Any:
    found = access.data_of(reference)
    if found is None:
        problem = f"image data for {reference} not found in the context"
        raise CelError(f"failed to get image data: {problem}")
    return found


IMAGE_DATA = Library(
    "image data",
    tuple(
        function(name, way(f"{_TYPE.name}.(string) -> dyn", _get))
        for name in ("GetMetadata", "getMetadata")
    ),
    types=((ImageDataAccess, _TYPE),),
    variables=(("image", _TYPE),),
)
