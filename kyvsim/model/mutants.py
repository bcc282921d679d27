"""What tests notice of policies that are changed a little."""

from typing import NamedTuple

from kyvsim.model.evidence import Counterexample
from kyvsim.model.probe import Ratio
from kyvsim.model.source import Location


class Hole(NamedTuple):
    """A change of a policy that no test notices."""

    policy: str
    """The policy's key."""
    kind: str
    """What is changed, in words."""
    was: str
    now: str
    """What stands there then; "" where it is left out."""
    location: Location
    line: str
    """The line of the policy that it stands in."""
    example: Counterexample | None
    """A case in which the policy (old) and the changed one (new) do not do the same; None where
    none was found."""
    looked_for: bool = True
    """Whether there was time to look for one."""


class Mutants(NamedTuple):
    """What came of changing policies."""

    noticed: int
    """How many mutants made a row fail."""
    holes: tuple[Hole, ...]
    same: int
    """How many do what the policy does, as far as cases show."""
    untried: int
    """How many were not tried, since the time was over."""

    @property
    def score(self) -> Ratio:
        """How many were noticed, of those that could be and were tried."""
        return Ratio(self.noticed, self.noticed + len(self.holes))
