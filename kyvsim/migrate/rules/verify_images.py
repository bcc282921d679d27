"""`verifyImages`: images that somebody has to have signed, and what is said of them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from kyvsim.kubernetes.objects import Json
from kyvsim.kubernetes.pods import POD_SPEC_PATHS
from kyvsim.languages.classic.images import entries_of
from kyvsim.migrate.conditions import conditions_test
from kyvsim.migrate.expressions import Each, Test, opposite, some
from kyvsim.migrate.images.attestors import (
    IMAGE,
    Register,
    Statement,
    Wanted,
    agreed,
    says,
    statement_of,
)
from kyvsim.migrate.images.references import is_skipped, references_of
from kyvsim.migrate.messages import Message
from kyvsim.migrate.queries import Scope
from kyvsim.migrate.refusal import NotConvertible, within
from kyvsim.migrate.rules.draft import Given, Validation
from kyvsim.migrate.settings import actions_of
from kyvsim.model.migration import Condition

_LISTS: Final = "(images.containers + images.initContainers + images.ephemeralContainers)"
_CONFIGURED: Final = ("mutateDigest", "verifyDigest", "required")
_TOLD: Final = Condition(
    "message", "it names neither the image nor the attestor whose signature is missing"
)
_FORMATS: Final = Condition(
    "signature formats", "Kyverno finds the format of signatures and their place by itself"
)
_REGISTRY: Final = Condition("registry", "it answers both in the same way")


class Asked(NamedTuple):
    """What an entry asks for."""

    entry: Json
    signed: tuple[Wanted, ...]
    """Who has to have signed an image."""
    statements: tuple[Statement, ...]
    attestors: Mapping[str, Json]


def verify_images(given: Given) -> Sequence[Validation]:
    """Return the validations of signatures, then those of attestations and what they say."""
    if any(kind not in POD_SPEC_PATHS for kind in given.matching.kinds):
        raise NotConvertible(
            f"images of {', '.join(given.matching.kinds)} are not converted",
            "find them by an expression in `spec.images` of an ImageValidatingPolicy",
        )
    asked = asked_of(given.rule, given.scope)
    for note in _notes(asked.entry):
        given.scope.desk.note(note)
    skipped = is_skipped(IMAGE, asked.entry, given.scope.desk)
    return [
        Validation(Each(_LISTS, IMAGE, some([skipped, test])), Message(text))
        for test, text in within((0,), lambda: list(_tests(asked, given.scope)))
    ]


def image_fields(rule: Json, spec: Json, scope: Scope) -> Mapping[str, Json]:
    """Return what a policy on images says beside its validations."""
    asked = asked_of(rule, scope)
    entry = asked.entry
    action = {"validate": {**entry, "allowExistingViolations": False}}
    found = dict(actions_of(action, spec, scope))
    credentials = entry.get("imageRegistryCredentials") or {}
    if credentials:
        kept = ("allowInsecureRegistry", "providers", "secrets")
        found["credentials"] = {name: credentials[name] for name in kept if credentials.get(name)}
    references = references_of(entry, scope.desk)
    if references:
        found["matchImageReferences"] = references
    if asked.attestors:
        found["attestors"] = [{"name": name, **one} for name, one in asked.attestors.items()]
    if asked.statements:
        found["attestations"] = [one.data for one in asked.statements]
    wanted = {name: entry.get(name) is not False for name in _CONFIGURED}
    # The validations ask it already of every image that is not skipped.
    unskipped = wanted["required"] and not entry.get("skipImageReferences")
    found["validationConfigurations"] = {**wanted, "required": unskipped}
    return found


def asked_of(rule: Json, scope: Scope) -> Asked:
    """Return what the only entry of a rule asks for.

    Raises NotConvertible with the path from the list of entries.
    """
    entries = entries_of(rule)
    if len(entries) != 1:
        raise NotConvertible(
            "several entries in one rule have no twin: a policy is about one set of images",
            "write a rule for each entry",
            (1,),
        )
    (entry,) = entries
    register = Register(scope, entry, {})
    signed = within((0, "attestors"), register.wanted, entry.get("attestors") or ())
    if not entry.get("attestors") and not entry.get("attestations"):
        raise NotConvertible(
            "an entry that asks for no signature has no twin: an ImageValidatingPolicy needs one",
            "ask for digests with `image(container.image).containsDigest()` in a ValidatingPolicy",
            (0,),
        )
    statements = tuple(
        within((0, "attestations", index), statement_of, index, one, register)
        for index, one in enumerate(entry.get("attestations") or ())
    )
    return Asked(entry, tuple(signed), statements, register.known)


def _notes(entry: Json) -> Iterator[Condition]:
    yield _REGISTRY
    if entry.get("attestors") or entry.get("attestations"):
        yield _TOLD
    if entry.get("type") == "SigstoreBundle" or entry.get("cosignOCI11"):
        yield _FORMATS


def _tests(asked: Asked, scope: Scope) -> Iterator[tuple[Test, str]]:
    for wanted in asked.signed:
        test = agreed(f"verifyImageSignatures({IMAGE}, ", wanted)
        yield test, "failed to verify image signatures"
    written = asked.entry.get("attestations") or ()
    for index, (one, statement) in enumerate(zip(written, asked.statements, strict=True)):
        yield statement.signed, f"failed to verify attestations of type {_type(one)}"
        if one.get("conditions"):
            test = within(("attestations", index), says, one, statement, scope)
            yield test, f"attestation checks failed for predicate {_type(one)}"
    check = asked.entry.get("validate") or {}
    if check.get("deny"):
        named = zip(written, asked.statements, strict=True)
        names = {one["name"]: found.said for one, found in named if one.get("name")}
        about = scope._replace(names={**scope.names, **names}, taken=scope.taken | {IMAGE})
        steps = ("validate", "deny", "conditions")
        denied = within(steps, conditions_test, check["deny"].get("conditions"), about)
        yield opposite(denied), check.get("message") or "validation in verifyImages failed"


def _type(one: Json) -> str:
    return str(one.get("type") or one.get("predicateType"))
