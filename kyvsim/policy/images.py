"""Images in policies: attestors, `verifyImages`, `imageExtractors` and `manifests`.

Nodes and their readers. upstream: api/kyverno/v1/image_verification_types.go
"""

from collections.abc import Mapping
from typing import NamedTuple

from kyvsim.kubernetes.objects import Json, Path
from kyvsim.policy.read import (
    read_conditions,
    read_deny,
    read_each,
    read_section,
    read_text,
    read_texts,
    texts_of,
)
from kyvsim.policy.tree import Conditions, Deny


class Rekor(NamedTuple):
    """The transparency log that must contain a signature."""

    path: Path
    url: str
    pubkey: str
    ignore_tlog: bool


class CTLog(NamedTuple):
    """The log of certificates, and the time stamp authority."""

    path: Path
    pubkey: str
    ignore_sct: bool
    tsa_cert_chain: str


class Keys(NamedTuple):
    """Public keys, one of which has signed the image."""

    path: Path
    public_keys: str
    kms: str
    secret: Mapping[str, Json] | None
    signature_algorithm: str
    rekor: Rekor | None = None
    ctlog: CTLog | None = None


class Certificates(NamedTuple):
    """A certificate, or its chain, that has signed the image."""

    path: Path
    cert: str
    cert_chain: str
    rekor: Rekor | None = None
    ctlog: CTLog | None = None


class Keyless(NamedTuple):
    """An identity that has signed the image."""

    path: Path
    issuer: str
    issuer_reg_exp: str
    subject: str
    subject_reg_exp: str
    roots: str
    additional_extensions: Mapping[str, str] | None = None
    rekor: Rekor | None = None
    ctlog: CTLog | None = None


class Attestor(NamedTuple):
    """A required signer; without any field, any signer."""

    path: Path
    keys: Keys | None = None
    certificates: Certificates | None = None
    keyless: Keyless | None = None
    attestor: "AttestorSet | None" = None
    """A nested set of attestors."""
    annotations: Mapping[str, str] | None = None
    repository: str = ""


class AttestorSet(NamedTuple):
    """Attestors, some or all of which must sign."""

    path: Path
    required: int | None
    """The required number of signers, the `count` of the set; None for all."""
    entries: tuple[Attestor, ...]


class ManifestObject(NamedTuple):
    """Objects whose fields a check of manifests ignores; "" and `*` mean any."""

    path: Path
    group: str
    version: str
    kind: str
    namespace: str
    name: str


class IgnoredFields(NamedTuple):
    """Fields that a check of manifests ignores, in some objects or in all."""

    path: Path
    objects: tuple[ManifestObject, ...]
    fields: tuple[str, ...]


class Manifests(NamedTuple):
    """A check that objects are equal to signed manifests."""

    path: Path
    attestors: tuple[AttestorSet, ...]
    annotation_domain: str
    ignore_fields: tuple[IgnoredFields, ...]
    repository: str


class ImageExtractor(NamedTuple):
    """The path of images in objects of a kind."""

    path: Path
    name: str
    field_path: str
    """The `path` of the extractor, such as `/spec/steps/*/image`."""
    key: str
    value: str
    jmes_path: str


class ImageExtractors(NamedTuple):
    """The extractors for a kind."""

    path: Path
    kind: str
    extractors: tuple[ImageExtractor, ...]


class Attestation(NamedTuple):
    """Statements about an image, and their conditions."""

    path: Path
    name: str
    type: str
    predicate_type: str
    attestors: tuple[AttestorSet, ...]
    conditions: Conditions | None


class ImageVerification(NamedTuple):
    """One entry of `verifyImages`; deprecated fields are converted."""

    path: Path
    type: str
    image_references: tuple[str, ...]
    skip_image_references: tuple[str, ...]
    failure_action: str
    attestors: tuple[AttestorSet, ...]
    attestations: tuple[Attestation, ...]
    annotations: Mapping[str, str]
    validate: "ImageValidation | None"
    mutate_digest: bool | None
    verify_digest: bool | None
    required: bool | None
    data: Mapping[str, Json]
    """The whole entry as written, whose variables are replaced."""


class ImageValidation(NamedTuple):
    """The `validate` section of an entry of `verifyImages`."""

    path: Path
    message: str
    deny: Deny | None


def read_manifests(data: Mapping[str, object], path: Path) -> Manifests:
    """Return the `manifests` block of a validate rule."""

    def fields(one: Mapping[str, object], place: Path) -> IgnoredFields:
        objects = read_each(one.get("objects"), (*place, "objects"), _object) or ()
        return IgnoredFields(place, objects, read_texts(one.get("fields")) or ())

    return Manifests(
        path,
        attestors=_attestor_sets(data, path),
        annotation_domain=read_text(data, "annotationDomain"),
        ignore_fields=read_each(data.get("ignoreFields"), (*path, "ignoreFields"), fields) or (),
        repository=read_text(data, "repository"),
    )


def _object(data: Mapping[str, object], path: Path) -> ManifestObject:
    return ManifestObject(path, *texts_of(data, "group", "version", "kind", "namespace", "name"))


def read_image_extractors(data: Mapping[str, object], path: Path) -> tuple[ImageExtractors, ...]:
    """Return the `imageExtractors` of a rule."""

    def extractor(one: Mapping[str, object], place: Path) -> ImageExtractor:
        return ImageExtractor(place, *texts_of(one, "name", "path", "key", "value", "jmesPath"))

    return tuple(
        ImageExtractors((*path, kind), kind, read_each(listed, (*path, kind), extractor) or ())
        for kind, listed in data.items()
    )


def read_image_verifications(data: object, path: Path) -> tuple[ImageVerification, ...] | None:
    """Return the entries of `verifyImages`."""
    return read_each(data, path, read_image_verification)


def read_image_verification(data: Mapping[str, Json], path: Path) -> ImageVerification:
    """Return an entry of `verifyImages`, as written or with replaced variables.

    Deprecated fields (`image`, `key`, `issuer` …) are converted to current ones.
    upstream: api/kyverno/v1/image_verification_types.go, Convert
    """
    image, key, issuer = texts_of(data, "image", "key", "issuer")
    subject, roots = texts_of(data, "subject", "roots")
    annotations = data.get("annotations") or {}
    attestors = _attestor_sets(data, path)
    attestations = read_each(data.get("attestations"), (*path, "attestations"), _attestation) or ()
    # Beside attestations the attestor is lost: upstream adds it to a copy of them, which it
    # overwrites with the originals.
    if (key or issuer or (image and annotations)) and not attestations:
        keys = Keys(path, key, "", None, "") if key else None
        keyless = Keyless(path, issuer, "", subject, "", roots) if issuer and not key else None
        attestor = Attestor(path, keys=keys, keyless=keyless, annotations=annotations)
        attestors = (*attestors, AttestorSet(path, None, (attestor,)))
    return ImageVerification(
        path,
        type=read_text(data, "type"),
        image_references=(*(data.get("imageReferences") or ()), *((image,) if image else ())),
        skip_image_references=read_texts(data.get("skipImageReferences")) or (),
        failure_action=read_text(data, "failureAction"),
        attestors=attestors,
        attestations=attestations,
        annotations=annotations,
        validate=read_section(data, "validate", path, _validation)
        if data.get("validate")
        else None,
        mutate_digest=data.get("mutateDigest"),
        verify_digest=data.get("verifyDigest"),
        required=data.get("required"),
        data=data,
    )


def _attestor_sets(data: Mapping[str, object], path: Path) -> tuple[AttestorSet, ...]:
    return read_each(data.get("attestors"), (*path, "attestors"), _attestor_set) or ()


def _attestor_set(data: Mapping[str, Json], path: Path) -> AttestorSet:
    entries = read_each(data.get("entries"), (*path, "entries"), _attestor) or ()
    return AttestorSet(path, data.get("count"), entries)


def _attestation(data: Mapping[str, Json], path: Path) -> Attestation:
    name, type_, predicate_type = texts_of(data, "name", "type", "predicateType")
    conditions = read_conditions(data.get("conditions"), (*path, "conditions"))
    return Attestation(path, name, type_, predicate_type, _attestor_sets(data, path), conditions)


def _validation(data: Mapping[str, Json], path: Path) -> ImageValidation:
    deny = read_deny(data.get("deny"), (*path, "deny"))
    return ImageValidation(path, read_text(data, "message"), deny)


def _attestor(data: Mapping[str, Json], path: Path) -> Attestor:
    inner = data.get("attestor")
    return Attestor(
        path,
        keys=read_section(data, "keys", path, _keys),
        certificates=read_section(data, "certificates", path, _certificates),
        keyless=read_section(data, "keyless", path, _keyless),
        attestor=_attestor_set(inner, (*path, "attestor")) if inner.__class__ is dict else None,
        annotations=data.get("annotations"),
        repository=read_text(data, "repository"),
    )


def _keys(data: Mapping[str, Json], path: Path) -> Keys:
    keys, kms, algorithm = texts_of(data, "publicKeys", "kms", "signatureAlgorithm")
    return Keys(path, keys, kms, data.get("secret"), algorithm, *_logs(data, path))


def _certificates(data: Mapping[str, Json], path: Path) -> Certificates:
    cert, chain = texts_of(data, "cert", "certChain")
    return Certificates(path, cert, chain, *_logs(data, path))


def _keyless(data: Mapping[str, Json], path: Path) -> Keyless:
    issuer, issuer_reg_exp, subject, subject_reg_exp, roots = texts_of(
        data, "issuer", "issuerRegExp", "subject", "subjectRegExp", "roots"
    )
    extensions = data.get("additionalExtensions")
    return Keyless(
        path,
        *(issuer, issuer_reg_exp, subject, subject_reg_exp, roots),
        extensions,
        *_logs(data, path),
    )


def _logs(data: Mapping[str, Json], path: Path) -> tuple[Rekor | None, CTLog | None]:
    """Return an authority's settings for the logs of signatures and of certificates."""
    return read_section(data, "rekor", path, _rekor), read_section(data, "ctlog", path, _ctlog)


def _rekor(data: Mapping[str, Json], path: Path) -> Rekor:
    url, pubkey = texts_of(data, "url", "pubkey")
    return Rekor(path, url, pubkey, data.get("ignoreTlog") is True)


def _ctlog(data: Mapping[str, Json], path: Path) -> CTLog:
    pubkey, chain = texts_of(data, "pubkey", "tsaCertChain")
    return CTLog(path, pubkey, data.get("ignoreSCT") is True, chain)
