"""Objects that show what rules do: one that passes, one that fails."""

from typing import NamedTuple

from kyvsim.kubernetes.objects import Json
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.source import Location


class Doing(NamedTuple):
    """What a rule does to an object."""

    policy: str
    """The policy's key."""
    rule: str
    """"" for a policy without rules of its own."""
    outcome: str
    """`passed`, `failed`, or `applied` for rules that cannot fail."""
    location: Location
    """Where the rule stands."""


class Missing(NamedTuple):
    """What a rule does and no object was found for."""

    doing: Doing
    reason: str
    """Why there is no example."""


class Example(NamedTuple):
    """An object, and what it is an example of."""

    object: Json
    shows: tuple[Doing, ...]


class Examples(NamedTuple):
    """What was found for some policies."""

    found: tuple[Example, ...]
    missing: tuple[Missing, ...]
    """What no object was found to show, and why."""
    diagnostics: tuple[Diagnostic, ...]
    targets: tuple[Json, ...] = ()
    """Objects that were made to be there, for rules that change existing ones."""
