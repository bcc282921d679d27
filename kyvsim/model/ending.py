"""How a run ended, and why its exit status is what it is: the one record that both come from."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple


class Verdict(StrEnum):
    """How a run ended, in a word; the one that weighs most comes first."""

    INCOMPLETE = "INCOMPLETE"
    """Some input could not be used, so what was found is not all there is to say."""
    FAILED = "FAILED"
    DIFFERENT = "DIFFERENT"
    """Two sets of policies say or do something else."""
    WARNED = "WARNED"
    """Nothing worse than warnings, for which the user asked an exit status."""
    NOTHING = "NOTHING CHECKED"
    SAME = "SAME"
    """Two sets of policies say and do the same."""
    PASSED = "PASSED"


_STATUS: Mapping[Verdict, int] = MappingProxyType(
    {
        Verdict.INCOMPLETE: 2,
        Verdict.FAILED: 1,
        Verdict.DIFFERENT: 1,
        Verdict.NOTHING: 0,
        Verdict.SAME: 0,
        Verdict.PASSED: 0,
    }
)
"""The exit status that a verdict stands for; the user sets that of WARNED."""


class Fact(NamedTuple):
    """One thing that is counted of a run."""

    key: str
    """Its name in JSON documents."""
    number: int
    text: str
    """What the closing line says of it; "" where it says nothing."""
    verdict: Verdict = Verdict.PASSED
    """What it alone makes of the run."""


class Ending(NamedTuple):
    """How a run ended: the exit status and the closing line are two readings of this."""

    facts: tuple[Fact, ...]
    warned_status: int = 0

    @property
    def ranked(self) -> tuple[Fact, ...]:
        """The facts, those that weigh most first."""
        order = list(Verdict)
        return tuple(sorted(self.facts, key=lambda fact: order.index(fact.verdict)))

    @property
    def verdict(self) -> Verdict:
        """The verdict that weighs most among those of the facts."""
        return self.ranked[0].verdict if self.facts else Verdict.PASSED

    @property
    def status(self) -> int:
        """The exit status."""
        return _STATUS.get(self.verdict, self.warned_status)
