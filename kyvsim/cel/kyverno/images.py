"""Image references, image data of a registry, signatures and attestations."""

import re
from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple, NoReturn

from kyvsim.cel.environment import Library, function, method, succeeds
from kyvsim.cel.errors import CelError
from kyvsim.cel.types import CelType, opaque
from kyvsim.kubernetes.go_url import UrlError, parse_url
from kyvsim.kubernetes.objects import Json

# Parsing of image references.
#
# Source of the rules: upstream kyverno/sdk extensions/cel/libs/image over go-containerregistry's
# `name` package in its lenient mode: the registry of Docker by its long name, `library/` before a
# name of one part, the tag `latest`; in a reference with tag and digest only the digest is used.

_IMAGE = opaque("kyverno.image")
_DOCKER = "index.docker.io"
_REPOSITORY = re.compile(r"[abcdefghijklmnopqrstuvwxyz0123456789_\-./]{2,255}")
_TAG = re.compile(r"[0-9A-Za-z_\-.]{1,128}")
_DIGEST = re.compile(r"sha256:[a-f0-9]{64}")


class Image(NamedTuple):
    """A reference in expressions; either the tag or the digest is empty."""

    text: str
    registry: str
    path: str
    tag: str = ""
    digest: str = ""
    hides_type: bool = True
    """Whether `type()` fails for it, as upstream."""
    only_own_kind: bool = True
    go_type: str = "image.Image"
    """The name in upstream's code, which some messages show."""
    cel_type: CelType = _IMAGE

    def __str__(self) -> str:
        return self.text

    @property
    def repository(self) -> str:
        """The path in the registry."""
        alone = "/" not in self.path and self.registry == _DOCKER
        return f"library/{self.path}" if alone else self.path


def parse_image(text: str) -> Image:
    """Return the parsed reference; raises CelError."""
    found = _tagged(text)
    base, _, digest = text.partition("@")
    if found is None and _DIGEST.fullmatch(digest):
        found = _tagged(base) or _repository(base)
        found = found and found._replace(tag="", digest=digest)
    if found is None:
        raise CelError(f"could not parse reference: {text}")
    return found._replace(text=text)


def _tagged(text: str) -> Image | None:
    base, colon, tag = text.rpartition(":")
    if not colon or "/" in tag:
        base, tag = text, "latest"
    found = _repository(base)
    return found._replace(tag=tag) if found and _TAG.fullmatch(tag) else None


def _repository(text: str) -> Image | None:
    host, slash, path = text.partition("/")
    if not slash or not (host == "localhost" or "." in host or ":" in host):
        host, path = "", text
    try:
        is_authority = parse_url(f"//{host}").host == host
    except UrlError:
        return None
    if not _REPOSITORY.fullmatch(path) or not is_authority:
        return None
    return Image(text, _DOCKER if host in {"", "docker.io"} else host, path)


def _tag(image: Image) -> str:
    """Return the tag, also that of a reference with tag and digest."""
    name = image.text.partition("@")[0].rpartition("/")[2]
    return name.rpartition(":")[2] if image.digest and ":" in name else image.tag


def _identifier(image: Image) -> str:
    return "@".join(filter(None, (_tag(image), image.digest)))


_REFERENCES = (
    *(
        function(f"{name}(string) -> {_IMAGE}", parse_image)
        for name in ("image", "parseImageReference")
    ),
    function("isImage(string) -> bool", succeeds(parse_image)),
    method(f"{_IMAGE}.containsDigest() -> bool", lambda image: bool(image.digest)),
    method(f"{_IMAGE}.registry() -> string", lambda image: image.registry),
    method(f"{_IMAGE}.repository() -> string", lambda image: image.repository),
    method(f"{_IMAGE}.digest() -> string", lambda image: image.digest),
)
IMAGES = Library(
    "images",
    (
        *_REFERENCES,
        method(f"{_IMAGE}.identifier() -> string", _identifier),
        method(
            f"{_IMAGE}.identifierWithSeparator() -> string",
            lambda image: f"@{image.digest}" if image.digest else f":{image.tag}",
        ),
        method(f"{_IMAGE}.tag() -> string", _tag),
    ),
    types=((Image, _IMAGE),),
)
TAG_OR_DIGEST = Library(
    IMAGES.name,
    (
        *_REFERENCES,
        method(f"{_IMAGE}.identifier() -> string", lambda image: image.tag or image.digest),
        method(f"{_IMAGE}.tag() -> string", lambda image: image.tag),
    ),
    types=IMAGES.types,
)
"""The library of releases that drop the tag of a reference with tag and digest."""

# Image data of a registry.
#
# Source of the rules: upstream kyverno/sdk extensions/cel/libs/imagedata; offline the data are
# those of a context file.

_IMAGE_DATA = opaque("imagedata.Context")


class ImageDataAccess(NamedTuple):
    """The value of the variable `image`."""

    data_of: Callable[[str], Json]
    """Takes a reference as written; returns None if it is unknown."""
    cel_type: CelType = _IMAGE_DATA


def _get(access: ImageDataAccess, reference: str) -> object:
    found = access.data_of(reference)
    if found is None:
        raise CelError(
            f"failed to get image data: image data for {reference} not found in the context"
        )
    return found


IMAGE_DATA = Library(
    "image data",
    tuple(
        method(f"{_IMAGE_DATA}.{name}(string) -> dyn", _get)
        for name in ("GetMetadata", "getMetadata")
    ),
    types=((ImageDataAccess, _IMAGE_DATA),),
    variables=(("image", _IMAGE_DATA),),
)

# Signatures and attestations of images.
#
# Source of the rules: upstream pkg/cel/libs/imageverify. Nothing is fetched here: an image that
# the policy does not match has no valid signatures; for any other an error reports that they are
# unknown.


class Attestor(NamedTuple):
    """One of a policy's attestors in expressions."""

    name: str
    only_own_kind: bool = True
    cel_type: CelType = opaque("v1beta1.Attestor")


class ImageFacts(NamedTuple):
    """The data for a policy's functions."""

    taken: Callable[[str], bool]
    """Returns whether the policy matches an image; raises CelError."""
    attestations: Collection[str]
    """The names of the policy's attestations."""
    data_of: Callable[[str], Mapping[str, object] | None]
    """Returns the given data of an image, None if there is none."""

    def data(self, image: str) -> Mapping[str, object]:
        """Return the given data of an image."""
        found = self.data_of(image)
        if found is None:
            raise CelError(unfetched(image))
        return found

    def signatures(self, image: str, attestors: list[object]) -> int:
        """Return the number of attestors that have signed an image."""
        return self._verified(image, attestors) if self.taken(image) else 0

    def attested(self, image: str, attestation: str, attestors: list[object]) -> int:
        """Return the number of attestors that have signed an attestation."""
        if not self.taken(image):
            return 0
        self._check(attestation)
        return self._verified(image, attestors)

    def payload(self, image: str, attestation: str) -> NoReturn:
        """Raise CelError: only the registry has the payload of an attestation."""
        self._check(attestation)
        self.data(image)
        raise CelError(f"failed to get payload: attestations of `{image}` are in its registry")

    def _check(self, attestation: str) -> None:
        if attestation not in self.attestations:
            raise CelError(f"attestation not found in policy: {attestation}")

    def _verified(self, image: str, attestors: list[object]) -> int:
        self.data(image)
        if attestors:
            raise CelError(f"signatures of `{image}` cannot be verified without its registry")
        return 0


def unfetched(image: str) -> str:
    """Return the message for an image without given data."""
    try:
        parse_image(image)
    except CelError as error:
        return f"failed to get imagedata: {error}"
    return (
        f"failed to get imagedata: there is no data of `{image}`, and kyvsim is offline: add it "
        "to `spec.images` of a --context-file"
    )


def unanswered(image: str) -> str:
    """Return the message for an image whose digest only a registry knows."""
    return f"failed to resolve digest for image {image}: kyvsim is offline"


def image_verification(facts: ImageFacts) -> Library:
    """Return the library of a policy."""
    return Library(
        "image verification",
        (
            function("verifyImageSignatures(string, list<dyn>) -> int", facts.signatures),
            function(
                "verifyAttestationSignatures(string, string, list<dyn>) -> int", facts.attested
            ),
            function("getImageData(string) -> dyn", facts.data),
            function("extractPayload(string, string) -> dyn", facts.payload),
        ),
    )


UNKNOWN = image_verification(ImageFacts(lambda _: True, (), lambda _: None))
"""The library if no policy is known."""
