"""Attestations of image rules → those of a policy, and the tests of what they say."""

from typing import Final, NamedTuple

from kyvsim.kube.objects import Json
from kyvsim.migrate.conditions import conditions_test
from kyvsim.migrate.expressions import Relation, Test, every
from kyvsim.migrate.images.attestors import Register, Wanted
from kyvsim.migrate.queries import Scope
from kyvsim.migrate.queries.paths import variable_name
from kyvsim.migrate.refusal import NotConvertible, within
from kyvsim.migrate.values import Value

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
