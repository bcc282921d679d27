"""`validate.manifests`: the object is what a signed manifest in its annotations says.

Signatures by public keys need no network. A keyless signature or certificate, a bundle in a
registry, a key in a Secret or a KMS, and a dry run need what kyvsim does not have: they end in an
error that says so, a dry run is left out, as upstream leaves it out without permission for it.
Source of the rules: upstream pkg/engine/handlers/validation/validate_manifest.go.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from kyvsim.engine.compile.compiled import (
    CompiledBody,
    Evaluation,
    Outcome,
    errored,
    failed,
    passed,
)
from kyvsim.kubernetes.go_text import to_json
from kyvsim.kubernetes.numbers import with_floats
from kyvsim.kubernetes.objects import Json, annotations
from kyvsim.languages.classic.images.attestors import authority_of, expand_keys, required_count
from kyvsim.languages.classic.manifests.difference import Difference, differences, told
from kyvsim.languages.classic.manifests.ignored import ignored_fields
from kyvsim.languages.classic.manifests.message import (
    MessageError,
    SignedMessage,
    manifests_for,
    read_message,
)
from kyvsim.languages.classic.manifests.signatures import KeyProblem, signature_problem
from kyvsim.languages.classic.rule_type import RuleContext

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
    except MessageError as error:
        text = f"{place}: YAML manifest not found for this resource: {error}"
        raise (_UnfitError if error.missing else _ManifestError)(text) from error
    changed = _changes(signed, manifests)
    _check_signatures(key, message, place)
    if changed:
        raise _UnfitError(f"{place}: failed to verify signature. diff found; {told(changed)}")
    return "singed by a valid signer: "


def _public_key(signed: _Signed, attestor: Json, place: str) -> str:
    stored = attestor.get("repository") or signed.spec.get("repository")
    if stored or f"{signed.domain}/resourceBundleRef" in annotations(signed.object):
        raise _ManifestError(
            f"{place}: the signatures are in a registry, and kyvsim asks no registry"
        )
    keys = attestor.get("keys")
    if keys is None:
        raise _ManifestError(
            f"{place}: kyvsim verifies manifests with public keys only; certificates and keyless "
            "signatures need a transparency log"
        )
    return keys.get("publicKeys") or ""


def _changes(signed: _Signed, manifests: Iterable[Json]) -> list[Difference]:
    """Return how the object differs from the first manifest; [] where it agrees with any."""
    bindings = signed.spec.get("ignoreFields") or ()
    ignored = ignored_fields(signed.object, bindings, signed.domain)
    # Both are compared as JSON text has them, in which all numbers are floats.
    obj = with_floats(signed.object)
    found = [differences(manifest, obj, ignored) for manifest in manifests]
    return found[0] if all(found) else []


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
