"""Objects that the background controller generates and mutates for rules."""

from typing import NamedTuple

from kyvsim.policy.rule import Clone, CloneList


class MutationTarget(NamedTuple):
    """The existing objects that a rule mutates; each part may contain variables."""

    api_version: str
    kind: str
    namespace: str
    name: str


class GeneratePattern(NamedTuple):
    """The objects of a generate rule, or of one of its loops; texts may contain variables."""

    api_version: str
    kind: str
    namespace: str
    name: str
    has_data: bool
    """Whether it has inline data, not a clone source."""
    clone: "Clone | None"
    clone_list: "CloneList | None"
    list: str = ""

    @property
    def clone_kinds(self) -> tuple[str, ...]:
        """The kinds of the sources that are cloned together."""
        return (self.clone_list and self.clone_list.kinds) or ()


class Generation(NamedTuple):
    """The objects that the background controller generates for a rule, and their upkeep."""

    whole: GeneratePattern
    """The pattern outside of loops."""
    loops: tuple[GeneratePattern, ...] | None
    """The patterns of its loops; None without loops."""
    synchronizes: bool
    """Whether generated objects follow later changes."""
    looks_back: bool
    """Whether it generates objects for triggers that existed before the policy."""
    orphans: bool
    """Whether generated objects are kept when the policy is deleted."""

    @property
    def patterns(self) -> tuple[GeneratePattern, ...]:
        """All patterns: those of the loops if there are any."""
        return self.loops or (self.whole,)
