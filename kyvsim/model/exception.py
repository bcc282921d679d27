"""PolicyExceptions: what is let off which rules, or which policies in CEL."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import NamedTuple

from kyvsim.kubernetes.objects import Json
from kyvsim.model.source import Document


class ExceptedRules(NamedTuple):
    """One entry of an exception: a policy, and patterns for the names of its rules."""

    policy: str
    """The policy's key: `namespace/name` for a namespaced policy."""
    rules: tuple[str, ...]


@dataclass(frozen=True)
class PolicyException:
    """A PolicyException (kyverno.io): shape checked, expressions still text."""

    name: str
    namespace: str
    exceptions: tuple[ExceptedRules, ...]
    match: Mapping[str, Json]
    conditions: Mapping[str, Json] | None
    pod_security: tuple[Mapping[str, Json], ...]
    document: Document

    @cached_property
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
    conditions: tuple[Mapping[str, Json], ...]
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


class Exceptions(NamedTuple):
    """Exceptions of both sorts, each in the order in which they were given."""

    rules: tuple[PolicyException, ...] = ()
    """Those for rules of the older kinds."""
    policies: tuple[CelException, ...] = ()
    """Those for policies in CEL."""

    @property
    def total(self) -> int:
        """How many there are."""
        return len(self.rules) + len(self.policies)

    @property
    def keys(self) -> tuple[str, ...]:
        """What they are called."""
        return (*(one.key for one in self.rules), *(one.key for one in self.policies))
