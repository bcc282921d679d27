"""Signatures and attestations of images.

Source of the rules: upstream pkg/cel/libs/imageverify. Nothing is fetched here: an image that the
policy does not take has no valid signatures; of any other an error says that it cannot be known.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

from kyvsim.cel.environment import Library, function, way
from kyvsim.cel.errors import CelError
from kyvsim.cel.kyverno.images import parse_image
from kyvsim.cel.types import CelType, opaque


class Attestor(NamedTuple):
    """One of a policy's attestors, as a value of expressions."""

    name: str

    @property
    def only_own_kind(self) -> bool:
        """Return True: another type is neither equal to it nor different."""
        return True

    @property
    def cel_type(self) -> CelType:
        """Its type in expressions."""
        return opaque("v1beta1.Attestor")


class ImageFacts(NamedTuple):
    """What a policy's functions know."""

    taken: Callable[[str], bool]
    """Tells whether the policy is about an image; raises CelError."""
    attestations: Collection[str]
    """The names of the policy's attestations."""
    data_of: Callable[[str], Mapping[str, Any] | None]
    """Returns what is given of an image, None where nothing is."""

    def data(self, image: str) -> Mapping[str, Any]:
        """Return what is given of an image."""
        found = self.data_of(image)
        if found is None:
            raise CelError(unfetched(image))
        return found

    def signatures(self, image: str, attestors: list[Any]) -> int:
        """Return how many attestors have signed an image."""
        return self._verified(image, attestors) if self.taken(image) else 0

    def attested(self, image: str, attestation: str, attestors: list[Any]) -> int:
        """Return how many attestors have signed an attestation."""
        if not self.taken(image):
            return 0
        self._check(attestation)
        return self._verified(image, attestors)

    def payload(self, image: str, attestation: str) -> Any:
        """Return what an attestation says, which only its registry knows."""
        self._check(attestation)
        self.data(image)
        raise CelError(f"failed to get payload: attestations of `{image}` are with its registry")

    def _check(self, attestation: str) -> None:
        if attestation not in self.attestations:
            raise CelError(f"attestation not found in policy: {attestation}")

    def _verified(self, image: str, attestors: list[Any]) -> int:
        self.data(image)
        if attestors:
            raise CelError(f"signatures of `{image}` cannot be verified without its registry")
        return 0


def unfetched(image: str) -> str:
    """Return what is said of an image of which nothing is given."""
    try:
        parse_image(image)
    except CelError as error:
        return f"failed to get imagedata: {error}"
    return (
        f"failed to get imagedata: nothing is known of `{image}`, and kyvsim asks no registry: "
        "give it in `spec.images` of a --context-file"
    )


def unanswered(image: str) -> str:
    """Return what is said of an image whose digest only a registry knows."""
    return f"failed to resolve digest for image {image}: kyvsim asks no registry"


def image_verification(facts: ImageFacts) -> Library:
    """Return the library of a policy."""
    attested = "(string, string, list<dyn>) -> int"
    return Library(
        "image verification",
        (
            function("verifyImageSignatures", way("(string, list<dyn>) -> int", facts.signatures)),
            function("verifyAttestationSignatures", way(attested, facts.attested)),
            function("getImageData", way("(string) -> dyn", facts.data)),
            function("extractPayload", way("(string, string) -> dyn", facts.payload)),
        ),
    )


UNKNOWN = image_verification(ImageFacts(lambda _: True, (), lambda _: None))
"""The library where no policy is known."""
