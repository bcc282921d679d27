"""verifyImages rules name images, and attestors that can attest.

upstream: api/kyverno/v1/image_verification_types.go
"""

from collections.abc import Iterator

from kyvsim.kube.objects import Json
from kyvsim.languages.classic.checks.refusal import RuleUnderCheck
from kyvsim.model.diagnostic import Diagnostic

_AUTHORITIES = ("keys", "certificates", "keyless", "attestor")
_ALGORITHMS = ("", "sha224", "sha256", "sha384", "sha512")


def check_images(subject: RuleUnderCheck) -> Iterator[Diagnostic]:
    """Every entry has references and sound attestors, and changes nothing while it only audits."""
    audits = subject.policy.spec.get("validationFailureAction", "Audit").lower() != "enforce"
    for index, image in enumerate(subject.data.get("verifyImages", ())):
        action = image.get("failureAction")
        if action is not None:
            # upstream: what one entry says holds for those after it
            audits = action.lower() != "enforce"
        place = f"{subject.text_path}.verifyImages[{index}]"
        if audits and image.get("mutateDigest"):
            text = (
                f"{place}.mutateDigest: Invalid value: true: mutateDigest must be set to false for"
                " \u2018Audit\u2019 failure action"
            )
            yield subject.refuse("KV139", text, ("verifyImages", index, "mutateDigest"))
        for text in _image_problems(image):
            yield subject.refuse("KV140", place + text, ("verifyImages", index))


def _image_problems(image: Json) -> Iterator[str]:
    """Yield what is wrong with an entry, beginning with the path below it."""
    if not (image.get("imageReferences") or image.get("image")):
        yield ": Invalid value: An image reference is required"
    for index, attestation in enumerate(image.get("attestations", ())):
        for at, attestors in enumerate(attestation.get("attestors", ())):
            yield from _set_problems(attestors, f".attestations[{index}].attestors[{at}]")
    for index, attestors in enumerate(image.get("attestors", ())):
        yield from _set_problems(attestors, f".attestors[{index}]")
    if image.get("type") == "Notary":
        yield from _notary_problems(image)


def _notary_problems(image: Json) -> Iterator[str]:
    for attestors in image.get("attestors", ()):
        for entry in attestors.get("entries", ()):
            for name in sorted({"keyless", "keys"} & entry.keys()):
                field = f"{name.title()} field"
                yield f".attestors: Invalid value: {field} is not allowed for type notary"


def _set_problems(attestors: Json, place: str) -> Iterator[str]:
    entries = attestors.get("entries", [])
    count = attestors.get("count")
    if count is not None and count > len(entries):
        yield f"{place}: Invalid value: Count cannot exceed length of entries"
    if not entries:
        yield f"{place}: Invalid value: An entry is required"
    for index, entry in enumerate(entries):
        yield from _attestor_problems(entry, f"{place}.entries[{index}]")


def _attestor_problems(entry: Json, place: str) -> Iterator[str]:
    if sum(name in entry for name in _AUTHORITIES) != 1:
        yield (
            f"{place}: Invalid value: keys, certificates, keyless, or a nested attestor is required"
        )
    keys = entry.get("keys")
    if keys is not None:
        if not (keys.get("publicKeys") or keys.get("kms") or "secret" in keys):
            yield f"{place}.keys: Invalid value: A public key, kms key or secret is required"
        if keys.get("publicKeys") and keys.get("signatureAlgorithm", "") not in _ALGORITHMS:
            yield f"{place}.keys: Invalid value: Invalid signature algorithm provided"
    certificates = entry.get("certificates")
    if certificates is not None and not (certificates.get("cert") or certificates.get("certChain")):
        yield f"{place}.certificates: Invalid value: cert or certChain required"
    keyless = entry.get("keyless")
    if keyless is not None:
        rekor = keyless.get("rekor")
        if rekor is None and not keyless.get("roots"):
            yield f"{place}.keyless: Invalid value: Either Rekor URL or roots are required"
        if rekor is not None and not rekor.get("url"):
            yield f"{place}.keyless: Invalid value: An URL is required"
    inner = entry.get("attestor")
    if inner.__class__ is dict:
        yield from _set_problems(inner, f"{place}.attestor")
