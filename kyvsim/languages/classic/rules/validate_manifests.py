"""`validate.manifests`: the object equals a signed manifest in its annotations.

Signatures by public keys need no network. Keyless signatures and certificates, bundles in a
registry, and keys in a Secret or a KMS need data that kyvsim does not have: they result in an
error with this reason. A dry run is skipped, as upstream skips it without permission for it.
Source of the rules: upstream pkg/engine/handlers/validation/validate_manifest.go,
github.com/sigstore/k8s-manifest-sigstore pkg/k8smanifest, pkg/util, pkg/cosign.
"""

import base64
import binascii
import gzip
import io
import re
import tarfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from types import MappingProxyType
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
from kyvsim.kubernetes.go_text import sprint, to_json
from kyvsim.kubernetes.objects import Json, KubernetesObject, annotations, object_key
from kyvsim.kubernetes.package_data import read_table
from kyvsim.kubernetes.quantities import with_floats
from kyvsim.kubernetes.regexes import RegexError, compile_regex, is_found
from kyvsim.languages.classic.images import authority_of, expand_keys
from kyvsim.languages.classic.rule_type import RuleContext, RuleType, validation_of
from kyvsim.model.result import Phase
from kyvsim.policy.images import Attestor, AttestorSet, IgnoredFields, ManifestObject, Manifests
from kyvsim.yaml.document import YamlError
from kyvsim.yaml.text import load_all


class _ManifestError(Exception):
    """An error that makes the result of the rule an error."""


class _UnfitError(Exception):
    """An attestor has not signed this object; the rule may pass with another attestor."""


# The signed message in an object's annotations, and the manifests inside it.
#
# Source of the rules: upstream github.com/sigstore/k8s-manifest-sigstore
# pkg/k8smanifest/verify.go, pkg/util


def _read_message(given: Mapping[str, str], domain: str) -> tuple[bytes, list[str]]:
    """Return the signed message of a domain's annotations, and its signatures (base64)."""
    text = given.get(f"{domain}/message")
    if text is None:
        raise _UnfitError("message not found")
    try:
        packed = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        problem = f"failed to decode base64 message in the annotation: {error}"
        raise _ManifestError(problem) from error
    content = _unpacked(packed)
    signatures: list[str] = []
    key = f"{domain}/signature"
    while key in given:
        signatures.append(given[key])
        key = f"{domain}/signature_{len(signatures)}"
    return content, signatures


def _unpacked(data: bytes) -> bytes:
    """Return the unpacked data, or the data itself if it is not gzip."""
    most = 32 << 20  # more than an object can have, less than a decompression bomb
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            found = file.read(most + 1)
    except (OSError, EOFError, zlib.error):
        return data
    if len(found) > most:
        raise _ManifestError("the message is too large")
    return found


def _manifests_for(content: bytes, obj: KubernetesObject) -> list[KubernetesObject]:
    """Return the manifests in a message that may be the source of the object.

    That is the one with its group, kind and name; if there is none, all of its kind.
    """
    key = object_key(obj)
    of_kind = [(object_key(one), one) for one in _manifests(content)]
    of_kind = [(own, one) for own, one in of_kind if own.kind == key.kind]
    if not of_kind:
        raise _UnfitError("failed to find a YAML manifest in the gzipped message")
    group = split_api_version(key.api_version)[0]
    named = [
        (own, one)
        for own, one in of_kind
        if own.name == key.name and split_api_version(own.api_version)[0] == group
    ]
    placed = [(own, one) for own, one in named if own.namespace == key.namespace]
    best = placed if len(named) > 1 and placed else named
    return [one for _, one in best[:1] or of_kind]


def _manifests(content: bytes) -> list[KubernetesObject]:
    direct = list(_documents(content))
    if direct:
        return direct
    found: list[KubernetesObject] = []
    try:
        if not content.startswith(b"\x1f\x8b"):
            raise tarfile.ReadError("neither YAML nor gzip")
        with tarfile.open(fileobj=io.BytesIO(_unpacked(content)), mode="r:") as archive:
            for member in sorted(archive.getmembers(), key=lambda member: member.name):
                file = archive.extractfile(member) if member.isreg() else None
                endings = (".yaml", ".yml", ".signed")
                if file and member.name.endswith(endings) and not member.name.startswith(".."):
                    found += _documents(file.read())
    except (tarfile.TarError, EOFError) as error:
        raise _ManifestError(f"failed to read YAMLs in the gzipped message: {error}") from error
    return found


def _documents(content: bytes) -> Iterator[KubernetesObject]:
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


def _signature_problem(key: str, content: bytes, signature: str) -> str:
    """Return why a base64 signature of `content` is invalid, or "".

    ECDSA and RSA (PKCS #1 v1.5) sign SHA-256 hashes, Ed25519 the content. Raises `_ManifestError`
    for a key that is not supported.
    """
    from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa

    if not key.startswith("-----BEGIN PUBLIC KEY-----"):
        raise _ManifestError(
            "kyvsim only verifies with public keys in PEM format, not with KMS, Secret or PGP keys"
        )
    try:
        loaded = serialization.load_pem_public_key(key.encode())
    except (ValueError, UnsupportedAlgorithm) as error:
        text = "failed to judge signature type from public key configuration"
        raise _ManifestError(text) from error
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
            raise _ManifestError("the public key has a type that cannot verify manifests")
    except InvalidSignature:
        return "invalid signature when validating ASN.1 encoded signature"
    return ""


class _Signed(NamedTuple):
    object: Json
    spec: Manifests
    domain: str


def _compile(context: RuleContext) -> CompiledBody:
    spec = validation_of(context.rule.tree).manifests
    if spec is None:
        return lambda _: None
    domain = spec.annotation_domain or "cosign.sigstore.dev"

    def evaluate(evaluation: Evaluation) -> Outcome | None:
        obj = evaluation.request.object
        if obj is None:
            return None
        signed = _Signed(obj, spec, domain)
        reasons: list[str] = []
        try:
            for index, attestors in enumerate(spec.attestors):
                reasons.append(_check_set(signed, attestors, f".attestors[{index}]"))
        except _ManifestError as error:
            return errored("error occurred during manifest verification", error)
        except _UnfitError as error:
            return failed(str(error))
        return passed(f"verified manifest signatures; {','.join(reasons)}")

    return evaluate


def _check_set(signed: _Signed, attestors: AttestorSet, path: str) -> str:
    """Return how a set of attestors is satisfied; raises if it is not."""
    entries = expand_keys(attestors.entries)
    required = attestors.required or len(entries)
    good: list[str] = []
    bad: list[str] = []
    problems: list[str] = []

    def counts(messages: list[str]) -> str:
        texts = ",".join(messages)
        return f"verifiedCount {len(good)}; requiredCount {required}; message {texts}"

    for index, one in enumerate(entries):
        place = f"{path}.entries[{index}]"
        try:
            if one.attestor is not None:
                good.append(_check_set(signed, one.attestor, f"{place}.attestor"))
            else:
                good.append(_check_one(signed, one, f"{place}{authority_of(one)}"))
        except _ManifestError as error:
            problems.append(str(error))
        except _UnfitError as error:
            bad.append(str(error))
        if len(good) >= required:
            return f"manifest verification succeeded; {counts(good)}"
    if problems:
        raise _ManifestError("; ".join(problems))
    raise _UnfitError(f"manifest verification failed; {counts(bad)}")


def _check_one(signed: _Signed, attestor: Attestor, place: str) -> str:
    given = annotations(signed.object)
    for name, value in (attestor.annotations or {}).items():
        if given.get(name, "") != value:
            raise _ManifestError(
                f"annotations mismatch: {given.get(name, '')} does not match expected value "
                f"{value} for key {name}"
            )
    stored = attestor.repository or signed.spec.repository
    if stored or f"{signed.domain}/resourceBundleRef" in given:
        raise _ManifestError(f"{place}: the signatures are in a registry, and kyvsim is offline")
    if attestor.keys is None:
        raise _ManifestError(
            f"{place}: kyvsim only verifies manifests with public keys; certificates and keyless "
            "signatures need a transparency log"
        )
    try:
        content, signatures = _read_message(given, signed.domain)
        manifests = _manifests_for(content, signed.object)
    except (_ManifestError, _UnfitError) as error:
        text = f"{place}: YAML manifest not found for this resource: {error}"
        raise type(error)(text) from error
    ignored = _ignored_fields(signed.object, signed.spec.ignore_fields, signed.domain)
    # Both are compared like JSON, in which all numbers are floats.
    obj = with_floats(signed.object)
    found = [_differences(manifest, obj, ignored) for manifest in manifests]
    changed = found[0] if all(found) else []
    _check_signatures(attestor.keys.public_keys, content, signatures, place)
    if changed:
        items = [
            {"key": one.key, "values": {"after": one.after, "before": one.before}}
            for one in changed
        ]
        text = f"failed to verify signature. diff found; {to_json({'items': items})}"
        raise _UnfitError(f"{place}: {text}")
    return "singed by a valid signer: "


def _check_signatures(key: str, content: bytes, signatures: list[str], place: str) -> None:
    start = f"{place}: failed to verify signature: "
    if not signatures:
        raise _UnfitError(f"{start}signature not found")
    trials = []
    for number, signature in enumerate(signatures, 1):
        try:
            problem = _signature_problem(key, content, signature)
        except _ManifestError as error:
            raise _ManifestError(f"{start}{error}") from error
        if not problem:
            return
        trials.append(
            f"[publickey 1/1] [signature {number}/{len(signatures)}] error: "
            f"cosign.VerifyBlobCmd.Exec() returned an error: {problem}"
        )
    raise _ManifestError(
        f"{start}verification failed for {len(signatures)} signature. all trials: {to_json(trials)}"
    )


# Differences between a manifest and the object created from it, without ignored fields.
#
# upstream: github.com/sigstore/k8s-manifest-sigstore pkg/util/mapnode, pkg/k8smanifest

_INDEX = re.compile(r"\.\d+\.")
_GO_TYPES = MappingProxyType({str: "string", float: "float64", int: "float64", bool: "bool"})


class _FieldDifference(NamedTuple):
    """One key with two values; None if it is missing on one side."""

    key: str
    before: Json
    after: Json


def _differences(
    manifest: object, obj: KubernetesObject, ignored: Callable[[str], bool]
) -> list[_FieldDifference]:
    """Return the differences that count, by key.

    These do not count: an element that moved within its list, an empty string instead of a missing
    value, and an image whose default registry or tag is written out.
    """
    before, after = dict(_leaves(manifest, "")), dict(_leaves(obj, ""))
    typed, found = [], []
    for key in sorted(before.keys() | after.keys()):
        one = _FieldDifference(key, before.get(key), after.get(key))
        if one.before is None or one.after is None or one.before.__class__ is one.after.__class__:
            if one.before != one.after:
                found.append(one)
        else:
            typed.append(_FieldDifference(key, _typed(one.before), _typed(one.after)))
    kept = [one for one in found if not _moved(one, found) and "" not in _only_side(one)]
    shown = sorted([*kept, *typed], key=lambda one: one.key)
    return [
        one
        for one in shown
        if not ignored(one.key)
        and not (
            one.key.endswith("image")
            and one.before.__class__ is str
            and one.after in {f"docker.io/{one.before}", f"{one.before}:latest"}
        )
    ]


def _leaves(node: object, path: str) -> Iterator[tuple[str, Json]]:
    if node.__class__ is dict or node.__class__ is list:
        members = node.items() if node.__class__ is dict else enumerate(node)
        for name, member in members:
            yield from _leaves(member, f"{path}.{name}" if path else str(name))
    elif node is not None:
        yield path, node


def _typed(value: object) -> str:
    kind = _GO_TYPES.get(value.__class__, "")
    return f"(type: {kind}) {value if kind == 'string' else f'%!s({kind}={sprint(value)})'}"


def _only_side(one: _FieldDifference) -> tuple[Json, ...]:
    """Return the only value of a key that is missing on the other side."""
    return (one.after,) if one.before is None else (one.before,) if one.after is None else ()


def _moved(one: _FieldDifference, found: list[_FieldDifference]) -> bool:
    """Return whether another element of the same list lost or gained the same value."""
    if not _only_side(one) or not _INDEX.search(one.key):
        return False
    place = re.compile(r"\.\d+\.".join(re.escape(part) for part in _INDEX.split(one.key)))
    return any(
        (other.after, other.before) == (one.before, one.after) and place.search(other.key)
        for other in found
    )


# Fields in which an object may differ from its manifest.
#
# Keys are dotted paths. A key is ignored if a pattern occurs anywhere in it; `*` in a pattern, and
# at its end, matches anything, as in upstream.
#
# Source of the rules: upstream pkg/engine/resources/default-config.yaml of Kyverno, and
# k8s-manifest-sigstore's own.


@cache
def _defaults() -> Mapping[str, list[str]]:
    """Return the fields that are always ignored, by kind; `*` for every kind."""
    return MappingProxyType(read_table(__file__, "ignored_fields.json"))


def _ignored_fields(
    obj: KubernetesObject, bindings: Iterable[IgnoredFields], domain: str
) -> Callable[[str], bool]:
    """Return a predicate: whether a key of the object is ignored, by default or by the rule."""
    defaults = _defaults()
    fields = [*defaults["*"], *defaults.get(object_key(obj).kind, ())]
    signed = ("message", "signature", "certificate", "bundle", "resourceBundleRef")
    fields += [f"metadata.annotations.{domain}/{name}*" for name in signed]
    for binding in bindings:
        if not binding.objects or any(_names(one, obj) for one in binding.objects):
            fields += binding.fields
    tests: list[Callable[[str], bool]] = []
    for field in fields:
        try:
            tests.append(partial(is_found, compile_regex(f"{field}*".replace("*", ".*"))))
        except RegexError:
            tests.append(field.__eq__)
    return lambda key: any(test(key) for test in tests)


def _names(reference: ManifestObject, obj: KubernetesObject) -> bool:
    api_version, *identity = object_key(obj)
    texts = (*split_api_version(api_version), *identity)
    return all(
        _matches(pattern.strip(), text) for pattern, text in zip(reference[1:], texts, strict=True)
    )


def _matches(pattern: str, text: str) -> bool:
    if pattern in {"", "*", text} or (pattern == "-" and not text):
        return True
    if pattern.endswith("*"):
        return text.startswith(pattern.rstrip("*"))
    return "," in pattern and any(_matches(part.strip(), text) for part in pattern.split(","))


RULE_TYPE = RuleType(
    ("validate", "manifests"),
    Phase.VALIDATE,
    _compile,
    # upstream ignores a body without attestors, and has no handler for a deletion
    counts=lambda rule: bool(
        rule.validate and rule.validate.manifests and rule.validate.manifests.attestors
    ),
    concerns=lambda _: lambda obj: obj is not None,
)
