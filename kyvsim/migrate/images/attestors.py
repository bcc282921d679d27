"""Attestors and attestations of image rules → those of a policy."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

from kyvsim.kubernetes.objects import Json
from kyvsim.kubernetes.wildcard import has_wildcard
from kyvsim.languages.classic.attestors import expand_keys, required_count
from kyvsim.migrate.conditions import conditions_test
from kyvsim.migrate.entries.sources import LOOK_UP
from kyvsim.migrate.expressions import Relation, Test, every, quoted
from kyvsim.migrate.queries import Scope, text_value
from kyvsim.migrate.queries.paths import variable_name
from kyvsim.migrate.refusal import NotConvertible, within
from kyvsim.migrate.scalars import expression_of
from kyvsim.migrate.values import Value

# Attestors of image rules → the attestors of a policy: keys, certificates, identities.

_REKOR: Final = "https://rekor.sigstore.dev"
"""Where upstream looks where a rule does not say."""
_ANYONE: Final = ".+"


class Wanted(NamedTuple):
    """Attestors of which so many have to agree."""

    names: tuple[str, ...]
    least: int


class Register(NamedTuple):
    """The attestors of one policy, by their names, in order."""

    scope: Scope
    entry: Json
    """The entry of the rule that they are for."""
    known: dict[str, dict[str, Json]]

    def wanted(self, sets: Json) -> list[Wanted]:
        """Return what sets of attestors ask for.

        Raises NotConvertible with the path from the list of sets.
        """
        return [self._of_set(index, one) for index, one in enumerate(sets)]

    def _of_set(self, index: int, one: Json) -> Wanted:
        entries = one.get("entries") or ()
        names = []
        for place, attestor in enumerate(entries):
            try:
                names += [self._name(part) for part in expand_keys([attestor])]
            except NotConvertible as refusal:
                raise refusal.below(index, "entries", place) from None
        return Wanted(tuple(names), required_count(one, names))

    def _name(self, attestor: Json) -> str:
        """Return the name of an attestor, which is taken over unless it is there already."""
        base, made = _attestor(attestor, self)
        same = (name for name, other in self.known.items() if other == made)
        name = next(same, "")
        if name:
            return name
        name, number = base, 2
        while name in self.known:
            name, number = f"{base}{number}", number + 1
        self.known[name] = made
        return name


def _attestor(attestor: Json, register: Register) -> tuple[str, dict[str, Json]]:
    field = next((one for one in _KINDS if attestor.get(one) is not None), "")
    if not field:
        nested = attestor.get("attestor")
        what = "attestors inside of an attestor" if nested else "an empty attestor"
        raise NotConvertible(
            f"{what} cannot be said in an ImageValidatingPolicy",
            "write one set of attestors for each, or combine counts in an expression by hand",
            ("attestor",) if nested else (),
        )
    spec = attestor[field]
    try:
        if field == "certificates" and register.entry.get("type") == "Notary":
            certs = _text(spec.get("cert") or spec.get("certChain") or "", register)
            return "notary", {"notary": {"certs": certs}}
        found = _KINDS[field](attestor, spec, register)
    except NotConvertible as refusal:
        raise refusal.below(field) from None
    found["ctlog"] = _logs(spec)
    annotations = attestor.get("annotations") or register.entry.get("annotations")
    if annotations:
        found["annotations"] = annotations
    repository = attestor.get("repository") or register.entry.get("repository")
    if repository:
        found["source"] = {"repository": repository}
    return _NAMES[field], {"cosign": found}


def _by_key(attestor: Json, spec: Json, register: Register) -> dict[str, Json]:
    key: dict[str, Json]
    if spec.get("secret"):
        register.scope.desk.note(LOOK_UP)
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


def _by_certificate(_: Json, spec: Json, register: Register) -> dict[str, Json]:
    parts = {name: _text(spec[name], register) for name in ("cert", "certChain") if spec.get(name)}
    return {"certificate": parts}


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


_Convert: TypeAlias = Callable[[Json, Json, Register], dict[str, Json]]
_KINDS: Final[Mapping[str, _Convert]] = MappingProxyType(
    {"keys": _by_key, "certificates": _by_certificate, "keyless": _keyless}
)
"""What makes the `cosign` of an attestor, in the order in which a kind is looked for."""
_NAMES: Final = MappingProxyType(
    {"keys": "key", "certificates": "certificate", "keyless": "keyless"}
)


def _logs(spec: Json) -> dict[str, Json]:
    """Return which logs have to know of a signature."""
    rekor, ctlog = spec.get("rekor") or {}, spec.get("ctlog") or {}
    url = rekor.get("url") or _REKOR
    _refuse_variables(url, "rekor", "url")
    told: dict[str, Json] = {"url": url}
    told |= {"insecureIgnoreTlog": True} if rekor.get("ignoreTlog") else {}
    told |= {"insecureIgnoreSCT": True} if ctlog.get("ignoreSCT") else {}
    for name, text in (
        ("rekorPubKey", rekor.get("pubkey")),
        ("ctLogPubKey", ctlog.get("pubkey")),
        ("tsaCertChain", ctlog.get("tsaCertChain")),
    ):
        if text:
            _refuse_variables(text, name)
            told[name] = text
    return told


def _text(text: str, register: Register) -> dict[str, Json]:
    """Return a text as it is written, or the expression that makes it."""
    if "{{" not in text:
        return {"value": text}
    found = text_value(text, register.scope)
    return {"value": str(found.constant[0])} if found.constant else {"expression": found.text}


def _refuse_variables(text: str, *steps: str) -> None:
    if "{{" in text:
        raise NotConvertible(
            "a variable here has no twin: an ImageValidatingPolicy takes no expression there",
            "write the value itself",
            steps,
        )


# Attestations of image rules → those of a policy, and the tests of what they say.

IMAGE: Final = "image"
"""What an image is called in expressions."""


class Statement(NamedTuple):
    """One attestation that a rule asks for."""

    name: str
    data: Json
    """It as a policy in CEL lists it."""
    wanted: tuple[Wanted, ...]
    said: Value
    """What it says."""

    @property
    def signed(self) -> Test:
        """The test that it is there, and signed."""
        function = f"verifyAttestationSignatures({IMAGE}, attestations.{self.name}"
        return every(agreed(f"{function}, ", one) for one in self.wanted)


def agreed(start: str, wanted: Wanted) -> Test:
    """Return the test that enough attestors have signed; `start` is the call up to their list."""
    listed = ", ".join(f"attestors.{name}" for name in wanted.names)
    return Relation(f"{start}[{listed}])", ">=", str(wanted.least))


def statement_of(index: int, one: Json, register: Register) -> Statement:
    """Return an attestation; `index` tells unnamed ones apart."""
    kind = one.get("type") or one.get("predicateType") or ""
    name = variable_name(one["name"]) if one.get("name") else f"statement{index + 1}"
    sets = one.get("attestors") or ()
    if not any(each.get("entries") for each in sets):
        raise NotConvertible(
            "an attestation that nobody in particular has to sign has no twin in CEL",
            "name the attestors whose signature counts",
        )
    notary = register.entry.get("type") == "Notary"
    payload = f"extractPayload({IMAGE}, attestations.{name})"
    return Statement(
        name=name,
        data={"name": name, ("referrer" if notary else "intoto"): {"type": kind}},
        wanted=tuple(within(("attestors",), register.wanted, sets)),
        said=Value(payload if notary else f"{payload}.predicate"),
    )


def says(one: Json, statement: Statement, scope: Scope) -> Test:
    """Return the test that the conditions on a statement hold; their names are its fields."""
    about = scope._replace(rest=statement.said, taken=scope.taken | {IMAGE})
    return every(
        within(("conditions", place), conditions_test, block, about)
        for place, block in enumerate(one.get("conditions") or ())
    )
