"""`validate.manifests`: the object equals a signed manifest in its annotations.

Signatures by public keys need no network. A keyless signature or certificate, a bundle in a
registry, a key in a Secret or a KMS need what kyvsim does not have: they end in an error that says
so. A dry run is skipped, as upstream skips it without permission for it.
Source of the rules: upstream pkg/engine/handlers/validation/validate_manifest.go,
github.com/sigstore/k8s-manifest-sigstore pkg/k8smanifest, pkg/util, pkg/cosign.
"""

import base64
import binascii
import gzip
import io
import tarfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from kyvsim.engine.compile.compiled import (
    CompiledBody,
    Evaluation,
    Outcome,
    errored,
    failed,
    passed,
)
from kyvsim.kubernetes.discovery import split_api_version
from kyvsim.kubernetes.go_text import to_json
from kyvsim.kubernetes.objects import Json, annotations, object_key
from kyvsim.kubernetes.quantities import with_floats
from kyvsim.languages.classic.attestors import authority_of, expand_keys, required_count
from kyvsim.languages.classic.manifest_diff import (
    diff_text,
    differences,
    ignored_fields,
)
from kyvsim.languages.classic.rule_type import NO_AUTOGEN, RuleContext, RuleType
from kyvsim.model.result import Phase
from kyvsim.yaml.document import YamlError
from kyvsim.yaml.text import load_all

# The signed message in an object's annotations, and the manifests inside it.
#
# Source of the rules: upstream github.com/sigstore/k8s-manifest-sigstore
# pkg/k8smanifest/verify.go, pkg/util

_MOST_BYTES = 32 << 20
"""What a message may grow to: more than an object can be, less than a bomb."""
_GZIP = b"\x1f\x8b"
_ENDINGS = (".yaml", ".yml", ".signed")


class SignedMessageError(Exception):
    """A message that is missing or holds no manifest for the object; `missing` where it is none."""

    def __init__(self, message: str, *, missing: bool) -> None:
        super().__init__(message)
        self.missing = missing


class SignedMessage(NamedTuple):
    """What signatures are made over, and the signatures (base64 of DER) in order."""

    content: bytes
    signatures: tuple[str, ...]


def read_message(annotations: Mapping[str, str], domain: str) -> SignedMessage:
    """Return the message and signatures in annotations of a domain; raises `MessageError`."""
    text = annotations.get(f"{domain}/message")
    if text is None:
        raise SignedMessageError("message not found", missing=True)
    try:
        packed = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        problem = f"failed to decode base64 message in the annotation: {error}"
        raise SignedMessageError(problem, missing=False) from error
    return SignedMessage(unpacked(packed), tuple(_signatures(annotations, domain)))


def unpacked(data: bytes) -> bytes:
    """Return the unpacked data, or the data itself if it is not gzip; raises `MessageError`."""
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            found = file.read(_MOST_BYTES + 1)
    except (OSError, EOFError, zlib.error):
        return data
    if len(found) > _MOST_BYTES:
        raise SignedMessageError("the message is too large", missing=False)
    return found


def _signatures(annotations: Mapping[str, str], domain: str) -> Iterator[str]:
    key, number = f"{domain}/signature", 0
    while key in annotations:
        yield annotations[key]
        number += 1
        key = f"{domain}/signature_{number}"


def manifests_for(message: SignedMessage, obj: Json) -> list[Json]:
    """Return the manifests that the object may have been made from; raises `MessageError`.

    That is the one with its group, kind and name; without any, all of its kind.
    """
    key = object_key(obj)
    of_kind = [one for one in _manifests(message.content) if object_key(one).kind == key.kind]
    if not of_kind:
        problem = "failed to find a YAML manifest in the gzipped message"
        raise SignedMessageError(problem, missing=True)
    group = split_api_version(key.api_version)[0]
    named = [
        one
        for one in of_kind
        if object_key(one).name == key.name
        and split_api_version(object_key(one).api_version)[0] == group
    ]
    placed = [one for one in named if object_key(one).namespace == key.namespace]
    best = placed if len(named) > 1 and placed else named
    return best[:1] or of_kind


def _manifests(content: bytes) -> list[Json]:
    direct = list(_documents(content))
    if direct:
        return direct
    try:
        if not content.startswith(_GZIP):
            raise tarfile.ReadError("neither YAML nor gzip")
        with tarfile.open(fileobj=io.BytesIO(unpacked(content)), mode="r:") as archive:
            return [one for data in _files(archive) for one in _documents(data)]
    except (tarfile.TarError, EOFError) as error:
        problem = f"failed to read YAMLs in the gzipped message: {error}"
        raise SignedMessageError(problem, missing=False) from error


def _files(archive: "tarfile.TarFile") -> Iterator[bytes]:
    members = sorted(archive.getmembers(), key=lambda member: member.name)
    for member in members:
        file = archive.extractfile(member) if member.isreg() else None
        if file and member.name.endswith(_ENDINGS) and not member.name.startswith(".."):
            yield file.read()


def _documents(content: bytes) -> Iterator[Json]:
    """Yield the mappings of a YAML stream up to the first document that cannot be read."""
    try:
        for document in load_all(content, floats=True):
            if document.__class__ is dict:
                yield document
    except (YamlError, UnicodeDecodeError, ValueError):
        return


# Signatures over a message, checked with a public key.
#
# Source of the rules: upstream github.com/sigstore/k8s-manifest-sigstore pkg/cosign/verify.go

_KEY_START = "-----BEGIN PUBLIC KEY-----"
_BAD = "invalid signature when validating ASN.1 encoded signature"


class KeyProblem(Exception):  # noqa: N818 — it names what cannot be used
    """A key that cannot be used here."""


def signature_problem(key: str, content: bytes, signature: str) -> str:
    """Return what is wrong with a base64 signature of `content`, or "".

    ECDSA and RSA (PKCS #1 v1.5) are over SHA-256, Ed25519 over the content. Raises `KeyProblem`.
    """
    from cryptography.exceptions import (
        InvalidSignature,
        UnsupportedAlgorithm,
    )
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import (
        ec,
        ed25519,
        padding,
        rsa,
    )
    from cryptography.hazmat.primitives.serialization import (
        load_pem_public_key,
    )

    if not key.startswith(_KEY_START):
        raise KeyProblem(
            "kyvsim only verifies with public keys in PEM format, not with KMS, Secret or PGP keys"
        )
    try:
        loaded = load_pem_public_key(key.encode())
    except (ValueError, UnsupportedAlgorithm) as error:
        text = "failed to judge signature type from public key configuration"
        raise KeyProblem(text) from error
    try:
        given = base64.b64decode(signature, validate=True)
    except (binascii.Error, ValueError) as error:
        return f"the signature is not valid base64: {error}"
    try:
        if isinstance(loaded, ec.EllipticCurvePublicKey):
            loaded.verify(given, content, ec.ECDSA(hashes.SHA256()))
        elif isinstance(loaded, rsa.RSAPublicKey):
            loaded.verify(given, content, padding.PKCS1v15(), hashes.SHA256())
        elif isinstance(loaded, ed25519.Ed25519PublicKey):
            loaded.verify(given, content)
        else:
            raise KeyProblem("the public key has a type that cannot verify manifests")
    except InvalidSignature:
        return _BAD
    return ""


_DOMAIN = "cosign.sigstore.dev"


class _ManifestError(Exception):
    """Something that ends the rule in an error."""


class _UnfitError(Exception):
    """An attestor that did not sign, or not this; the rule may pass by another one."""


class _Signed(NamedTuple):
    """An object and how to look at it."""

    object: Json
    spec: Mapping[str, Json]
    domain: str


def compile_manifests(context: RuleContext) -> CompiledBody:
    """Return the body of a `validate.manifests` rule."""
    spec = context.rule.data["validate"]["manifests"]
    domain = spec.get("annotationDomain") or _DOMAIN

    def evaluate(evaluation: Evaluation) -> Outcome | None:
        obj = evaluation.request.object
        if obj is None:
            return None
        signed = _Signed(obj, spec, domain)
        reasons: list[str] = []
        try:
            for index, attestors in enumerate(spec.get("attestors") or ()):
                reasons.append(_check_set(signed, attestors, f".attestors[{index}]"))
        except _ManifestError as error:
            return errored("error occurred during manifest verification", error)
        except _UnfitError as error:
            return failed(str(error))
        return passed(f"verified manifest signatures; {','.join(reasons)}")

    return evaluate


def _check_set(signed: _Signed, attestors: Json, path: str) -> str:
    """Return why a set of attestors is satisfied; raises where it is not."""
    entries = expand_keys(attestors.get("entries") or ())
    required = required_count(attestors, entries)
    good: list[str] = []
    bad: list[str] = []
    problems: list[str] = []
    for index, one in enumerate(entries):
        place = f"{path}.entries[{index}]"
        try:
            if one.get("attestor") is not None:
                good.append(_check_set(signed, one["attestor"], f"{place}.attestor"))
            else:
                good.append(_check_one(signed, one, f"{place}{authority_of(one)}"))
        except _ManifestError as error:
            problems.append(str(error))
        except _UnfitError as error:
            bad.append(str(error))
        if len(good) >= required:
            return _count("succeeded", (len(good), required), good)
    if problems:
        raise _ManifestError("; ".join(problems))
    raise _UnfitError(_count("failed", (len(good), required), bad))


def _count(ending: str, counts: tuple[int, int], messages: Iterable[str]) -> str:
    return (
        f"manifest verification {ending}; verifiedCount {counts[0]}; requiredCount {counts[1]}; "
        f"message {','.join(messages)}"
    )


def _check_one(signed: _Signed, attestor: Json, place: str) -> str:
    given = annotations(signed.object)
    for name, value in (attestor.get("annotations") or {}).items():
        if given.get(name, "") != value:
            raise _ManifestError(
                f"annotations mismatch: {given.get(name, '')} does not match expected value "
                f"{value} for key {name}"
            )
    key = _public_key(signed, attestor, place)
    try:
        message = read_message(given, signed.domain)
        manifests = manifests_for(message, signed.object)
    except SignedMessageError as error:
        text = f"{place}: YAML manifest not found for this resource: {error}"
        raise (_UnfitError if error.missing else _ManifestError)(text) from error
    bindings = signed.spec.get("ignoreFields") or ()
    ignored = ignored_fields(signed.object, bindings, signed.domain)
    # Both are compared as JSON text has them, in which all numbers are floats.
    obj = with_floats(signed.object)
    found = [differences(manifest, obj, ignored) for manifest in manifests]
    changed = found[0] if all(found) else []
    _check_signatures(key, message, place)
    if changed:
        raise _UnfitError(f"{place}: failed to verify signature. diff found; {diff_text(changed)}")
    return "singed by a valid signer: "


def _public_key(signed: _Signed, attestor: Json, place: str) -> str:
    stored = attestor.get("repository") or signed.spec.get("repository")
    if stored or f"{signed.domain}/resourceBundleRef" in annotations(signed.object):
        raise _ManifestError(f"{place}: the signatures are in a registry, and kyvsim is offline")
    keys = attestor.get("keys")
    if keys is None:
        raise _ManifestError(
            f"{place}: kyvsim only verifies manifests with public keys; certificates and keyless "
            "signatures need a transparency log"
        )
    return keys.get("publicKeys") or ""


def _check_signatures(key: str, message: SignedMessage, place: str) -> None:
    start = f"{place}: failed to verify signature: "
    if not message.signatures:
        raise _UnfitError(f"{start}signature not found")
    trials = []
    for number, signature in enumerate(message.signatures, 1):
        try:
            problem = signature_problem(key, message.content, signature)
        except KeyProblem as error:
            raise _ManifestError(f"{start}{error}") from error
        if not problem:
            return
        trials.append(
            f"[publickey 1/1] [signature {number}/{len(message.signatures)}] error: "
            f"cosign.VerifyBlobCmd.Exec() returned an error: {problem}"
        )
    raise _ManifestError(
        f"{start}verification failed for {len(message.signatures)} signature. all trials: "
        f"{to_json(trials)}"
    )


def _counts(body: Json) -> bool:
    """Return whether a body counts: upstream ignores one without attestors."""
    return bool((body or {}).get("attestors"))


def _concerns(_: RuleContext) -> Callable[[Json], bool]:
    """Return a predicate: whether there is an object; upstream has no handler for a deletion."""
    return lambda obj: obj is not None


RULE_TYPE = RuleType(
    ("validate", "manifests"),
    Phase.VALIDATE,
    compile_manifests,
    NO_AUTOGEN,
    counts=_counts,
    concerns=_concerns,
)
