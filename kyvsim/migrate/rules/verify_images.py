"""VerifyImages rules → an ImageValidatingPolicy."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from kyvsim.kubernetes.image import DEFAULT_REGISTRY
from kyvsim.kubernetes.objects import Json
from kyvsim.kubernetes.pods import POD_SPEC_PATHS
from kyvsim.kubernetes.wildcard import has_wildcard, matches
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

_PEM = re.compile(r"-----BEGIN [^-]+-----.*?-----END [^-]+-----", re.DOTALL)


def entries_of(rule: Mapping[str, Json]) -> list[Json]:
    """Return the entries of a rule, with `image`, `key` and `issuer` as they are written today."""
    found = []
    for entry in rule.get("verifyImages") or ():
        image, key, issuer = (entry.get(name) for name in ("image", "key", "issuer"))
        changed = dict(entry)
        if image:
            changed["imageReferences"] = [*(entry.get("imageReferences") or ()), image]
        annotations = entry.get("annotations")
        if key or issuer or (image and annotations):
            attestor: dict[str, Json] = {"annotations": annotations} if annotations else {}
            if key:
                attestor["keys"] = {"publicKeys": key}
            elif issuer:
                attestor["keyless"] = {
                    "issuer": issuer,
                    "subject": entry.get("subject") or "",
                    "roots": entry.get("roots") or "",
                }
            if not entry.get("attestations"):
                given = entry.get("attestors") or ()
                changed["attestors"] = [*given, {"entries": [attestor]}]
        found.append(changed)
    return found


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


# `imageReferences` → which images a policy is about.
#
# Rules know images by registry, path, and tag or digest, filled in where they are not written; a
# policy in CEL knows them as they are written.

_WRITTEN: Final = ConversionCondition(
    "image names",
    "images are compared as written: they must include the registry, and a tag or a digest but "
    "not both",
)


def _patterns(references: Json, context: ConversionContext) -> list[str]:
    """Return patterns of images in all of their spellings."""
    found = []
    for text in references or ():
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
    """Return whether a pattern may fit an image in one spelling and not in another."""
    host, slash, rest = pattern.partition("/")
    if not pattern.strip("*"):
        return False
    is_full = slash and not has_wildcard(host) and ("." in host or ":" in host)
    return not is_full or host == DEFAULT_REGISTRY or not rest.endswith("*") or rest.endswith(":*")


# Attestors of image rules → the attestors of a policy: keys, certificates, identities.

IMAGE: Final = "image"
"""What an image is called in expressions."""
_REKOR: Final = "https://rekor.sigstore.dev"
"""The default of upstream."""
_ANYONE: Final = ".+"


class Register(NamedTuple):
    """The attestors of one policy, by their names, in order."""

    scope: Scope
    entry: Json
    """The entry of the rule that they are for."""
    known: dict[str, dict[str, Json]]

    def signed(self, sets: Json, call: str) -> list[Test]:
        """Return a test for each set of attestors: enough have signed; `call` lacks their list."""
        found: list[Test] = []
        for index, one in enumerate(sets):
            names = []
            for place, attestor in enumerate(one.get("entries") or ()):
                with located(index, "entries", place):
                    names += [self._name(part) for part in expand_keys([attestor])]
            listed = ", ".join(f"attestors.{name}" for name in names)
            least = required_count(one, names)
            found.append(Relation(f"{call}[{listed}])", ">=", str(least)))
        return found

    def _name(self, attestor: Json) -> str:
        """Return the name of an attestor, which is taken over unless it is there already."""
        base, made = _attestor(attestor, self)
        same = (name for name, other in self.known.items() if other == made)
        name = next(same, "") or free_name(base, self.known)
        self.known[name] = made
        return name


def _attestor(attestor: Json, register: Register) -> tuple[str, dict[str, Json]]:
    field = next((one for one in _KINDS if attestor.get(one) is not None), "")
    if not field:
        nested = attestor.get("attestor")
        what = "attestors inside an attestor" if nested else "an empty attestor"
        raise NotConvertible(
            f"{what} cannot be converted to an ImageValidatingPolicy",
            "use one set of attestors for each, or combine counts in an expression by hand",
            ("attestor",) if nested else (),
        )
    spec = attestor[field]
    with located(field):
        if field == "certificates" and register.entry.get("type") == "Notary":
            certs = _text(spec.get("cert") or spec.get("certChain") or "", register)
            return "notary", {"notary": {"certs": certs}}
        found = _KINDS[field](attestor, spec, register)
    found["ctlog"] = _logs(spec)
    annotations = attestor.get("annotations") or register.entry.get("annotations")
    if annotations:
        found["annotations"] = annotations
    repository = attestor.get("repository") or register.entry.get("repository")
    if repository:
        found["source"] = {"repository": repository}
    return field if field == "keyless" else field.removesuffix("s"), {"cosign": found}


def _by_key(attestor: Json, spec: Json, register: Register) -> dict[str, Json]:
    key: dict[str, Json]
    if spec.get("secret"):
        register.scope.context.note(LOOK_UP)
        names = (quoted(str(spec["secret"].get(one) or "")) for one in ("namespace", "name"))
        read = f"resource.Get('v1', 'secrets', {', '.join(names)}).data['cosign.pub']"
        key = {"expression": f"string(base64.decode({read}))"}
    elif spec.get("kms"):
        key = {"kms": spec["kms"]}
    else:
        found = _text(spec.get("publicKeys") or "", register)
        key = found if "expression" in found else {"data": found["value"]}
    algorithm = spec.get("signatureAlgorithm") or attestor.get("signatureAlgorithm")
    return {"key": {**key, **({"hashAlgorithm": algorithm} if algorithm else {})}}


def _keyless(_attestor: Json, spec: Json, _register: Register) -> dict[str, Json]:
    identity: dict[str, Json] = {}
    for name in ("issuer", "subject"):
        text, regular = spec.get(name) or "", spec.get(f"{name}RegExp") or ""
        _refuse_variables(text + regular, name)
        if regular:
            identity[f"{name}RegExp"] = regular
        elif not text or has_wildcard(text):
            identity[f"{name}RegExp"] = expression_of(text) if text else _ANYONE
        else:
            identity[name] = text
    found: dict[str, Json] = {"identities": [identity]}
    if spec.get("roots"):
        _refuse_variables(spec["roots"], "roots")
        found["roots"] = spec["roots"]
    if spec.get("additionalExtensions"):
        found["additionalExtensions"] = spec["additionalExtensions"]
    return {"keyless": found}


_KINDS: Final[Mapping[str, Callable[[Json, Json, Register], dict[str, Json]]]] = MappingProxyType(
    {
        "keys": _by_key,
        "certificates": lambda _, spec, register: {
            "certificate": {
                name: _text(spec[name], register)
                for name in ("cert", "certChain")
                if spec.get(name)
            }
        },
        "keyless": _keyless,
    }
)
"""What makes the `cosign` of an attestor, in the order in which a kind is looked for."""


def _logs(spec: Json) -> dict[str, Json]:
    """Return which logs have to know of a signature."""
    rekor, ctlog = spec.get("rekor") or {}, spec.get("ctlog") or {}
    url = rekor.get("url") or _REKOR
    _refuse_variables(url, "rekor", "url")
    found: dict[str, Json] = {"url": url}
    found |= {"insecureIgnoreTlog": True} if rekor.get("ignoreTlog") else {}
    found |= {"insecureIgnoreSCT": True} if ctlog.get("ignoreSCT") else {}
    for name, text in (
        ("rekorPubKey", rekor.get("pubkey")),
        ("ctLogPubKey", ctlog.get("pubkey")),
        ("tsaCertChain", ctlog.get("tsaCertChain")),
    ):
        if text:
            _refuse_variables(text, name)
            found[name] = text
    return found


def _text(text: str, register: Register) -> dict[str, Json]:
    """Return a text as it is written, or the expression that makes it."""
    if "{{" not in text:
        return {"value": text}
    found = text_value(text, register.scope)
    return {"value": str(found.constant[0])} if found.constant else {"expression": found.text}


def _refuse_variables(text: str, *steps: str) -> None:
    if "{{" in text:
        raise NotConvertible(
            (
                "a variable here cannot be converted: an ImageValidatingPolicy takes no "
                "expression in this field"
            ),
            "write the value itself",
            steps,
        )


# Attestations of image rules → those of a policy, and the tests of their payloads.


class Statement(NamedTuple):
    """One attestation that a rule requires."""

    name: str
    data: Json
    """It as a policy in CEL lists it."""
    signed: Test
    """The test that it is there, and signed."""
    payload: Expr
    """Its payload."""


def statement_of(index: int, one: Json, register: Register) -> Statement:
    """Return an attestation; `index` names unnamed ones."""
    kind = one.get("type") or one.get("predicateType") or ""
    name = variable_name(one["name"]) if one.get("name") else f"statement{index + 1}"
    sets = one.get("attestors") or ()
    if not any(each.get("entries") for each in sets):
        raise NotConvertible(
            "an attestation without attestors cannot be converted to CEL",
            "name the attestors whose signatures count",
        )
    notary = register.entry.get("type") == "Notary"
    call = f"verifyAttestationSignatures({IMAGE}, attestations.{name}, "
    payload = f"extractPayload({IMAGE}, attestations.{name})"
    return Statement(
        name=name,
        data={"name": name, ("referrer" if notary else "intoto"): {"type": kind}},
        signed=every(within(("attestors",), register.signed, sets, call)),
        payload=Expr(payload if notary else f"{payload}.predicate"),
    )


# `verifyImages`: signatures and attestations of images.

_LISTS: Final = "(images.containers + images.initContainers + images.ephemeralContainers)"
_CONFIGURED: Final = ("mutateDigest", "verifyDigest", "required")
_TOLD: Final = ConversionCondition(
    "message", "it names neither the image nor the attestor whose signature is missing"
)
_FORMATS: Final = ConversionCondition(
    "signature formats", "Kyverno detects the format and location of signatures itself"
)
_REGISTRY: Final = ConversionCondition(
    "registry", "the registry must return the same data for both"
)


class VerificationEntry(NamedTuple):
    """The requirements of an entry."""

    entry: Json
    signed: tuple[Test, ...]
    statements: tuple[Statement, ...]
    attestors: Mapping[str, Json]


def verify_images(given: ConversionInput) -> Sequence[ValidationEntry]:
    """Return the validations of signatures, then those of attestations and their payloads."""
    if any(kind not in POD_SPEC_PATHS for kind in given.matching.kinds):
        raise NotConvertible(
            (
                f"converting rules for the images of {', '.join(given.matching.kinds)} is not "
                "supported"
            ),
            "find them by an expression in `spec.images` of an ImageValidatingPolicy",
        )
    verified = verification_entry(given.rule, given.scope)
    entry, context = verified.entry, given.scope.context
    context.note(_REGISTRY)
    if entry.get("attestors") or entry.get("attestations"):
        context.note(_TOLD)
    if entry.get("type") == "SigstoreBundle" or entry.get("cosignOCI11"):
        context.note(_FORMATS)
    # Digests are required of skipped images, too: the policy is about these as well.
    skipped = some(like_one(IMAGE, _patterns(entry.get("skipImageReferences"), context)))
    return [
        ValidationEntry(Quantified(_LISTS, IMAGE, some([skipped, test])), RuleMessage(text))
        for test, text in within((0,), lambda: list(_tests(verified, given.scope)))
    ]


def image_fields(rule: Json, spec: Json, scope: Scope) -> Mapping[str, Json]:
    """Return the fields of a policy on images beside its validations."""
    verified = verification_entry(rule, scope)
    entry = verified.entry
    action = {"validate": {**entry, "allowExistingViolations": False}}
    found = dict(actions_of(action, spec, scope))
    credentials = entry.get("imageRegistryCredentials") or {}
    if credentials:
        kept = ("allowInsecureRegistry", "providers", "secrets")
        found["credentials"] = {name: credentials[name] for name in kept if credentials.get(name)}
    patterns = _patterns(entry.get("imageReferences"), scope.context)
    if patterns and all(one.strip("*") for one in patterns):  # else all images are meant
        found["matchImageReferences"] = [{"glob": one} for one in patterns]
    if verified.attestors:
        found["attestors"] = [{"name": name, **one} for name, one in verified.attestors.items()]
    if verified.statements:
        found["attestations"] = [one.data for one in verified.statements]
    required = {name: entry.get(name) is not False for name in _CONFIGURED}
    # The validations already require it of every image that is not skipped.
    unskipped = required["required"] and not entry.get("skipImageReferences")
    found["validationConfigurations"] = {**required, "required": unskipped}
    return found


def verification_entry(rule: Json, scope: Scope) -> VerificationEntry:
    """Return the requirements of the only entry of a rule."""
    entries = entries_of(rule)
    if len(entries) != 1:
        raise NotConvertible(
            "several entries in one rule cannot be converted: a policy has one set of images",
            "use a rule for each entry",
            (1,),
        )
    (entry,) = entries
    register = Register(scope, entry, {})
    call, sets = f"verifyImageSignatures({IMAGE}, ", entry.get("attestors") or ()
    signed = within((0, "attestors"), register.signed, sets, call)
    if not entry.get("attestors") and not entry.get("attestations"):
        raise NotConvertible(
            "an entry without attestors cannot be converted: an ImageValidatingPolicy needs one",
            (
                "check for digests with `image(container.image).containsDigest()` in a "
                "ValidatingPolicy"
            ),
            (0,),
        )
    statements = tuple(
        within((0, "attestations", index), statement_of, index, one, register)
        for index, one in enumerate(entry.get("attestations") or ())
    )
    return VerificationEntry(entry, tuple(signed), statements, register.known)


def _tests(verified: VerificationEntry, scope: Scope) -> Iterator[tuple[Test, str]]:
    for test in verified.signed:
        yield test, "failed to verify image signatures"
    written = verified.entry.get("attestations") or ()
    for index, (one, statement) in enumerate(zip(written, verified.statements, strict=True)):
        yield statement.signed, f"failed to verify attestations of type {_type(one)}"
        if one.get("conditions"):
            # The names in these are fields of the payload.
            about = scope._replace(rest=statement.payload, taken=scope.taken | {IMAGE})
            with located("attestations", index):
                test = every(
                    within(("conditions", place), conditions_test, block, about)
                    for place, block in enumerate(one["conditions"])
                )
            yield test, f"attestation checks failed for predicate {_type(one)}"
    check = verified.entry.get("validate") or {}
    if check.get("deny"):
        named = zip(written, verified.statements, strict=True)
        names = {one["name"]: found.payload for one, found in named if one.get("name")}
        about = scope._replace(names={**scope.names, **names}, taken=scope.taken | {IMAGE})
        steps = ("validate", "deny", "conditions")
        denied = within(steps, conditions_test, check["deny"].get("conditions"), about)
        yield opposite(denied), check.get("message") or "validation in verifyImages failed"


def _type(one: Json) -> str:
    return str(one.get("type") or one.get("predicateType"))
