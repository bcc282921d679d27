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

    def attestation(one: Mapping[str, object], place: Path) -> Attestation:
        return Attestation(
            place,
            read_text(one, "name"),
            read_text(one, "type"),
            read_text(one, "predicateType"),
            _attestor_sets(one, place),
            read_conditions(one.get("conditions"), (*place, "conditions")),
        )

    image, key, issuer = texts_of(data, "image", "key", "issuer")
    subject, roots = texts_of(data, "subject", "roots")
    annotations, validate = data.get("annotations") or {}, data.get("validate")
    attestors = _attestor_sets(data, path)
    attestations = read_each(data.get("attestations"), (*path, "attestations"), attestation) or ()
    # Beside attestations the attestor is lost: upstream adds it to a copy of them, which it
    # overwrites with the originals.
    if (key or issuer or (image and annotations)) and not attestations:
        keys = Keys(path, key, "", None, "") if key else None
        keyless = Keyless(path, issuer, "", subject, "", roots)
        attestor = Attestor(
            path,
            keys=keys,
            keyless=keyless if issuer and not key else None,
            annotations=annotations,
        )
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
        validate=ImageValidation(
            (*path, "validate"),
            read_text(validate, "message"),
            read_deny(validate.get("deny"), (*path, "validate", "deny")),
        )
        if validate
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


def _attestor(data: Mapping[str, Json], path: Path) -> Attestor:
    keys, certificates, keyless, inner = (
        data.get(name) for name in ("keys", "certificates", "keyless", "attestor")
    )
    return Attestor(
        path,
        keys=None
        if keys is None
        else Keys(
            (*path, "keys"),
            read_text(keys, "publicKeys"),
            read_text(keys, "kms"),
            keys.get("secret"),
            read_text(keys, "signatureAlgorithm"),
            *_logs(keys, (*path, "keys")),
        ),
        certificates=None
        if certificates is None
        else Certificates(
            (*path, "certificates"),
            read_text(certificates, "cert"),
            read_text(certificates, "certChain"),
            *_logs(certificates, (*path, "certificates")),
        ),
        keyless=None
        if keyless is None
        else Keyless(
            (*path, "keyless"),
            read_text(keyless, "issuer"),
            read_text(keyless, "issuerRegExp"),
            read_text(keyless, "subject"),
            read_text(keyless, "subjectRegExp"),
            read_text(keyless, "roots"),
            keyless.get("additionalExtensions"),
            *_logs(keyless, (*path, "keyless")),
        ),
        attestor=_attestor_set(inner, (*path, "attestor")) if inner.__class__ is dict else None,
        annotations=data.get("annotations"),
        repository=read_text(data, "repository"),
    )


def _logs(data: Mapping[str, Json], path: Path) -> tuple[Rekor | None, CTLog | None]:
    """Return an authority's settings for the logs of signatures and of certificates."""
    rekor, ctlog = data.get("rekor"), data.get("ctlog")
    return (
        None
        if rekor is None
        else Rekor(
            (*path, "rekor"),
            read_text(rekor, "url"),
            read_text(rekor, "pubkey"),
            rekor.get("ignoreTlog") is True,
        ),
        None
        if ctlog is None
        else CTLog(
            (*path, "ctlog"),
            read_text(ctlog, "pubkey"),
            ctlog.get("ignoreSCT") is True,
            read_text(ctlog, "tsaCertChain"),
        ),
    )
