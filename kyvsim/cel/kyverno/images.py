"""Image references taken apart.

Source of the rules: upstream kyverno/sdk extensions/cel/libs/image over go-containerregistry's
`name` package in its lenient reading: the registry of Docker by its long name, `library/` before a
name of one part, the tag `latest`; of a reference with tag and digest only the digest counts.
"""

import re
from typing import NamedTuple

from kyvsim.cel.environment import Library, function, way
from kyvsim.cel.errors import CelError
from kyvsim.cel.types import CelType, opaque
from kyvsim.kubernetes.go_url import UrlError, parse_url

_TYPE = opaque("kyverno.image")
_DOCKER = "index.docker.io"
_REPOSITORY = re.compile(r"[abcdefghijklmnopqrstuvwxyz0123456789_\-./]{2,255}")
_TAG = re.compile(r"[0-9A-Za-z_\-.]{1,128}")
_DIGEST = re.compile(r"sha256:[a-f0-9]{64}")


class Image(NamedTuple):
    """A reference as a value of expressions; of tag and digest one is empty."""

    text: str
    registry: str
    path: str
    tag: str = ""
    digest: str = ""

    def __str__(self) -> str:
        """Return the reference as it was given."""
        return self.text

    @property
    def hides_type(self) -> bool:
        """Whether `type()` fails for it, as upstream."""
        return True

    @property
    def only_own_kind(self) -> bool:
        """Whether `==` fails for values of other kinds."""
        return True

    @property
    def go_type(self) -> str:
        """Its name in upstream's code, which some messages show."""
        return "image.Image"

    @property
    def cel_type(self) -> CelType:
        """Its type in expressions."""
        return _TYPE

    @property
    def repository(self) -> str:
        """The path as the registry knows it."""
        alone = "/" not in self.path and self.registry == _DOCKER
        return f"library/{self.path}" if alone else self.path


def parse_image(text: str) -> Image:
    """Return the parts of a reference; raises CelError."""
    found = _tagged(text) or _digested(text)
    if found is None:
        raise CelError(f"could not parse reference: {text}")
    return found._replace(text=text)


def _tagged(text: str) -> Image | None:
    base, colon, tag = text.rpartition(":")
    if not colon or "/" in tag:
        base, tag = text, "latest"
    found = _repository(base)
    return found._replace(tag=tag) if found and _TAG.fullmatch(tag) else None


def _digested(text: str) -> Image | None:
    base, _, digest = text.partition("@")
    if not _DIGEST.fullmatch(digest):
        return None
    found = _tagged(base) or _repository(base)
    return found._replace(tag="", digest=digest) if found else None


def _repository(text: str) -> Image | None:
    host, slash, path = text.partition("/")
    if not slash or not (host == "localhost" or "." in host or ":" in host):
        host, path = "", text
    if not _REPOSITORY.fullmatch(path) or not _is_authority(host):
        return None
    return Image(text, _DOCKER if host in {"", "docker.io"} else host, path)


def _is_authority(host: str) -> bool:
    try:
        return parse_url(f"//{host}").host == host
    except UrlError:
        return False


def _is_image(text: str) -> bool:
    try:
        parse_image(text)
    except CelError:
        return False
    return True


def _of_image(result: str) -> str:
    return f"{_TYPE.name}.() -> {result}"


IMAGES = Library(
    "images",
    (
        *(
            function(name, way("(string) -> dyn", parse_image)._replace(result=_TYPE))
            for name in ("image", "parseImageReference")
        ),
        function("isImage", way("(string) -> bool", _is_image)),
        function("containsDigest", way(_of_image("bool"), lambda image: bool(image.digest))),
        function("registry", way(_of_image("string"), lambda image: image.registry)),
        function("repository", way(_of_image("string"), lambda image: image.repository)),
        function("identifier", way(_of_image("string"), lambda image: image.tag or image.digest)),
        function("tag", way(_of_image("string"), lambda image: image.tag)),
        function("digest", way(_of_image("string"), lambda image: image.digest)),
    ),
    types=((Image, _TYPE),),
)
