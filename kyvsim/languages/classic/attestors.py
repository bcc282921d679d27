"""Whose signatures and attestations an image needs, and whether recorded ones are theirs.

upstream: pkg/engine/internal/imageverifier.go
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from kyvsim.engine.conditions import ConditionError, ConditionsResult, compile_conditions
from kyvsim.engine.context import JSONContext
from kyvsim.kubernetes.objects import Json
from kyvsim.kubernetes.regexes import RegexError, compile_regex, is_found
from kyvsim.kubernetes.wildcard import matches
from kyvsim.languages.classic.rule_type import RuleContext
from kyvsim.model.request import Attestation, Signature

# Attestors: whose signatures an image needs, and whether recorded signatures are theirs.
#
# Source of the rules: upstream pkg/engine/internal/imageverifier.go (`verifyAttestorSet`,
# `buildCosignVerifier`)

_PEM = re.compile(r"-----BEGIN [^-]+-----.*?-----END [^-]+-----", re.DOTALL)

Signatures: TypeAlias = Sequence[Signature]


class SignatureError(Exception):
    """Signatures that are missing or of another signer."""


def check_sets(sets: Iterable[Json], entry: Mapping[str, Json], signatures: Signatures) -> None:
    """Raise `SignatureError`, worded as upstream words it, unless every set is satisfied."""
    for index, attestors in enumerate(sets):
        _check_set(attestors, entry, signatures, f".attestors[{index}]")


def expand_keys(entries: Iterable[Json]) -> list[Json]:
    """Return the attestors, one with several public keys as several."""
    found: list[Json] = []
    for one in entries:
        keys = one.get("keys") or {}
        parts = _PEM.findall(keys.get("publicKeys") or "")
        if len(parts) > 1:
            found += [{**one, "keys": {**keys, "publicKeys": part}} for part in parts]
        else:
            found.append(one)
    return found


def required_count(attestors: Mapping[str, Json], entries: Sequence[Json]) -> int:
    """Return how many of a set's attestors have to agree: all by default."""
    return int(attestors.get("count") or len(entries))


def _check_set(
    attestors: Json, entry: Mapping[str, Json], signatures: Signatures, path: str
) -> None:
    entries = expand_keys(attestors.get("entries") or ())
    missing = required_count(attestors, entries)
    problems: list[str] = []
    for index, one in enumerate(entries):
        place = f"{path}.entries[{index}]"
        try:
            if one.get("attestor") is not None:
                _check_set(one["attestor"], entry, signatures, f"{place}.attestor")
            elif not signed_by(one, entry, signatures):
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


def authority_of(attestor: Json) -> str:
    """Return what an attestor is known by, as messages name it: `.keys`, or ""."""
    named = (name for name in ("keys", "certificates", "keyless") if attestor.get(name) is not None)
    return next((f".{name}" for name in named), "")


def signed_by(attestor: Json, entry: Mapping[str, Json], signatures: Signatures) -> bool:
    """Return whether one of the signatures is the attestor's."""
    wanted = attestor.get("annotations") or entry.get("annotations") or {}
    return any(
        _is_of(attestor, one) and all(one.annotations.get(k) == v for k, v in wanted.items())
        for one in signatures
    )


def _is_of(attestor: Json, signature: Signature) -> bool:
    for name, test in (("keys", _by_key), ("certificates", _by_certificate), ("keyless", _keyless)):
        spec = attestor.get(name)
        if spec is not None:
            return test(spec, signature)
    return True


def _by_key(keys: Json, signature: Signature) -> bool:
    secret = keys.get("secret") or {}
    name = f"k8s://{secret.get('namespace') or ''}/{secret.get('name') or ''}" if secret else ""
    return _same(keys.get("publicKeys") or name or keys.get("kms") or "", signature.key)


def _by_certificate(spec: Json, signature: Signature) -> bool:
    known = [text for text in (spec.get("cert"), spec.get("certChain")) if text]
    return any(_same(text, signature.certificate) for text in known)


def _keyless(spec: Json, signature: Signature) -> bool:
    if not (signature.issuer or signature.subject):
        return False
    return _matches_identity(
        spec.get("issuer"), spec.get("issuerRegExp"), signature.issuer
    ) and _matches_identity(spec.get("subject"), spec.get("subjectRegExp"), signature.subject)


def _matches_identity(pattern: str | None, expression: str | None, text: str) -> bool:
    """Return whether a string matches; without a pattern any does."""
    if expression:
        try:
            return is_found(compile_regex(expression), text)
        except RegexError as error:
            raise SignatureError(
                f"`{expression}` is not a valid regular expression: {error}"
            ) from error
    return not pattern or matches(pattern, text)


def _same(wanted: str, given: str) -> bool:
    return bool(wanted) and "".join(wanted.split()) == "".join(given.split())


# Attestations: statements about an image that a rule requires, and the conditions on them.
#
# Source of the rules: upstream pkg/engine/internal/imageverifier.go (`verifyAttestations`)

Conditions = Callable[[JSONContext], ConditionsResult]

_ANYONE: Mapping[str, Json] = MappingProxyType({"entries": ({},)})


class AttestationError(Exception):
    """Attestations that are missing or do not satisfy the conditions."""


class CompiledAttestation(NamedTuple):
    """One attestation that a rule requires."""

    conditions: Conditions | None


def compile_attestations(
    entry: Mapping[str, Json], context: RuleContext
) -> tuple[CompiledAttestation, ...]:
    """Return the conditions of an entry's attestations, compiled; the context is the entry's."""

    def compile_one(index: int, one: Json) -> CompiledAttestation:
        if not one.get("conditions"):
            return CompiledAttestation(None)
        trace = context.trace.at("attestations", index, "conditions")
        return CompiledAttestation(compile_conditions(one["conditions"], context.system, trace))

    return tuple(compile_one(*one) for one in enumerate(entry.get("attestations") or ()))


def check_attestations(
    entry: Mapping[str, Json],
    wanted: Sequence[CompiledAttestation],
    given: Sequence[Attestation],
    scope: JSONContext,
) -> JSONContext:
    """Return the context with the statements under their names.

    Raises `AttestationError` if an attestation is missing, unsigned or fails its conditions.
    """
    for index, (spec, conditions) in enumerate(zip(entry["attestations"], wanted, strict=True)):
        scope = _check_one(spec, (entry, conditions), given, (scope, f".attestations[{index}]"))
    return scope


def _check_one(
    spec: Json,
    asked: tuple[Mapping[str, Json], CompiledAttestation],
    given: Sequence[Attestation],
    where: tuple[JSONContext, str],
) -> JSONContext:
    (entry, wanted), (scope, path) = asked, where
    kind = spec.get("type") or spec.get("predicateType")
    if not kind:
        raise AttestationError(f"{path}: missing type")
    for number, attestors in enumerate(spec.get("attestors") or (_ANYONE,)):
        entries = expand_keys(attestors.get("entries") or ())
        required = required_count(attestors, entries)
        verified, problems = 0, []
        for position, one in enumerate(entries):
            # An empty attestor requires a statement by anyone.
            signed = [item for item in given if not one or signed_by(one, entry, item.signatures)]
            if signed and spec.get("name"):
                scope = scope.layer({spec["name"]: signed[0].predicate})
            problem = _attestation_problem(signed, kind, wanted, scope)
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
    signed: Sequence[Attestation], kind: str, wanted: CompiledAttestation, scope: JSONContext
) -> str:
    """Return what is wrong with the statements of an attestor, or ""."""
    if not signed:
        return "no matching attestations"
    statements = [one for one in signed if one.type == kind]
    if not statements:
        return f"attestions not found for predicate type {kind}"
    if wanted.conditions is None:
        return ""
    for one in statements:
        if one.predicate.__class__ is not dict:
            return "failed to check attestations: failed to extract predicate from statement"
        try:
            result = wanted.conditions(scope.layer(one.predicate))
        except ConditionError as error:
            return f"failed to check attestations: {error}"
        if not result.met:
            image = scope.root(frozenset())["image"]["reference"]
            return f"attestation checks failed for {image} and predicate {kind}: {result.messages}"
    return ""
