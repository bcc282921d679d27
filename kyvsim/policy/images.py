"""Images in policies: attestors, `verifyImages`, `imageExtractors` and `manifests`.

Nodes and their readers. upstream: api/kyverno/v1/image_verification_types.go
"""

from collections.abc import Mapping
from typing import NamedTuple

from kyvsim.kubernetes.objects import Json, Path
from kyvsim.policy.read import read_conditions, read_deny, read_each, read_text, read_texts
from kyvsim.policy.tree import Conditions, Deny


class Rekor(NamedTuple):
    """The transparency log that has to know a signature."""

    path: Path
    url: str
    pubkey: str
    ignore_tlog: bool


class CTLog(NamedTuple):
    """The log of certificates, and who attests times."""

    path: Path
    pubkey: str
    ignore_sct: bool
    tsa_cert_chain: str


class Keys(NamedTuple):
    """Public keys, one of which has signed."""

    path: Path
    public_keys: str
    kms: str
    secret: Mapping[str, Json] | None
    signature_algorithm: str
    rekor: Rekor | None = None
    ctlog: CTLog | None = None


class Certificates(NamedTuple):
    """A certificate that has signed, or its chain."""

    path: Path
    cert: str
    cert_chain: str
    rekor: Rekor | None = None
    ctlog: CTLog | None = None


class Keyless(NamedTuple):
    """An identity that has signed."""

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
    """Someone who has to sign; one without any field is anyone."""

    path: Path
    keys: Keys | None = None
    certificates: Certificates | None = None
    keyless: Keyless | None = None
    attestor: "AttestorSet | None" = None
    """Attestors of which these are a part."""
    annotations: Mapping[str, str] | None = None
    repository: str = ""


class AttestorSet(NamedTuple):
    """Attestors, some or all of whom have to sign."""

    path: Path
    required: int | None
    """How many have to sign, the `count` of the set; None for all."""
    entries: tuple[Attestor, ...]


class ManifestObject(NamedTuple):
    """Objects of which a check of manifests leaves out fields; "" and `*` mean any."""

    path: Path
    group: str
    version: str
    kind: str
    namespace: str
    name: str


class IgnoredFields(NamedTuple):
    """Fields that a check of manifests leaves out, in some objects or in all."""

    path: Path
    objects: tuple[ManifestObject, ...]
    fields: tuple[str, ...]


class Manifests(NamedTuple):
    """A check that objects equal signed manifests."""

    path: Path
    attestors: tuple[AttestorSet, ...]
    annotation_domain: str
    ignore_fields: tuple[IgnoredFields, ...]
    repository: str


class ImageExtractor(NamedTuple):
    """Where objects of a kind have images."""

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
    """Statements about an image, and the conditions that they have to meet."""

    path: Path
    name: str
    type: str
    predicate_type: str
    attestors: tuple[AttestorSet, ...]
    conditions: Conditions | None


class ImageVerification(NamedTuple):
    """One entry of `verifyImages`; the fields of older policies are converted."""

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
    """The whole entry as it is written, for filling in its variables."""


class ImageValidation(NamedTuple):
    """The `validate` section of an entry of `verifyImages`."""

    path: Path
    message: str
    deny: Deny | None


def read_manifests(data: Mapping[str, Json], path: Path) -> Manifests:
    """Return the `manifests` block of a validate rule."""
    return Manifests(
        path,
        attestors=_attestor_sets(data, path),
        annotation_domain=read_text(data, "annotationDomain"),
        ignore_fields=read_each(data.get("ignoreFields"), (*path, "ignoreFields"), _ignored_fields)
        or (),
        repository=read_text(data, "repository"),
    )


def _ignored_fields(data: Mapping[str, Json], path: Path) -> IgnoredFields:
    objects = read_each(data.get("objects"), (*path, "objects"), _manifest_object) or ()
    return IgnoredFields(path, objects, read_texts(data.get("fields")) or ())


def _manifest_object(data: Mapping[str, Json], path: Path) -> ManifestObject:
    fields = ("group", "version", "kind", "namespace", "name")
    return ManifestObject(path, *(read_text(data, field) for field in fields))


def read_image_extractors(data: Mapping[str, Json], path: Path) -> tuple[ImageExtractors, ...]:
    """Return the `imageExtractors` of a rule."""
    return tuple(
        ImageExtractors(
            (*path, kind), kind, read_each(listed, (*path, kind), _image_extractor) or ()
        )
        for kind, listed in data.items()
    )


def _image_extractor(data: Mapping[str, Json], path: Path) -> ImageExtractor:
    fields = ("name", "path", "key", "value", "jmesPath")
    return ImageExtractor(path, *(read_text(data, field) for field in fields))


def read_image_verifications(data: Json, path: Path) -> tuple[ImageVerification, ...] | None:
    """Return the entries of `verifyImages`."""
    return read_each(data, path, read_image_verification)


def read_image_verification(data: Mapping[str, Json], path: Path) -> ImageVerification:
    """Return an entry of `verifyImages`, as it is written or with its variables filled in.

    The fields of older policies (`image`, `key`, `issuer` …) are put into today's.
    upstream: api/kyverno/v1/image_verification_types.go, Convert
    """
    image, annotations = read_text(data, "image"), data.get("annotations") or {}
    attestors = _attestor_sets(data, path)
    attestations = read_each(data.get("attestations"), (*path, "attestations"), _attestation) or ()
    key, issuer = read_text(data, "key"), read_text(data, "issuer")
    # Beside attestations the attestor is lost: upstream puts it into a copy of them, and the
    # originals back over the copy.
    if (key or issuer or (image and annotations)) and not attestations:
        keys = Keys(path, key, "", None, "") if key else None
        subject, roots = read_text(data, "subject"), read_text(data, "roots")
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
        validate=_image_validation(data.get("validate"), (*path, "validate")),
        mutate_digest=data.get("mutateDigest"),
        verify_digest=data.get("verifyDigest"),
        required=data.get("required"),
        data=data,
    )


def _image_validation(data: Json, path: Path) -> ImageValidation | None:
    if not data:
        return None
    deny = read_deny(data.get("deny"), (*path, "deny"))
    return ImageValidation(path, read_text(data, "message"), deny)


def _attestation(data: Mapping[str, Json], path: Path) -> Attestation:
    return Attestation(
        path,
        name=read_text(data, "name"),
        type=read_text(data, "type"),
        predicate_type=read_text(data, "predicateType"),
        attestors=_attestor_sets(data, path),
        conditions=read_conditions(data.get("conditions"), (*path, "conditions")),
    )


def _attestor_sets(data: Mapping[str, Json], path: Path) -> tuple[AttestorSet, ...]:
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
        keys=None if keys is None else _keys(keys, (*path, "keys")),
        certificates=None
        if certificates is None
        else _certificates(certificates, (*path, "certificates")),
        keyless=None if keyless is None else _keyless(keyless, (*path, "keyless")),
        attestor=_attestor_set(inner, (*path, "attestor")) if inner.__class__ is dict else None,
        annotations=data.get("annotations"),
        repository=read_text(data, "repository"),
    )


def _keys(data: Mapping[str, Json], path: Path) -> Keys:
    public_keys, algorithm = read_text(data, "publicKeys"), read_text(data, "signatureAlgorithm")
    return Keys(
        path,
        public_keys,
        read_text(data, "kms"),
        data.get("secret"),
        algorithm,
        rekor=_rekor(data.get("rekor"), (*path, "rekor")),
        ctlog=_ctlog(data.get("ctlog"), (*path, "ctlog")),
    )


def _certificates(data: Mapping[str, Json], path: Path) -> Certificates:
    return Certificates(
        path,
        read_text(data, "cert"),
        read_text(data, "certChain"),
        rekor=_rekor(data.get("rekor"), (*path, "rekor")),
        ctlog=_ctlog(data.get("ctlog"), (*path, "ctlog")),
    )


def _keyless(data: Mapping[str, Json], path: Path) -> Keyless:
    return Keyless(
        path,
        issuer=read_text(data, "issuer"),
        issuer_reg_exp=read_text(data, "issuerRegExp"),
        subject=read_text(data, "subject"),
        subject_reg_exp=read_text(data, "subjectRegExp"),
        roots=read_text(data, "roots"),
        additional_extensions=data.get("additionalExtensions"),
        rekor=_rekor(data.get("rekor"), (*path, "rekor")),
        ctlog=_ctlog(data.get("ctlog"), (*path, "ctlog")),
    )


def _rekor(data: Json, path: Path) -> Rekor | None:
    if data is None:
        return None
    ignores = data.get("ignoreTlog") is True
    return Rekor(path, read_text(data, "url"), read_text(data, "pubkey"), ignores)


def _ctlog(data: Json, path: Path) -> CTLog | None:
    if data is None:
        return None
    ignores = data.get("ignoreSCT") is True
    return CTLog(path, read_text(data, "pubkey"), ignores, read_text(data, "tsaCertChain"))
