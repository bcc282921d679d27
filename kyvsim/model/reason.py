"""Why a rule failed, as views tell it: in words, and with what they show of policy and manifest.

Nothing of it needs the object any more.
"""

from typing import NamedTuple

from kyvsim.model.source import Location


class Excerpt(NamedTuple):
    """A line of a file, or what of a long one can be shown: around what is meant."""

    before: str
    meant: str
    after: str


class ToldReason(NamedTuple):
    """One thing that made a rule fail."""

    text: str
    """What is to be said besides the message; "" for nothing."""
    place: Location
    """Where that which asked stands in the policy."""
    seen_at: Location | None = None
    """Where it looked in the manifest; None where it is the whole object, or nobody can tell."""
    excerpt: Excerpt | None = None
    """The line there."""
