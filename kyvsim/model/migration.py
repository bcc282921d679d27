"""What became of policies that were converted to CEL."""

from enum import StrEnum
from itertools import zip_longest
from typing import NamedTuple

from kyvsim.kubernetes.objects import KubernetesObject
from kyvsim.model.comparison import Evidence
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.policy import Policy, PolicyException
from kyvsim.model.source import Location


class ConversionOutcome(StrEnum):
    """What became of a rule."""

    CONVERTED = "converted"
    CONDITIONAL = "converted with conditions"
    REFUSED = "not converted"


class ConversionCondition(NamedTuple):
    """What has to hold for a converted rule to mean the same."""

    name: str
    text: str


class RuleOutcome(NamedTuple):
    """What became of one rule."""

    rule: str
    outcome: ConversionOutcome
    location: Location
    """Where the rule stands, or what in it cannot be converted."""
    path: str
    """The way to that in the policy."""
    reason: str = ""
    advice: str = ""
    conditions: tuple[ConversionCondition, ...] = ()


class Made(NamedTuple):
    """A policy that was made of rules of another one."""

    data: KubernetesObject
    rules: tuple[int, ...]
    """The places of the rules in the policy that is converted."""
    origins: tuple[int, ...] = ()
    """For each of its entries the place of the rule that it is made of."""
    level: str | None = None
    """The level of Pods and controllers that it is for, None where it is for all of them."""
    wanted: str = ""
    """The name that it would have if that were one that a cluster takes, "" if it has it."""


class Conversion(NamedTuple):
    """What became of a policy, or of an exception from policies."""

    policy: Policy | PolicyException
    rules: tuple[RuleOutcome, ...]
    """What became of its rules; of an exception, of what it names."""
    made: tuple[Made, ...]

    @property
    def outcome(self) -> ConversionOutcome:
        """The least of what became of its rules."""
        found = {one.outcome for one in self.rules}
        order = (ConversionOutcome.REFUSED, ConversionOutcome.CONDITIONAL)
        return next((one for one in order if one in found), ConversionOutcome.CONVERTED)

    @property
    def is_whole(self) -> bool:
        """Whether every rule was converted."""
        return self.outcome is not ConversionOutcome.REFUSED


class Migration(NamedTuple):
    """What became of all policies that were given."""

    conversions: tuple[Conversion, ...]
    texts: tuple[str, ...]
    """For each of them the policies that take its place, as YAML."""
    diagnostics: tuple[Diagnostic, ...] = ()
    left_out: tuple[Diagnostic, ...] = ()
    evidence: tuple[Evidence | None, ...] = ()
    """For each policy what comparing both showed, if that was asked for."""

    @property
    def pairs(self) -> tuple[tuple[Conversion, Evidence | None], ...]:
        """What became of each policy, with the evidence on it."""
        return tuple(zip_longest(self.conversions, self.evidence))
