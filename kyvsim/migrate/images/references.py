"""`imageReferences` → which images a policy is about.

Rules know images by registry, path, and tag or digest, filled in where they are not written; a
policy in CEL knows them as they are written.
"""

from typing import Final

from kyvsim.kubernetes.image import DEFAULT_REGISTRY
from kyvsim.kubernetes.objects import Json
from kyvsim.kubernetes.wildcard import has_wildcard, matches
from kyvsim.migrate.desk import Desk
from kyvsim.migrate.expressions import Test, some
from kyvsim.migrate.scalars import like_one
from kyvsim.model.migration import Condition

_WRITTEN: Final = Condition(
    "image names",
    "images are compared as they are written: with their registry, and with a tag or a digest but"
    " not both, they mean the same",
)
_LATEST: Final = "latest"


def references_of(entry: Json, desk: Desk) -> list[dict[str, Json]]:
    """Return the `matchImageReferences` for an entry of a rule; [] where all images are meant."""
    patterns = _patterns(entry.get("imageReferences"), desk)
    if any(not one.strip("*") for one in patterns):
        return []
    return [{"glob": one} for one in patterns]


def is_skipped(image: str, entry: Json, desk: Desk) -> Test:
    """Return the test that the signatures of an image are not asked for.

    Digests are, of skipped images too: so these are images that the policy is about.
    """
    return some(like_one(image, _patterns(entry.get("skipImageReferences"), desk)))


def _patterns(references: Json, desk: Desk) -> list[str]:
    found = [one for text in references or () for one in _written(text)]
    if any(map(_is_open, found)):
        desk.note(_WRITTEN)
    return found


def _written(pattern: str) -> list[str]:
    """Return the patterns of texts that stand for images of one pattern."""
    found = [pattern]
    path, colon, tag = pattern.rpartition(":")
    if colon and "/" not in tag and matches(tag, _LATEST):
        found.append(path)
    default = f"{DEFAULT_REGISTRY}/"
    return [*found, *(one.removeprefix(default) for one in found if one.startswith(default))]


def _is_open(pattern: str) -> bool:
    """Return whether a pattern may fit an image in one spelling and not in another."""
    host, slash, rest = pattern.partition("/")
    if not pattern.strip("*"):
        return False
    is_full = slash and not has_wildcard(host) and ("." in host or ":" in host)
    return not is_full or host == DEFAULT_REGISTRY or not rest.endswith("*") or rest.endswith(":*")
