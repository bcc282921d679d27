"""Recorded answers of registries, clusters and services, given for what is unknown offline."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.kubernetes.objects import Json

# What registries and signatures would have said about images.


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


# Answers of clusters and services.


LAST_GOOD_STATUS = 299


class CallAnswer(NamedTuple):
    """What an API call is answered with."""

    status: int
    body: Json

    @property
    def good(self) -> bool:
        """Whether the status is one of success."""
        return 200 <= self.status <= LAST_GOOD_STATUS


class GlobalData(NamedTuple):
    """What stands for a GlobalContextEntry."""

    data: Json
    """An object, or a list of objects."""
    field_path: str = ""
    """The JMESPath expression of the part that counts; "" for all of it."""
    projections: tuple[tuple[str, str], ...] = ()
    """Names, and the JMESPath expressions that give their values."""
