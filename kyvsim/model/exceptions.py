"""PolicyExceptions: what is exempt from which rules, or from which policies in CEL."""

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from kyvsim.model.source import Document
from kyvsim.policy.cel_policy import NamedExpression
from kyvsim.policy.tree import Conditions, MatchBlock, PodSecurityExclusion


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
    match: MatchBlock
    conditions: Conditions | None
    pod_security: tuple[PodSecurityExclusion, ...]
    document: Document

    @property
    def entries(self) -> Mapping[str, tuple[int, ...]]:
        """The numbers of the entries for each policy, by its key."""
        found: dict[str, list[int]] = {}
        for index, one in enumerate(self.exceptions):
            found.setdefault(one.policy, []).append(index)
        return {policy: tuple(numbers) for policy, numbers in found.items()}

    @property
    def kind(self) -> str:
        """The kind that it is written as."""
        return "PolicyException"

    @property
    def key(self) -> str:
        """Name as shown in messages: `namespace/name`."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class PolicyRef(NamedTuple):
    """A policy in CEL that an exception is for."""

    kind: str
    name: str


class CelException(NamedTuple):
    """A PolicyException of `policies.kyverno.io`: shape checked, expressions still text."""

    name: str
    namespace: str
    policies: tuple[PolicyRef, ...]
    conditions: tuple[NamedExpression, ...]
    images: tuple[str, ...]
    values: tuple[str, ...]
    passes: bool
    """Whether the result is a pass; a skip otherwise."""
    priority: int
    """What decides between several: that of the highest counts."""
    expires: datetime | None
    document: Document

    @property
    def key(self) -> str:
        """Name as shown in messages."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @property
    def is_full(self) -> bool:
        """Whether nothing is checked; otherwise the policy itself reads what is let pass."""
        return not (self.images or self.values)
