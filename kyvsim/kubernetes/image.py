"""Image references, as parsed by Kyverno for `images.*` and `image_normalize`.

upstream: pkg/utils/image/infos.go over github.com/distribution/reference.
"""

import re
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

DEFAULT_REGISTRY = "docker.io"
_MAX_PATH = 255

_COMPONENT = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_LABEL = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?"
_REFERENCE = (
    rf"(?:((?:{_LABEL}(?:\.{_LABEL})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?)/)?"
    rf"({_COMPONENT}(?:/{_COMPONENT})*)"
    r"(?::([A-Za-z0-9_][A-Za-z0-9_.-]{0,127}))?"
    r"(?:@([A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}))?"
)
_DIGEST_LENGTHS = MappingProxyType({"sha256": 64, "sha384": 96, "sha512": 128})


class ImageReference(NamedTuple):
    """The parts of an image reference; missing parts are ""."""

    registry: str
    name: str
    path: str
    tag: str
    digest: str

    @property
    def reference(self) -> str:
        """The complete reference, by digest if there is one."""
        mark = f"@{self.digest}" if self.digest else f":{self.tag}"
        return f"{self.registry}/{self.path}{mark}"

    def as_data(self) -> dict[str, str]:
        """Return the fields of the image's registry data that describe its reference.

        upstream: pkg/engine/context/loaders/imagedata.go, kyverno/sdk extensions/imagedataloader
        """
        return {
            "registry": self.registry,
            "repository": self.path,
            "identifier": self.digest or self.tag,
        }

    def as_variable(self) -> dict[str, str]:
        """Return the object in `images.<group>.<container>`."""
        fields = {
            **self._asdict(),
            "reference": self.reference,
            "referenceWithTag": f"{self.registry}/{self.path}:{self.tag}",
        }
        return {key: text for key, text in fields.items() if text or key in ("name", "path")}


@lru_cache(maxsize=1024)
def parse_image(text: str) -> ImageReference:
    """Return the parts of an image; the registry is `docker.io` and the tag `latest` by default.

    Raises ValueError with upstream's message for a bad reference.
    """
    host, slash, _ = text.partition("/")
    is_host = slash and ("." in host or ":" in host or host == "localhost" or host.lower() != host)
    full = text if is_host else f"{DEFAULT_REGISTRY}/{text}"
    found = re.fullmatch(_REFERENCE, full)
    problem = _problem(full, found)
    if found is None or problem:
        settings = f"defaultRegistry: {DEFAULT_REGISTRY}, enableDefaultRegistryMutation: true"
        raise ValueError(f"bad image: {full}, {settings}: {problem}")
    registry, path, tag, digest = (part or "" for part in found.groups())
    if not tag and not digest:
        tag = "latest"
    return ImageReference(registry, path.rpartition("/")[2], path, tag, digest)


def _problem(text: str, found: re.Match[str] | None) -> str:
    """Return the error in a reference, or ""."""
    if found is None:
        if re.fullmatch(_REFERENCE, text.lower()):
            return "repository name must be lowercase"
        return "invalid reference format"
    if len(found[2]) > _MAX_PATH:
        return f"repository name must not be more than {_MAX_PATH} characters"
    if not found[4]:
        return ""
    algorithm, _, encoded = found[4].partition(":")
    length = _DIGEST_LENGTHS.get(algorithm)
    if length is None:
        lower = re.fullmatch(r"[a-z0-9]+(?:[.+_-][a-z0-9]+)*", algorithm)
        return "unsupported digest algorithm" if lower else "invalid checksum digest format"
    if len(encoded) != length:
        return "invalid checksum digest length"
    return "" if encoded == encoded.lower() else "invalid checksum digest format"
