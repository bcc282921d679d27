"""What registries and signatures would have said about images, recorded."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.kube.objects import Json

_NO_TEXTS: Mapping[str, str] = MappingProxyType({})


class Signature(NamedTuple):
    """A valid signature: who made it. Unknown parts are ""."""

    key: str = ""
    """A public key (PEM), a KMS URI, or `k8s://NAMESPACE/NAME` for a key in a Secret."""
    certificate: str = ""
    """The certificate, or its chain (PEM)."""
    issuer: str = ""
    subject: str = ""
    annotations: Mapping[str, str] = _NO_TEXTS


class Attestation(NamedTuple):
    """A statement attached to an image, and who signed it."""

    type: str
    predicate: Json
    signatures: tuple[Signature, ...] = ()


class ImageData(NamedTuple):
    """What is known of one image; None where it was not recorded."""

    digest: str = ""
    signatures: tuple[Signature, ...] | None = None
    attestations: tuple[Attestation, ...] | None = None
    manifest: Json = None
    manifest_list: Json = None
    config: Json = None
