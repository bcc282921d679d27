"""Results of converting policies to CEL."""

from enum import StrEnum
from itertools import zip_longest
from typing import NamedTuple

from kyvsim.kubernetes.objects import KubernetesObject
from kyvsim.model.comparison import Evidence
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.policy import Policy, PolicyException
from kyvsim.model.source import Location


class ConversionOutcome(StrEnum):
    """The outcome of converting a rule."""

    CONVERTED = "converted"
    CONDITIONAL = "converted with conditions"
    REFUSED = "not converted"


class ConversionCondition(NamedTuple):
    """A condition under which a converted rule is equivalent."""

    name: str
    text: str


class RuleOutcome(NamedTuple):
    """The outcome of converting one rule."""

    rule: str
    outcome: ConversionOutcome
    location: Location
    """The position of the rule, or of its part that cannot be converted."""
    path: str
    """The path of that part in the policy."""
    reason: str = ""
    advice: str = ""
    conditions: tuple[ConversionCondition, ...] = ()


class Made(NamedTuple):
    """A policy that was converted from rules of another one."""

    data: KubernetesObject
    rules: tuple[int, ...]
    """The indexes of the rules in the source policy."""
    origins: tuple[int, ...] = ()
    """For each of its entries, the index of the source rule."""
    level: str | None = None
    """The level of Pods and controllers to which it applies; None for all of them."""
    wanted: str = ""
    """The preferred name if it is not valid in a cluster; "" if it is used."""


class Conversion(NamedTuple):
    """The outcome of converting a policy or an exception."""

    policy: Policy | PolicyException
    rules: tuple[RuleOutcome, ...]
    """The outcomes of its rules; for an exception, of its entries."""
    made: tuple[Made, ...]

    @property
    def outcome(self) -> ConversionOutcome:
        """The worst outcome of its rules."""
        found = {one.outcome for one in self.rules}
        order = (ConversionOutcome.REFUSED, ConversionOutcome.CONDITIONAL)
        return next((one for one in order if one in found), ConversionOutcome.CONVERTED)

    @property
    def is_whole(self) -> bool:
        """Whether every rule was converted."""
        return self.outcome is not ConversionOutcome.REFUSED


class Migration(NamedTuple):
    """The outcomes of all given policies."""

    conversions: tuple[Conversion, ...]
    texts: tuple[str, ...]
    """For each conversion, the new policies as YAML."""
    diagnostics: tuple[Diagnostic, ...] = ()
    left_out: tuple[Diagnostic, ...] = ()
    evidence: tuple[Evidence | None, ...] = ()
    """For each policy, the evidence of comparing both, if requested."""

    @property
    def pairs(self) -> tuple[tuple[Conversion, Evidence | None], ...]:
        """Each conversion with its evidence."""
        return tuple(zip_longest(self.conversions, self.evidence))
