"""What the background controller makes and changes for rules."""

from typing import NamedTuple

from kyvsim.policy.rule import Clone, CloneList


class MutationTarget(NamedTuple):
    """Which existing objects a rule changes; each part may hold variables."""

    api_version: str
    kind: str
    namespace: str
    name: str


class GeneratePattern(NamedTuple):
    """What a generate rule, or one of its loops, makes; texts may hold variables."""

    api_version: str
    kind: str
    namespace: str
    name: str
    has_data: bool
    """Whether it writes data, and copies nothing."""
    clone: "Clone | None"
    clone_list: "CloneList | None"
    list: str = ""

    @property
    def clone_kinds(self) -> tuple[str, ...]:
        """The kinds of the sources that are copied together."""
        return (self.clone_list and self.clone_list.kinds) or ()


class Generation(NamedTuple):
    """What the background controller makes for a rule, and what becomes of it."""

    whole: GeneratePattern
    """What stands outside of loops."""
    loops: tuple[GeneratePattern, ...] | None
    """Its loops; None where it has none at all."""
    synchronizes: bool
    """Whether what was made follows later changes."""
    looks_back: bool
    """Whether it makes something for what was there before the policy."""
    orphans: bool
    """Whether what was made stays when the policy goes."""

    @property
    def patterns(self) -> tuple[GeneratePattern, ...]:
        """What is made: by the loops where there are any."""
        return self.loops or (self.whole,)
