"""What a rule may ask of an image, answered from recorded data; a gap is an error that names it."""

import json

from kyvsim.kubernetes.objects import Json
from kyvsim.model.ports import Outside
from kyvsim.model.values import ImageData


class NotRecordedError(Exception):
    """Something about an image that only a registry knows."""


def recorded_data(image: str, outside: Outside, *parts: str) -> ImageData:
    """Return what is recorded of an image, `parts` of it at least.

    Raises `NotRecordedError`, with the section of a values file to write, where one is missing.
    """
    found = outside.mocks.images.get(image)
    if found is not None and all(getattr(found, part) not in (None, "") for part in parts):
        return found
    example: dict[str, Json] = {"digest": "sha256:…", "signatures": [], "attestations": []}
    wanted = {part: example[part] for part in parts}
    raise NotRecordedError(
        "kyvsim asks no registry; give its answer in the values file, such as "
        f"images: {json.dumps({image: wanted}, ensure_ascii=False)}"
    )
