"""Convert verifyImages rules to an ImageValidatingPolicy."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from kyvsim.kubernetes.image import DEFAULT_REGISTRY
from kyvsim.kubernetes.objects import Json, Path
from kyvsim.kubernetes.pods import POD_SPEC_PATHS
from kyvsim.kubernetes.wildcard import has_wildcard, matches
from kyvsim.languages.classic.images import expand_keys
from kyvsim.migrate.conditions import conditions_test
from kyvsim.migrate.context import (
    ConversionContext,
    NotConvertible,
    Scope,
    free_name,
    located,
    within,
)
from kyvsim.migrate.context_entries import LOOK_UP
from kyvsim.migrate.expressions import Quantified, Relation, Test, every, opposite, quoted, some
from kyvsim.migrate.queries import text_value, variable_name
from kyvsim.migrate.rules.results import ConversionInput, RuleMessage, ValidationEntry
from kyvsim.migrate.scalars import expression_of, like_one
from kyvsim.migrate.settings import actions_of
from kyvsim.migrate.values import Expr
from kyvsim.model.migration import ConversionCondition
from kyvsim.model.policy import PolicyFacts
from kyvsim.policy import images

# Convert `imageReferences` to the images that a policy matches.
#
# Rules match images with default registry and tag added; CEL policies match images as they are
# written.

_WRITTEN: Final = ConversionCondition(
    "image names",
    "images are compared as written: they must include the registry, and a tag or a digest but "
    "not both",
)


def _patterns(references: Iterable[str], context: ConversionContext) -> list[str]:
    """Return patterns that match all spellings of images."""
    found = []
    for text in references:
        spellings = [text]
        path, colon, tag = text.rpartition(":")
        if colon and "/" not in tag and matches(tag, "latest"):
            spellings.append(path)
        default = f"{DEFAULT_REGISTRY}/"
        shorter = (one.removeprefix(default) for one in spellings if one.startswith(default))
        found += [*spellings, *shorter]
    if any(map(_is_open, found)):
        context.note(_WRITTEN)
    return found


def _is_open(pattern: str) -> bool:
    """Return whether a pattern may match an image in one spelling and not in another."""
    host, slash, rest = pattern.partition("/")
    if not pattern.strip("*"):
        return False
    is_full = slash and not has_wildcard(host) and ("." in host or ":" in host)
    return not is_full or host == DEFAULT_REGISTRY or not rest.endswith("*") or rest.endswith(":*")


IMAGE: Final = "image"
"""The variable for an image in expressions."""
_REKOR: Final = "https://rekor.sigstore.dev"
"""The default of upstream."""


class Register(NamedTuple):
    """The attestors of one policy, by name, in order."""

    scope: Scope
    entry: images.ImageVerification
    """The entry of the rule to which they belong."""
    known: dict[str, dict[str, Json]]

    @property
    def is_notary(self) -> bool:
        """Whether the signatures are those of Notary."""
        return self.entry.type == "Notary"

    def signed(self, sets: Iterable[images.AttestorSet], call: str) -> list[Test]:
        """Return a test for each set of attestors: enough have signed; `call` lacks their list."""
        found: list[Test] = []
        for one in sets:
            names = []
            for attestor in one.entries:
                with located(attestor.path):
                    names += [self._name(part) for part in expand_keys([attestor])]
            listed = ", ".join(f"attestors.{name}" for name in names)
            found.append(Relation(f"{call}[{listed}])", ">=", str(one.required or len(names))))
        return found

    def _name(self, attestor: images.Attestor) -> str:
        """Return the name of an attestor; an unknown one is added."""
        base, made = _attestor(attestor, self)
        same = (name for name, other in self.known.items() if other == made)
        name = next(same, "") or free_name(base, self.known)
        self.known[name] = made
        return name


def _attestor(attestor: images.Attestor, register: Register) -> tuple[str, dict[str, object]]:
    authority = attestor.keys or attestor.certificates or attestor.keyless
    found: dict[str, object]
    match authority:
        case None:
            what = "attestors inside an attestor" if attestor.attestor else "an empty attestor"
            raise NotConvertible(
                f"{what} cannot be converted to an ImageValidatingPolicy",
                "use one set of attestors for each, or combine counts in an expression by hand",
                attestor.attestor.path if attestor.attestor else attestor.path,
            )
        case images.Keys():
            name, found = "key", {"key": within(authority.path, _by_key, authority, register)}
        case images.Keyless():
            name, found = "keyless", {"keyless": _keyless(authority)}
        case images.Certificates():
            texts = {"cert": authority.cert, "certChain": authority.cert_chain}
            with located(authority.path):
                if register.is_notary:
                    certs = _text(authority.cert or authority.cert_chain, register)
                    return "notary", {"notary": {"certs": certs}}
                made = {field: _text(text, register) for field, text in texts.items() if text}
            name, found = "certificate", {"certificate": made}
    found["ctlog"] = _logs(authority.rekor, authority.ctlog)
    annotations = attestor.annotations or register.entry.annotations
    if annotations:
        found["annotations"] = annotations
    repository = attestor.repository or register.entry.data.get("repository")
    if repository:
        found["source"] = {"repository": repository}
    return name, {"cosign": found}


def _by_key(keys: images.Keys, register: Register) -> dict[str, object]:
    key: dict[str, object]
    if keys.secret:
        register.scope.context.note(LOOK_UP)
        names = (quoted(str(keys.secret.get(one) or "")) for one in ("namespace", "name"))
        read = f"resource.Get('v1', 'secrets', {', '.join(names)}).data['cosign.pub']"
        key = {"expression": f"string(base64.decode({read}))"}
    elif keys.kms:
        key = {"kms": keys.kms}
    else:
        found = _text(keys.public_keys, register)
        key = found if "expression" in found else {"data": found["value"]}
    algorithm = keys.signature_algorithm
    return {**key, "hashAlgorithm": algorithm} if algorithm else key


def _keyless(keyless: images.Keyless) -> dict[str, object]:
    identity: dict[str, object] = {}
    for name, text, regular in (
        ("issuer", keyless.issuer, keyless.issuer_reg_exp),
        ("subject", keyless.subject, keyless.subject_reg_exp),
    ):
        _refuse_variables(text + regular, (*keyless.path, name))
        if regular:
            identity[f"{name}RegExp"] = regular
        elif not text or has_wildcard(text):
            identity[f"{name}RegExp"] = expression_of(text) if text else ".+"
        else:
            identity[name] = text
    found: dict[str, object] = {"identities": [identity]}
    if keyless.roots:
        _refuse_variables(keyless.roots, (*keyless.path, "roots"))
        found["roots"] = keyless.roots
    if keyless.additional_extensions:
        found["additionalExtensions"] = keyless.additional_extensions
    return found


def _logs(rekor: images.Rekor | None, ctlog: images.CTLog | None) -> dict[str, object]:
    """Return the transparency logs that must contain a signature."""
    found: dict[str, object] = {"url": rekor.url if rekor and rekor.url else _REKOR}
    texts: list[tuple[str, str, Path]] = []
    if rekor:
        _refuse_variables(rekor.url, (*rekor.path, "url"))
        found |= {"insecureIgnoreTlog": True} if rekor.ignore_tlog else {}
        texts.append(("rekorPubKey", rekor.pubkey, (*rekor.path, "pubkey")))
    if ctlog:
        found |= {"insecureIgnoreSCT": True} if ctlog.ignore_sct else {}
        texts.append(("ctLogPubKey", ctlog.pubkey, (*ctlog.path, "pubkey")))
        texts.append(("tsaCertChain", ctlog.tsa_cert_chain, (*ctlog.path, "tsaCertChain")))
    for name, text, path in texts:
        if text:
            _refuse_variables(text, path)
            found[name] = text
    return found


def _text(text: str, register: Register) -> dict[str, object]:
    """Return a constant string, or the expression for it."""
    if "{{" not in text:
        return {"value": text}
    found = text_value(text, register.scope)
    return {"value": str(found.constant[0])} if found.constant else {"expression": found.text}


def _refuse_variables(text: str, path: Path) -> None:
    if "{{" in text:
        raise NotConvertible(
            "a variable here cannot be converted: an ImageValidatingPolicy takes no "
            "expression in this field",
            "write the value itself",
            path,
        )


class Statement(NamedTuple):
    """An attestation that a rule requires."""

    data: Mapping[str, object]
    """Its entry in the CEL policy."""
    signed: Test
    """The test that it exists and is signed."""
    payload: Expr
    """Its payload."""


def statement_of(index: int, one: images.Attestation, register: Register) -> Statement:
    """Return an attestation; `index` is used to name it if it has no name."""
    name = variable_name(one.name) if one.name else f"statement{index + 1}"
    if not any(each.entries for each in one.attestors):
        raise NotConvertible(
            "an attestation without attestors cannot be converted to CEL",
            "name the attestors whose signatures count",
            one.path,
        )
    notary = register.is_notary
    call = f"verifyAttestationSignatures({IMAGE}, attestations.{name}, "
    payload = f"extractPayload({IMAGE}, attestations.{name})"
    kind = one.type or one.predicate_type
    return Statement(
        data={"name": name, ("referrer" if notary else "intoto"): {"type": kind}},
        signed=every(register.signed(one.attestors, call)),
        payload=Expr(payload if notary else f"{payload}.predicate"),
    )


_LISTS: Final = "(images.containers + images.initContainers + images.ephemeralContainers)"
_TOLD: Final = ConversionCondition(
    "message", "it names neither the image nor the attestor whose signature is missing"
)
_FORMATS: Final = ConversionCondition(
    "signature formats", "Kyverno detects the format and location of signatures itself"
)
_REGISTRY: Final = ConversionCondition(
    "registry", "the registry must return the same data to the policy and to its conversion"
)


class _Verification(NamedTuple):
    entry: images.ImageVerification
    signed: tuple[Test, ...]
    statements: tuple[Statement, ...]
    attestors: Mapping[str, Mapping[str, Json]]


def verify_images(
    entries: Sequence[images.ImageVerification], given: ConversionInput
) -> Sequence[ValidationEntry]:
    """Return the validations of signatures, then those of attestations and their payloads."""
    if any(kind not in POD_SPEC_PATHS for kind in given.matching.kinds):
        raise NotConvertible(
            f"converting rules for the images of {', '.join(given.matching.kinds)} is not "
            "supported",
            "find them by an expression in `spec.images` of an ImageValidatingPolicy",
        )
    verified = _verification(entries, given.scope)
    entry, context = verified.entry, given.scope.context
    context.note(_REGISTRY)
    if entry.attestors or entry.attestations:
        context.note(_TOLD)
    if entry.type == "SigstoreBundle" or entry.data.get("cosignOCI11"):
        context.note(_FORMATS)
    # Skipped images need digests, too: the policy also matches them.
    skipped = some(like_one(IMAGE, _patterns(entry.skip_image_references, context)))
    return [
        ValidationEntry(Quantified(_LISTS, IMAGE, some([skipped, test])), RuleMessage(text))
        for test, text in within(entry.path, lambda: list(_tests(verified, given.scope)))
    ]


def image_fields(
    entries: Sequence[images.ImageVerification], policy: PolicyFacts, scope: Scope
) -> Mapping[str, object]:
    """Return the fields of an image policy other than its validations."""
    verified = _verification(entries, scope)
    entry = verified.entry
    found = actions_of(entry, policy, scope)
    credentials = entry.data.get("imageRegistryCredentials") or {}
    if credentials:
        kept = ("allowInsecureRegistry", "providers", "secrets")
        found["credentials"] = {name: credentials[name] for name in kept if credentials.get(name)}
    patterns = _patterns(entry.image_references, scope.context)
    if patterns and all(one.strip("*") for one in patterns):  # otherwise all images match
        found["matchImageReferences"] = [{"glob": one} for one in patterns]
    if verified.attestors:
        found["attestors"] = [{"name": name, **one} for name, one in verified.attestors.items()]
    if verified.statements:
        found["attestations"] = [one.data for one in verified.statements]
    found["validationConfigurations"] = {
        "mutateDigest": entry.mutate_digest is not False,
        "verifyDigest": entry.verify_digest is not False,
        # The validations already require it of every image that is not skipped.
        "required": entry.required is not False and not entry.skip_image_references,
    }
    return found


def _verification(entries: Sequence[images.ImageVerification], scope: Scope) -> _Verification:
    (entry, *others) = entries
    if others:
        raise NotConvertible(
            "several entries in one rule cannot be converted: a policy has one set of images",
            "use a rule for each entry",
            others[0].path,
        )
    register = Register(scope, entry, {})
    call = f"verifyImageSignatures({IMAGE}, "
    signed = register.signed(entry.attestors, call)
    if not entry.attestors and not entry.attestations:
        raise NotConvertible(
            "an entry without attestors cannot be converted: an ImageValidatingPolicy needs one",
            "check for digests with `image(container.image).containsDigest()` in a "
            "ValidatingPolicy",
            entry.path,
        )
    statements = tuple(
        statement_of(index, one, register) for index, one in enumerate(entry.attestations)
    )
    return _Verification(entry, tuple(signed), statements, register.known)


def _tests(verified: _Verification, scope: Scope) -> Iterator[tuple[Test, str]]:
    for test in verified.signed:
        yield test, "failed to verify image signatures"
    entry, taken = verified.entry, scope.taken | {IMAGE}
    pairs = list(zip(entry.attestations, verified.statements, strict=True))
    for one, statement in pairs:
        kind = one.type or one.predicate_type
        yield statement.signed, f"failed to verify attestations of type {kind}"
        if one.conditions and one.conditions.groups:
            # Names in these conditions are fields of the payload.
            about = scope._replace(rest=statement.payload, taken=taken)
            blocks = (one.conditions._replace(groups=(each,)) for each in one.conditions.groups)
            test = every(conditions_test(block, about).test for block in blocks)
            yield test, f"attestation checks failed for predicate {kind}"
    check = entry.validate
    if check and check.deny and check.deny.conditions:
        names = {one.name: statement.payload for one, statement in pairs if one.name}
        about = scope._replace(names={**scope.names, **names}, taken=taken)
        denied = conditions_test(check.deny.conditions, about).test
        yield opposite(denied), check.message or "validation in verifyImages failed"
