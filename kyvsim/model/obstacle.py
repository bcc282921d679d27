"""Why something did not come about in a simulation, for whoever looks for causes in it."""

from enum import StrEnum
from typing import NamedTuple

from kyvsim.kubernetes.objects import ObjectKey


class Reason(StrEnum):
    """What stood in the way; those of requests first, then those of the background's attempts."""

    OTHER = "other"
    NO_RIGHT = "no right"
    """Roles do not permit it."""
    DENIED = "denied"
    """A webhook, as a policy has one, says no."""
    INVALID = "invalid"
    NOT_FOUND = "not found"
    NO_NAMESPACE = "no namespace"
    """The namespace that an object is to be in is not there."""
    NAMESPACE_GOES = "namespace goes"
    """The namespace that an object is to be in is being deleted."""
    NO_KIND = "no kind"
    EXISTS = "exists"
    CONFLICT = "conflict"
    TRIGGER_MISSING = "trigger missing"
    """What the work is done for is not in the cluster, or not yet."""
    TRIGGER_STAYS = "trigger stays"
    """What was to be deleted is still there."""
    TRIGGER_DIFFERS = "trigger differs"
    """The request was about another object than the trigger that was found."""
    SOURCE_MISSING = "source missing"
    """What is to be copied is not there."""
    LIST_FAILED = "list failed"
    """The list of a loop has no value."""
    NO_VALUE = "no value"
    """An expression of the rule has no value."""
    USER_UNKNOWN = "user unknown"
    """The rule asks who made a request, and the work was made by none."""
    NOT_MET = "not met"
    """The rule does not want anything for its trigger."""
    RULE_FAILED = "rule failed"
    RULE_GONE = "rule gone"
    CHANGED_AGAIN = "changed again"
    """What a policy makes for others was done as well."""


class Obstacle(NamedTuple):
    """One thing that stood in the way."""

    reason: Reason
    message: str
    object: ObjectKey | None = None
    """What could not be read, written or found, where that is known."""
    uid: str = ""
    """The uid by which it was looked for."""
    rules: tuple[str, ...] = ()
    """The rules that stood in the way, as `policy/rule`."""
    wanted_by: str = ""
    """The rule that could not do its work, as `policy/rule`."""
