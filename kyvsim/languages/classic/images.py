"""Images of `verifyImages` rules: their extraction, signatures and attestations.

upstream: pkg/utils/api/image.go, pkg/engine/utils/image.go, pkg/engine/internal/imageverifier.go
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

from kyvsim.engine.conditions import ConditionError, ConditionsResult, compile_conditions
from kyvsim.engine.context import JSONContext
from kyvsim.engine.context.images import (
    ImageError,
    ImageExtractor,
    Images,
    extracted_images,
    pod_images,
)
from kyvsim.jmespath import QueryError, System, compile_query
from kyvsim.kubernetes.objects import Json, KubernetesObject, text_field
from kyvsim.kubernetes.regexes import RegexError, compile_regex, is_found
from kyvsim.kubernetes.wildcard import matches
from kyvsim.languages.classic.rule_type import RuleContext
from kyvsim.model.values import Attestation, Signature
from kyvsim.policy.images import Attestor, AttestorSet, ImageVerification
from kyvsim.policy.rule import RuleNode


def image_fits(image: str, patterns: Iterable[str]) -> bool:
    """Return whether an image's reference matches one of the wildcard patterns."""
    return any(matches(pattern, image) for pattern in patterns)


def compile_reader(rule: RuleNode, system: System) -> Callable[[Json], Images]:
    """Return a function that extracts the images that a rule checks; it raises `QueryError`."""
    configured, release = rule.image_extractors, system.release
    by_kind: dict[str, list[ImageExtractor]] = {}
    for group in configured or ():
        by_kind[group.kind] = []
        for one in group.extractors:
            fields = [part.strip(" ") for part in one.field_path.split("/") if part.strip(" ")]
            value = one.value or (fields.pop() if fields else "")
            query = compile_query(one.jmes_path, system) if one.jmes_path else None
            extractor = ImageExtractor(one.name or "custom", tuple(fields), one.key, value, query)
            by_kind[group.kind].append(extractor)

    def read(obj: KubernetesObject) -> Images:
        kind = text_field(obj, "kind")
        if kind in by_kind and not by_kind[kind]:
            raise QueryError(f"failed to extract images: no extractors found for {kind}")
        if not obj:
            return {}
        try:
            if kind in by_kind:
                return extracted_images(obj, by_kind[kind], release)
            return pod_images(obj, release)
        except ImageError as error:
            # Upstream reports a message with extractors; its command line finds none without them.
            problem = error.message if configured is not None else f"{error.place}: {error.message}"
            raise QueryError(f"failed to extract images: {problem}") from error

    return read


Image: TypeAlias = Mapping[str, Json]


def matching(entries: Iterable[ImageVerification], images: Images) -> list[Image]:
    """Return the images that entries match; an image occurs once for each entry."""
    return [
        image
        for group in images.values()
        for image in group.values()
        for entry in entries
        if image_fits(image["reference"], entry.image_references)
    ]


def compile_concerns(context: RuleContext) -> Callable[[Json], bool]:
    """Return a predicate: whether an object has an image of the rule, or an unreadable image."""
    entries = context.rule.tree.verify_images or ()
    read = compile_reader(context.rule.tree, context.system)

    def concerns(obj: KubernetesObject) -> bool:
        try:
            return bool(matching(entries, read(obj)))
        except QueryError:
            return True

    return concerns


# upstream: pkg/engine/internal/imageverifier.go (`verifyAttestorSet`,
# `buildCosignVerifier`)

_PEM = re.compile(r"-----BEGIN [^-]+-----.*?-----END [^-]+-----", re.DOTALL)


class SignatureError(Exception):
    """Signatures are missing or by another signer."""


def expand_keys(entries: Iterable[Attestor]) -> list[Attestor]:
    """Return the attestors; one with several public keys is split."""
    found: list[Attestor] = []
    for one in entries:
        keys = one.keys
        parts = _PEM.findall(keys.public_keys) if keys else []
        if keys and len(parts) > 1:
            found += [one._replace(keys=keys._replace(public_keys=part)) for part in parts]
        else:
            found.append(one)
    return found


def check_set(
    attestors: AttestorSet,
    annotations: Mapping[str, str],
    signatures: Sequence[Signature],
    path: str,
) -> None:
    """Raise `SignatureError`, with upstream's message, unless a set is satisfied.

    `annotations` are the required annotations of attestors without their own.
    """
    entries = expand_keys(attestors.entries)
    missing = attestors.required or len(entries)
    problems: list[str] = []
    for index, one in enumerate(entries):
        place = f"{path}.entries[{index}]"
        try:
            if one.attestor is not None:
                check_set(one.attestor, annotations, signatures, f"{place}.attestor")
            elif not signed_by(one, annotations, signatures):
                what = "no matching signatures" if signatures else "no signatures found"
                problems.append(f"{place}{authority_of(one)}: {what}")
                continue
        except SignatureError as error:
            problems.append(str(error))
            continue
        missing -= 1
        if missing <= 0:
            return
    raise SignatureError("; ".join(problems))


def authority_of(attestor: Attestor) -> str:
    """Return the attestor's source of authority as messages name it: `.keys`, or ""."""
    authorities = {
        ".keys": attestor.keys,
        ".certificates": attestor.certificates,
        ".keyless": attestor.keyless,
    }
    return next((name for name, one in authorities.items() if one is not None), "")


def signed_by(
    attestor: Attestor, annotations: Mapping[str, str], signatures: Sequence[Signature]
) -> bool:
    """Return whether one of the signatures is the attestor's."""
    expected = attestor.annotations or annotations
    keys, certificates, keyless = attestor.keys, attestor.certificates, attestor.keyless

    def is_by(one: Signature) -> bool:
        if keys:
            secret = keys.secret or {}
            name = f"k8s://{secret.get('namespace') or ''}/{secret.get('name') or ''}"
            return _same(keys.public_keys or (name if secret else "") or keys.kms, one.key)
        if certificates:
            known = filter(None, (certificates.cert, certificates.cert_chain))
            return any(_same(text, one.certificate) for text in known)
        return keyless is None or (
            bool(one.issuer or one.subject)
            and _matches_identity(keyless.issuer, keyless.issuer_reg_exp, one.issuer)
            and _matches_identity(keyless.subject, keyless.subject_reg_exp, one.subject)
        )

    return any(
        is_by(one) and all(one.annotations.get(name) == value for name, value in expected.items())
        for one in signatures
    )


def _matches_identity(pattern: str, expression: str, text: str) -> bool:
    """Return whether a string matches; without a pattern every string does."""
    if expression:
        try:
            return is_found(compile_regex(expression), text)
        except RegexError as error:
            raise SignatureError(
                f"`{expression}` is not a valid regular expression: {error}"
            ) from error
    return not pattern or matches(pattern, text)


def _same(expected: str, given: str) -> bool:
    return bool(expected) and "".join(expected.split()) == "".join(given.split())


# upstream: pkg/engine/internal/imageverifier.go (`verifyAttestations`)

Conditions = Callable[[JSONContext], ConditionsResult]


class AttestationError(Exception):
    """Attestations that are missing or do not satisfy the conditions."""


def compile_attestations(
    entry: ImageVerification, context: RuleContext
) -> tuple[Conditions | None, ...]:
    """Return the compiled conditions of an entry's attestations."""
    blocks = (one.conditions for one in entry.attestations)
    return tuple(
        compile_conditions(block, context.system, context.trace.to(block.path))
        if block and block.groups
        else None
        for block in blocks
    )


def check_attestations(
    entry: ImageVerification,
    compiled: Sequence[Conditions | None],
    given: Sequence[Attestation],
    scope: JSONContext,
) -> JSONContext:
    """Return the context with the statements under their names.

    Raises `AttestationError` if an attestation is missing, unsigned or fails its conditions.
    """
    for index, (spec, conditions) in enumerate(zip(entry.attestations, compiled, strict=True)):
        path = f".attestations[{index}]"
        kind = spec.type or spec.predicate_type
        if not kind:
            raise AttestationError(f"{path}: missing type")
        anyone = AttestorSet((), None, (Attestor(()),))
        for number, attestors in enumerate(spec.attestors or (anyone,)):
            entries = expand_keys(attestors.entries)
            required = attestors.required or len(entries)
            verified, problems = 0, []
            for position, one in enumerate(entries):
                # An empty attestor requires a statement by any signer.
                is_anyone = not any(one[1:])
                signed = [
                    it
                    for it in given
                    if is_anyone or signed_by(one, entry.annotations, it.signatures)
                ]
                if signed and spec.name:
                    scope = scope.layer({spec.name: signed[0].predicate})
                problem = _attestation_problem(signed, kind, conditions, scope)
                if problem:
                    place = f"{path}.attestors[{number}].entries[{position}]{authority_of(one)}"
                    problems.append(f"{place}: {problem}")
                verified += not problem
                if verified >= required:
                    break
            if verified < required:
                raise AttestationError(
                    f"image attestations verification failed, verifiedCount: {verified}, "
                    f"requiredCount: {required}, error: {'; '.join(problems)}"
                )
    return scope


def _attestation_problem(
    signed: Sequence[Attestation], kind: str, conditions: Conditions | None, scope: JSONContext
) -> str:
    """Return why an attestor's statements are not accepted, or ""."""
    if not signed:
        return "no matching attestations"
    statements = [one for one in signed if one.type == kind]
    if not statements:
        return f"attestions not found for predicate type {kind}"
    if conditions is None:
        return ""
    for one in statements:
        if one.predicate.__class__ is not dict:
            return "failed to check attestations: failed to extract predicate from statement"
        try:
            result = conditions(scope.layer(one.predicate))
        except ConditionError as error:
            return f"failed to check attestations: {error}"
        if not result.met:
            image = scope.root(frozenset())["image"]["reference"]
            return f"attestation checks failed for {image} and predicate {kind}: {result.messages}"
    return ""
