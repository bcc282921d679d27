"""Policies as loaded: checked for shape, expressions still text."""

from collections.abc import Mapping
from typing import NamedTuple

from kyvsim.kube.objects import Json
from kyvsim.model.source import Document, Path

SEVERITIES = ("critical", "high", "medium", "low", "info")
"""What the annotation `policies.kyverno.io/severity` may say; reports leave other texts out."""


class Rule(NamedTuple):
    """One rule of a policy, as written or as autogen derived it."""

    name: str
    data: Mapping[str, Json]
    path: Path
    """Where the rule, or the one it was derived from, stands in the policy's document."""

    @property
    def generates(self) -> bool:
        """Whether the background controller creates objects for it."""
        return bool(self.data.get("generate"))

    @property
    def mutates_existing(self) -> bool:
        """Whether the background controller changes objects for it."""
        return bool((self.data.get("mutate") or {}).get("targets"))


class Policy(NamedTuple):
    """A ClusterPolicy or Policy; or a cleanup policy, whose one rule is its whole `spec`."""

    kind: str
    name: str
    namespace: str
    annotations: Mapping[str, Json]
    spec: Mapping[str, Json]
    rules: tuple[Rule, ...]
    document: Document

    @property
    def key(self) -> str:
        """Name as shown: `namespace/name` for a namespaced policy."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @property
    def cleans_up(self) -> bool:
        """Whether it deletes objects at times, and has no rules."""
        return self.kind.endswith("CleanupPolicy")

    @property
    def background(self) -> bool:
        """Whether background processing is on (the default)."""
        return self.spec.get("background") is not False

    @property
    def applies_one_rule(self) -> bool:
        """Whether evaluation stops after the first rule that passed or failed."""
        return self.spec.get("applyRules") == "One"

    @property
    def scored(self) -> bool:
        """Whether failures count as failures; warnings where the annotation says "false"."""
        return self.annotations.get("policies.kyverno.io/scored") != "false"
