"""PolicyExceptions: what is let off which rules."""

from collections.abc import Mapping
from typing import NamedTuple

from kyvsim.kube.objects import Json
from kyvsim.model.source import Document


class ExceptedRules(NamedTuple):
    """One entry of an exception: a policy, and patterns for the names of its rules."""

    policy: str
    """The policy's key: `namespace/name` for a namespaced policy."""
    rules: tuple[str, ...]


class PolicyException(NamedTuple):
    """A PolicyException (kyverno.io): shape checked, expressions still text."""

    name: str
    namespace: str
    exceptions: tuple[ExceptedRules, ...]
    match: Mapping[str, Json]
    conditions: Mapping[str, Json] | None
    pod_security: tuple[Mapping[str, Json], ...]
    document: Document

    @property
    def key(self) -> str:
        """Name as shown in messages: `namespace/name`."""
        return f"{self.namespace}/{self.name}"
