"""Baselines: failures that are known, so that only new ones fail a run."""

from collections.abc import Mapping
from typing import NamedTuple

from kyvsim.kubernetes.objects import ObjectKey
from kyvsim.model.source import Location


class KnownFailure(NamedTuple):
    """What a failure is known by, wherever lines move; they sort by policy, rule and object."""

    policy: str
    """The policy's key."""
    rule: str
    object: ObjectKey
    """That of the resource as it was given."""
    result: str
    """`fail`, `error` or `warn`."""
    path: str
    """Where in the object the check failed; "" where that is not known."""
    message: str
    """What was said; "" where there is a path, since messages repeat values."""


class BaselineEntry(NamedTuple):
    """A failure of a baseline."""

    number: int
    """How many failures are alike."""
    place: Location


class Baseline(NamedTuple):
    """What a baseline file says."""

    file: str
    entries: Mapping[KnownFailure, BaselineEntry]
